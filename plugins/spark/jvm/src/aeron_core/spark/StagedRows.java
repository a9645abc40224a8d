package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import aeron_core.recording.RecordingException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Writer of the rows of a task to a file, in the format of staged_file.py in pyspark_aeron. */
final class StagedRows implements DataWriter<InternalRow> {
    /** The file of a task; `path` is empty if the task had no rows. */
    record Staged(String path, long rows, int partition, String sha256) implements WriterCommitMessage {}

    private static final long FORMAT =
        ByteBuffer.wrap("aeron\0\0\1".getBytes(StandardCharsets.ISO_8859_1))
            .order(ByteOrder.LITTLE_ENDIAN)
            .getLong();
    // Invented numbers: a block takes longer than its handling, and stays in the cache of a processor.
    private static final int BLOCK_LENGTH = 1 << 20;
    private static final int BLOCK_ROWS = 1 << 14;

    private final RowSink.Task task;
    private final int partition;
    private final Path path;
    private final MessageDigest digest;
    private final long[] ends = new long[BLOCK_ROWS];
    private final long[] reserved;
    private byte[] data = new byte[2 * BLOCK_LENGTH];
    private int length;
    private int count;
    private int nulls;
    private long rows;
    private SeekableByteChannel file;

    StagedRows(RowSink.Task task, int partition, long batchId) {
        this.task = task;
        this.partition = partition;
        this.reserved = task.reserved() < 0 ? null : new long[BLOCK_ROWS];
        String id = UUID.randomUUID().toString().replace("-", "");
        this.path = Path.of(task.folder(), batchId + "-" + partition + "-" + id + ".rows");
        try {
            this.digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every Java has it
        }
    }

    @Override
    public void write(InternalRow row) {
        if (row.isNullAt(task.payload())) {
            nulls++;
            return;
        }
        byte[] message = task.isText()
            ? row.getUTF8String(task.payload()).getBytes()
            : row.getBinary(task.payload());
        if (count == BLOCK_ROWS || count > 0 && length + message.length > BLOCK_LENGTH) {
            flush();
        }
        if (message.length > data.length - length) {
            data = Arrays.copyOf(data, length + message.length); // empty but for a long message
        }
        System.arraycopy(message, 0, data, length, message.length);
        length += message.length;
        ends[count] = length;
        if (reserved != null) {
            int column = task.reserved();
            reserved[count] = row.isNullAt(column) ? 0 : task.isInt() ? row.getInt(column) : row.getLong(column);
        }
        count++;
    }

    @Override
    public Staged commit() {
        if (count > 0) {
            flush();
        }
        refuseNulls();
        close();
        return new Staged(
            rows == 0 ? "" : path.toString(), rows, partition, rows == 0 ? "" : HexFormat.of().formatHex(digest.digest()));
    }

    @Override
    public void abort() {
        close();
        try {
            Files.deleteIfExists(path);
        } catch (IOException error) {
            // Its folder is deleted with the job, or the file with a later batch.
        }
    }

    @Override
    public void close() {
        try {
            if (file != null) {
                file.close();
            }
        } catch (IOException error) {
            throw failure(error);
        }
    }

    private void flush() {
        refuseNulls();
        int numbers = 4 + count + 1 + (reserved == null ? 0 : count);
        ByteBuffer head = ByteBuffer.allocate(numbers * 8).order(ByteOrder.LITTLE_ENDIAN);
        head.putLong(FORMAT).putLong(count).putLong(length).putLong(reserved == null ? 0 : 1).putLong(0);
        head.asLongBuffer().put(ends, 0, count);
        head.position((5 + count) * 8);
        if (reserved != null) {
            head.asLongBuffer().put(reserved, 0, count);
        }
        head.position(0);
        int padded = (length + 7) & ~7;
        if (padded > data.length) {
            data = Arrays.copyOf(data, padded);
        }
        Arrays.fill(data, length, padded, (byte) 0);
        try {
            if (file == null) {
                file = PrivateFile.create(path, task.privateParts());
            }
            append(head);
            append(ByteBuffer.wrap(data, 0, padded));
        } catch (IOException error) {
            throw failure(error);
        }
        rows += count;
        count = length = 0;
        if (data.length > 2 * BLOCK_LENGTH) {
            data = new byte[2 * BLOCK_LENGTH];
        }
    }

    private void append(ByteBuffer part) throws IOException {
        digest.update(part.duplicate());
        while (part.hasRemaining()) {
            file.write(part);
        }
    }

    private void refuseNulls() {
        if (nulls > 0) {
            throw new ConfigurationException("column " + task.column() + " is null (number of rows: " + nulls
                + "): must not be null, but may be empty: drop these rows, or give them a value");
        }
    }

    private RecordingException failure(IOException error) {
        return new RecordingException(
            "cannot write " + path + ": " + PrivateFile.reason(error) + ": free disk space, permit this user to write "
                + "there, or set another folder with option staging; then restart the query, or run the job again: no "
                + "row is lost",
            error);
    }
}

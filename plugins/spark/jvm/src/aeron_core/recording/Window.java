package aeron_core.recording;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The buffered part of a range of a recording: `length` bytes from `position` on.
 *
 * <p>Invariant: messages that `scan` returned stay valid until the next `fill`.
 */
final class Window implements AutoCloseable {
    // Bytes of one read. An invented number: larger reads were not faster in measurements, and leave the cache.
    private static final int READ_LENGTH = 4 * 1024 * 1024;
    // The longest term, and a read: a message, and what an entry of an index covers, is within a segment.
    private static final long MAX_LENGTH = Wire.TERM_MAX_LENGTH + READ_LENGTH;

    private final Recording recording;
    private final Segment segment;
    private final CheckedPieces checks;
    private final long end;
    private long position;
    private ByteBuffer buffer;
    private int begin;
    private int length;

    Window(Recording recording, long begin, long end, boolean isVerifying) {
        this.recording = recording;
        this.segment = new Segment(recording);
        this.checks = isVerifying ? new CheckedPieces(recording, segment, begin, end) : null;
        this.position = begin;
        this.end = end;
        this.buffer = allocate(Math.min(READ_LENGTH, end - begin));
    }

    /** Return a new buffer; raises RecordingException if Java does not have the memory. */
    static ByteBuffer allocate(long capacity) {
        if (capacity <= MAX_LENGTH) {
            try {
                return ByteBuffer.allocateDirect((int) capacity).order(ByteOrder.LITTLE_ENDIAN);
            } catch (OutOfMemoryError error) {
                // Reported below: the Java machine itself has memory left.
            }
        }
        throw new RecordingException(
            "cannot buffer " + capacity + " bytes of a recording: must be at most " + MAX_LENGTH
                + " bytes, and within the direct memory of Java: raise -XX:MaxDirectMemorySize in "
                + "spark.driver.extraJavaOptions and spark.executor.extraJavaOptions");
    }

    /** Whether everything was scanned. */
    boolean isEmpty() {
        return position >= end && length == 0;
    }

    /** Append messages from the beginning of the window, and advance it. */
    void scan(MessageScanner scanner, Messages messages) {
        messages.clear(buffer);
        long scanned = scanner.scan(buffer, begin, length, position, messages);
        position += scanned;
        // A padding frame can extend beyond the buffered bytes; its rest need not be read.
        begin += (int) Math.min(scanned, length);
        length -= (int) Math.min(scanned, length);
    }

    /**
     * Read more bytes after the buffered ones, enlarging a full buffer; return false at the end of the range.
     *
     * <p>Raises Corrupt if the scanner found a fault, or a message extends beyond the range; and the errors of Segment.
     */
    boolean fill(FrameScanner scanner) {
        if (length > 0 && scanner.fault() != Fault.NONE && scanner.fault() != Fault.CUT_SHORT) {
            throw corrupt(scanner.faultText());
        }
        long at = position + length;
        if (at >= end) {
            if (length == 0) {
                return false;
            }
            throw corrupt("the message ends after " + end + ", the end of the range to read");
        }
        if (length == buffer.capacity()) {
            move(allocate(length < MAX_LENGTH ? Math.min(2L * length, MAX_LENGTH) : length + 1L));
        } else if (begin > 0) {
            move(buffer);
        }
        read(at);
        return true;
    }

    private void read(long at) {
        long most = recording.descriptor().segmentBase(at) + recording.descriptor().segmentLength();
        long upto = Math.min(Math.min(at + buffer.capacity() - length, end), most);
        if (checks != null) {
            upto = checks.reach(at, upto);
            if (upto - at > buffer.capacity() - length) {
                move(allocate(upto - at + length));
            }
        }
        int wanted = (int) (upto - at);
        segment.read(at, buffer.limit(length + wanted).position(length));
        buffer.clear();
        if (checks != null) {
            checks.check(at, buffer, length, wanted);
        }
        length += wanted;
    }

    /** Move the buffered bytes to the beginning of `target`. */
    private void move(ByteBuffer target) {
        ByteBuffer rest = buffer.duplicate().position(begin).limit(begin + length);
        if (target == buffer) {
            rest.compact();
        } else {
            target.put(rest).clear();
            buffer = target;
        }
        begin = 0;
    }

    private RecordingException corrupt(String text) {
        return new RecordingException.Corrupt(
            "recording " + recording.id() + " position " + position + ": " + text
                + "; `aeron-core recordings verify` lists all errors: restore the archive, or read other positions");
    }

    @Override
    public void close() {
        segment.close();
    }
}

package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxBytes;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;

/**
 * Stream that reads recordings as they grow, in micro-batches; used by the thread of its query.
 *
 * <p>Its offsets are those of format("aeron"), so that a query can change from one to the other with its checkpoint.
 */
final class RecordingStream implements MicroBatchStream, SupportsTriggerAvailableNow {
    // Bounds of the growing pause between polls of an idle archive. Invented numbers: a compromise between the cost of
    // a poll and the latency it adds.
    private static final long SHORTEST_PAUSE_MS = 1;
    private static final long LONGEST_PAUSE_MS = 40;

    private final SourceOptions options;
    private final StructType columns;
    private Selection selection;
    private ArchiveOffset target; // end of a query with Trigger.AvailableNow, else null
    private long waitingSinceNs = -1; // start of the wait for `minBytesPerTrigger`, else -1

    /** Raises ConfigurationException for an option that only the reader in Python has. */
    RecordingStream(SourceOptions options, StructType columns) {
        if (options.consumerName() != null) {
            throw new ConfigurationException(
                "option consumerName=" + options.consumerName() + ": the JVM reader writes no lease: "
                    + SourceOptions.OTHER);
        }
        this.options = options;
        this.columns = columns;
    }

    @Override
    public Offset initialOffset() {
        return selection().offset(options.startingPosition());
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        return options.maxBytesPerTrigger() == null
            ? ReadLimit.allAvailable()
            : ReadLimit.maxBytes(options.maxBytesPerTrigger());
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        target = selection().latest(null);
    }

    /** Return the end of the next micro-batch, or `start`; wait up to `pollTimeout` for new data. */
    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
        ArchiveOffset begin = (ArchiveOffset) start;
        begin.checkArchive(selection().archive().uuid());
        ArchiveOffset end = target == null ? waitAfter(begin) : targetAfter(begin);
        end.checkNotBefore(begin);
        // Computing the ranges here reports purged data before a task fails.
        long length = selection().ranges(begin, end).stream().mapToLong(Piece::length).sum();
        if (waitsForMore(length)) {
            pause(LONGEST_PAUSE_MS); // Spark calls again at once
            return begin;
        }
        return limit instanceof ReadMaxBytes
            ? Planning.shareOut(selection(), begin, end, ((ReadMaxBytes) limit).maxBytes())
            : end;
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead");
    }

    @Override
    public Offset reportLatestOffset() {
        return selection().latest(null);
    }

    @Override
    public Offset deserializeOffset(String json) {
        return ArchiveOffset.parse(json);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        ArchiveOffset begin = ((ArchiveOffset) start).checkArchive(selection().archive().uuid());
        return Planning.split(
            selection(),
            selection().ranges(begin, (ArchiveOffset) end),
            options.partitionLength(),
            options.minPartitions());
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new PieceReader.Factory(options, columns);
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}

    private Selection selection() {
        if (selection == null) {
            selection = new Selection(options);
        }
        return selection;
    }

    /** Recordings that were deleted, or exist only in the checkpoint, keep their positions. */
    private ArchiveOffset targetAfter(ArchiveOffset begin) {
        Map<Long, Long> positions = new TreeMap<>(begin.positions());
        positions.putAll(target.positions());
        return new ArchiveOffset(selection().archive().uuid(), positions);
    }

    private ArchiveOffset waitAfter(ArchiveOffset begin) {
        long deadlineNs = System.nanoTime() + options.pollTimeoutNs();
        long pauseMs = SHORTEST_PAUSE_MS;
        while (true) {
            ArchiveOffset latest = selection().latest(begin);
            // A difference, because the sum may have overflowed.
            if (!latest.equals(begin) || deadlineNs - System.nanoTime() <= 0) {
                return latest;
            }
            pause(pauseMs);
            pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        }
    }

    private boolean waitsForMore(long length) {
        if (options.minBytesPerTrigger() == null || target != null) {
            return false;
        }
        long nowNs = System.nanoTime();
        if (waitingSinceNs < 0) {
            waitingSinceNs = nowNs;
        }
        if (length < options.minBytesPerTrigger() && nowNs - waitingSinceNs < options.maxTriggerDelayNs()) {
            return true;
        }
        waitingSinceNs = -1;
        return false;
    }

    /** Sleep; raises an exception that Spark takes for the end of a stopped query if the thread is interrupted. */
    private static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new UncheckedIOException(new InterruptedIOException("the query was stopped"));
        }
    }
}

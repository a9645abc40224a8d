package aeron_core.recording;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Index of a segment: recording times of positions, and checksums of the bytes between them.
 *
 * <p>Entry `n` covers the bytes from the end of entry `n - 1`, or from the first frame of the segment. Its 24 bytes are
 * end position, time (int64 each), CRC-32 and flags (uint32 each). Only entries before the first invalid one count:
 * ends are multiples of 32, grow, and are within the segment.
 */
final class Index {
    private static final int ENTRY_LENGTH = 24;
    private static final int MESSAGE_BORDER = 1;
    // Entries of one read. An invented number: those of two seconds, 48 kB.
    private static final int READ_COUNT = 2000;

    private final long firstPosition;
    private long[] ends = new long[READ_COUNT];
    private long[] times = new long[READ_COUNT];
    private int[] sums = new int[READ_COUNT];
    private boolean[] isBorder = new boolean[READ_COUNT];
    private int count;

    private Index(long firstPosition) {
        this.firstPosition = firstPosition;
    }

    /** Return the index in a file; no entries if it is missing. `firstPosition`: of the segment's first frame. */
    static Index read(Path path, long firstPosition, long segmentEnd) {
        Index index = new Index(firstPosition);
        try (FileChannel channel = LocalFiles.open(path)) {
            if (channel != null) {
                index.readFrom(channel, segmentEnd);
            }
        } catch (IOException error) {
            throw LocalFiles.failure(path, error);
        }
        return index;
    }

    /** Read up to the first invalid entry; because ends grow, that is at most one for each 32 bytes of the segment. */
    private void readFrom(FileChannel channel, long segmentEnd) throws IOException {
        ByteBuffer data = ByteBuffer.allocate(READ_COUNT * ENTRY_LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        long offset = 0;
        int read;
        do {
            read = LocalFiles.readFully(channel, data.clear(), offset);
            offset += read;
            for (int at = 0; at + ENTRY_LENGTH <= read; at += ENTRY_LENGTH) {
                long end = data.getLong(at);
                if (end <= coveredPosition() || end > segmentEnd || end % Wire.FRAME_ALIGNMENT != 0) {
                    return;
                }
                append(end, data.getLong(at + 8), data.getInt(at + 16), data.getInt(at + 20));
            }
        } while (read == data.capacity());
    }

    private void append(long end, long timeNs, int checkSum, int flags) {
        if (count == ends.length) {
            ends = Arrays.copyOf(ends, 2 * count);
            times = Arrays.copyOf(times, 2 * count);
            sums = Arrays.copyOf(sums, 2 * count);
            isBorder = Arrays.copyOf(isBorder, 2 * count);
        }
        ends[count] = end;
        times[count] = timeNs;
        sums[count] = checkSum;
        isBorder[count] = (flags & MESSAGE_BORDER) != 0;
        count++;
    }

    /** The number of entries. */
    int count() {
        return count;
    }

    /** The position up to which entries cover the segment. */
    long coveredPosition() {
        return count == 0 ? firstPosition : ends[count - 1];
    }

    /** Return the number of the entry whose piece holds the byte at `position`; the count of entries if none does. */
    int entryAt(long position) {
        int found = Arrays.binarySearch(ends, 0, count, position);
        return found >= 0 ? found + 1 : -found - 1;
    }

    /** Return the number of entries that end at or before `position`. */
    int countUpTo(long position) {
        return entryAt(position);
    }

    /** The position at which the piece of an entry begins. */
    long begin(int entry) {
        return entry == 0 ? firstPosition : ends[entry - 1];
    }

    /** The position at which it ends. */
    long end(int entry) {
        return ends[entry];
    }

    /** When it was recorded, in nanoseconds since the epoch. */
    long timeNs(int entry) {
        return times[entry];
    }

    /** CRC-32 of its frames. */
    int checkSum(int entry) {
        return sums[entry];
    }

    /** Whether its last frame ends a message or is padding. */
    boolean isBorder(int entry) {
        return isBorder[entry];
    }
}

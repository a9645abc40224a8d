package aeron_core.recording;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Segment: the open file of a recording that holds the position which is read.
 *
 * <p>Files are read, not mapped: a mapped file that is cut off under a reader fails the Java machine's access to it.
 */
final class Segment implements AutoCloseable {
    private final Recording recording;
    private long base = -1;
    private FileChannel channel;

    Segment(Recording recording) {
        this.recording = recording;
    }

    /** Fill `target` from `position` on, from one file; raises DataLoss if it was purged, Corrupt if it is short. */
    void read(long position, ByteBuffer target) {
        long length = target.remaining();
        open(position, length);
        try {
            int read = LocalFiles.readFully(channel, target, position - base);
            if (read < length) {
                recording.checkRange(position, position + length); // it may have been purged concurrently
                throw recording.tooShort(base, position + read, position + length);
            }
        } catch (IOException error) {
            throw LocalFiles.failure(recording.segmentFile(base), error);
        }
    }

    private void open(long position, long length) {
        long wanted = recording.descriptor().segmentBase(position);
        if (wanted == base && channel != null) {
            return;
        }
        close();
        channel = LocalFiles.open(recording.segmentFile(wanted));
        if (channel == null) {
            recording.checkRange(position, position + length);
            throw new RecordingException.Corrupt(
                recording.segmentFile(wanted) + ": is missing; " + Recording.DAMAGED);
        }
        base = wanted;
    }

    @Override
    public void close() {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException ignored) {
                // It was only read.
            }
            channel = null;
        }
    }
}

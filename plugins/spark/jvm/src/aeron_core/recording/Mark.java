package aeron_core.recording;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Path;

/**
 * Mark: the file with the current position of a live recording, which its recorder maps and moves.
 *
 * <p>It is read, not mapped: Java keeps a mapped page until a garbage collection, and a new recorder has a new file.
 */
final class Mark {
    private static final int LENGTH = 4096;
    private static final int MAGIC = 0x4B52414D; // "MARK"
    private static final int VERSION = 1;
    private static final int POSITION_OFFSET = 64;

    private Mark() {}

    /**
     * Return the position up to which readers may read, -1 if the file is missing or empty, or may not be read.
     *
     * <p>Raises Corrupt if it is not a mark of this version, and RecordingException for other failures: a query that took
     * them for the start of the recording would lose its rows.
     */
    static long position(Path path) {
        ByteBuffer page = ByteBuffer.allocate(POSITION_OFFSET + Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (FileChannel channel = LocalFiles.open(path)) {
            if (channel == null || channel.size() == 0) {
                return -1;
            }
            long length = channel.size();
            LocalFiles.readFully(channel, page, 0);
            if (length < LENGTH || page.getInt(0) != MAGIC || page.getInt(4) != VERSION) {
                throw new RecordingException.Corrupt(
                    path + ": " + length + " bytes: must be at least " + LENGTH + " bytes that begin with MARK and "
                        + "version " + VERSION + "; delete it while no recorder is running: the next one finds the end "
                        + "of the recording without it");
            }
            return stable(channel, page);
        } catch (IOException error) {
            throw LocalFiles.failure(path, error);
        } catch (RecordingException.Corrupt error) {
            throw error;
        } catch (RecordingException error) {
            // It may not be read, or is no file.
            if (error.getCause() == null || error.getCause() instanceof AccessDeniedException) {
                return -1;
            }
            throw error;
        }
    }

    /** Return the position as soon as two reads agree: one read could see half of a store. */
    private static long stable(FileChannel channel, ByteBuffer page) throws IOException {
        long before = page.getLong(POSITION_OFFSET);
        while (true) {
            page.limit(POSITION_OFFSET + Long.BYTES).position(POSITION_OFFSET);
            if (LocalFiles.readFully(channel, page, POSITION_OFFSET) < Long.BYTES) {
                return -1;
            }
            long now = page.getLong(POSITION_OFFSET);
            if (now == before) {
                return now;
            }
            before = now;
        }
    }
}

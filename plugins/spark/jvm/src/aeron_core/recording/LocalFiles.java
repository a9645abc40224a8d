package aeron_core.recording;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Access to files of a local folder, with messages of one line. Not here: their formats. */
final class LocalFiles {
    private LocalFiles() {}

    /** Return the names in a folder, in no order; none if it does not exist. */
    static List<String> names(Path folder) {
        try (Stream<Path> entries = Files.list(folder)) {
            List<String> names = new ArrayList<>();
            entries.forEach(entry -> names.add(entry.getFileName().toString()));
            return names;
        } catch (NoSuchFileException | NotDirectoryException missing) {
            return List.of();
        } catch (IOException error) {
            throw failure(folder, error);
        } catch (UncheckedIOException error) {
            throw failure(folder, error.getCause());
        }
    }

    /** Return attributes of a file, null if it does not exist. */
    static BasicFileAttributes attributes(Path path) {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class);
        } catch (NoSuchFileException missing) {
            return null;
        } catch (FileSystemException error) {
            if (isNotDirectory(error)) {
                return null;
            }
            throw failure(path, error);
        } catch (IOException error) {
            throw failure(path, error);
        }
    }

    /** Return the size of a file in bytes, -1 if it does not exist. */
    static long size(Path path) {
        BasicFileAttributes found = attributes(path);
        return found == null ? -1 : found.size();
    }

    /** Open a regular file for reading, and return null if it does not exist. Close the channel. */
    static FileChannel open(Path path) {
        BasicFileAttributes found = attributes(path);
        if (found == null) {
            return null;
        }
        // Another user of the folder may have put a pipe there, whose reader would wait, or a device without an end.
        if (!found.isRegularFile()) {
            throw new RecordingException(
                "cannot read " + path + ": not a regular file; remove the cause, or restore a copy of it");
        }
        try {
            return FileChannel.open(path, StandardOpenOption.READ);
        } catch (NoSuchFileException missing) {
            return null;
        } catch (IOException error) {
            throw failure(path, error);
        }
    }

    /** Return at most `limit` bytes from the beginning of a file; null if it does not exist. */
    static byte[] read(Path path, long limit) {
        try (FileChannel channel = open(path)) {
            if (channel == null) {
                return null;
            }
            byte[] data = new byte[(int) Math.min(channel.size(), limit)];
            int read = readFully(channel, ByteBuffer.wrap(data), 0);
            return read == data.length ? data : Arrays.copyOf(data, read);
        } catch (IOException error) {
            throw failure(path, error);
        }
    }

    /** Read from `offset` on until `target` is full or the file ends, and return the number of bytes. */
    static int readFully(FileChannel channel, ByteBuffer target, long offset) throws IOException {
        int begin = target.position();
        while (target.hasRemaining()) {
            if (channel.read(target, offset + target.position() - begin) < 0) {
                break;
            }
        }
        return target.position() - begin;
    }

    /** Return the exception for a failed access; that of an interrupted thread is one that Spark understands. */
    static RuntimeException failure(Path path, IOException error) {
        if (error instanceof ClosedByInterruptException) {
            return new UncheckedIOException(error);
        }
        String reason = error instanceof FileSystemException && ((FileSystemException) error).getReason() != null
            ? ((FileSystemException) error).getReason()
            : error instanceof AccessDeniedException ? "Permission denied" : String.valueOf(error.getMessage());
        String remedy = error instanceof AccessDeniedException
            ? "let user " + System.getProperty("user.name") + " read it"
            : "remove the cause, or restore a copy of it";
        return new RecordingException("cannot read " + path + ": " + reason + "; " + remedy, error);
    }

    private static boolean isNotDirectory(FileSystemException error) {
        return "Not a directory".equals(error.getReason());
    }
}

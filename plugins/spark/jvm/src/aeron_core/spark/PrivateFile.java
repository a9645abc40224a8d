package aeron_core.spark;

import static java.nio.file.LinkOption.NOFOLLOW_LINKS;

import aeron_core.recording.RecordingException;
import java.io.IOException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Set;

/** Files of this user alone, at paths that others may know; as private_folder.py in pyspark_aeron. */
final class PrivateFile {
    private static final Set<PosixFilePermission> OF_OWNER = PosixFilePermissions.fromString("rwx------");
    private static final Set<PosixFilePermission> READ_WRITE = PosixFilePermissions.fromString("rw-------");

    private PrivateFile() {}

    /**
     * Create and open a file that only this user can read. Creates missing folders, for this user alone; the last
     * `privateParts` (at least 1) of the folder's path must belong to this user, and become accessible to this user only.
     */
    static SeekableByteChannel create(Path path, int privateParts) throws IOException {
        Path folder = path.getParent();
        int parts = folder.getNameCount();
        Path reached = folder.getRoot().resolve(folder.subpath(0, parts - privateParts));
        Files.createDirectories(reached, PosixFilePermissions.asFileAttribute(OF_OWNER));
        // Each folder is opened from the descriptor of the one before it, without following links.
        SecureDirectoryStream<Path> open = secure(Files.newDirectoryStream(reached), reached);
        try {
            for (int part = parts - privateParts; part < parts; part++) {
                Path name = folder.getName(part);
                reached = reached.resolve(name);
                try {
                    Files.createDirectory(reached, PosixFilePermissions.asFileAttribute(OF_OWNER));
                } catch (FileAlreadyExistsException error) {
                    // Checked below, as a new one.
                }
                SecureDirectoryStream<Path> inner = open.newDirectoryStream(name, NOFOLLOW_LINKS);
                open.close();
                open = inner;
                check(open.getFileAttributeView(PosixFileAttributeView.class), reached);
            }
            return open.newByteChannel(
                path.getFileName(),
                Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, NOFOLLOW_LINKS),
                PosixFilePermissions.asFileAttribute(READ_WRITE));
        } finally {
            open.close();
        }
    }

    /** Return the cause without the path. */
    static String reason(IOException error) {
        String reason = error instanceof FileSystemException failure ? failure.getReason() : error.getMessage();
        return reason == null ? error.getClass().getSimpleName() : reason;
    }

    private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> stream, Path folder) throws IOException {
        if (stream instanceof SecureDirectoryStream<Path> secure) {
            return secure;
        }
        stream.close();
        throw new FileSystemException(folder.toString(), null, "Java cannot open its files by descriptor here");
    }

    private static void check(PosixFileAttributeView view, Path folder) throws IOException {
        PosixFileAttributes status = view.readAttributes();
        UserPrincipal user = Files.getOwner(Path.of("/proc/self"));
        if (!status.owner().equals(user)) {
            throw new RecordingException(folder + ": belongs to user " + status.owner().getName()
                + ": must belong to user " + user.getName()
                + "; delete it, or set another folder with option staging");
        }
        if (!OF_OWNER.containsAll(status.permissions())) {
            view.setPermissions(OF_OWNER);
        }
    }
}

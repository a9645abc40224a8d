package aeron_core.recording;

/**
 * Failure to read an archive of recordings; its message has one line, with what is wrong and the remedy.
 *
 * <p>It extends IllegalArgumentException because PySpark shows the message of that one, but Java's stack of most.
 */
public class RecordingException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    public RecordingException(String message) {
        super(message);
    }

    public RecordingException(String message, Throwable cause) {
        super(message, cause);
    }

    /** The archive, or one of its recordings or files, does not exist. */
    public static final class NotFound extends RecordingException {
        private static final long serialVersionUID = 1;

        public NotFound(String message) {
            super(message);
        }
    }

    /** A file does not have the content that it must have. */
    public static final class Corrupt extends RecordingException {
        private static final long serialVersionUID = 1;

        public Corrupt(String message) {
            super(message);
        }
    }

    /** Positions were purged, or never recorded. */
    public static final class DataLoss extends RecordingException {
        private static final long serialVersionUID = 1;

        public DataLoss(String message) {
            super(message);
        }
    }
}

package aeron_core.recording;

/** Fault of a frame of a recording. */
enum Fault {
    NONE("no fault"),
    /** The frame continues after the scanned bytes. */
    CUT_SHORT("a frame that is cut short, of length %d"),
    NO_FRAME("no frame, but zeros"),
    WRONG_LENGTH("frame length=%d: must be at least 32 bytes and within the term"),
    WRONG_TYPE("frame type=%d: must be data or padding"),
    WRONG_TERM_ID("term id=%d: must be that of the position"),
    WRONG_TERM_OFFSET("term offset=%d: must be that of the position"),
    WRONG_SESSION_ID("session id=%d: must be that of the recording, %d"),
    WRONG_STREAM_ID("stream id=%d: must be that of the recording, %d");

    private final String text;

    Fault(String text) {
        this.text = text;
    }

    /** Return a description; `found`: the wrong value, `allowed`: the right one, for ids. */
    String text(long found, long allowed) {
        return String.format(text, found, allowed);
    }
}

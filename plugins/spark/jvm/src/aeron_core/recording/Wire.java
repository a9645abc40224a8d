package aeron_core.recording;

/**
 * Layout of data frames, little-endian.
 *
 * <p>Source: https://github.com/aeron-io/aeron/wiki/Transport-Protocol-Specification#data-frame
 */
public final class Wire {
    public static final int HEADER_LENGTH = 32;
    public static final int FRAME_ALIGNMENT = 32;
    public static final int FLAGS_OFFSET = 5;
    public static final int TYPE_OFFSET = 6;
    public static final int TERM_OFFSET_OFFSET = 8;
    public static final int SESSION_ID_OFFSET = 12;
    public static final int STREAM_ID_OFFSET = 16;
    public static final int TERM_ID_OFFSET = 20;
    public static final int RESERVED_VALUE_OFFSET = 24;

    public static final int TYPE_PAD = 0;
    public static final int TYPE_DATA = 1;

    public static final int FLAG_BEGIN = 0x80;
    public static final int FLAG_END = 0x40;
    public static final int FLAGS_UNFRAGMENTED = FLAG_BEGIN | FLAG_END;

    public static final int TERM_MIN_LENGTH = 64 * 1024;
    public static final int TERM_MAX_LENGTH = 1024 * 1024 * 1024;
    public static final int MIN_MTU_LENGTH = 64;
    public static final int MAX_MTU_LENGTH = 65504;

    private Wire() {}

    /** Return the bytes that a frame takes: `length`, at most 2**31 - 32, rounded up to a multiple of 32. */
    public static int align(int length) {
        return (length + (FRAME_ALIGNMENT - 1)) & -FRAME_ALIGNMENT;
    }
}

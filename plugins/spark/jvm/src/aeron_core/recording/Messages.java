package aeron_core.recording;

import java.nio.ByteBuffer;

/**
 * Messages of a scan, as columns over the scanned buffer: payloads are copied only when they are asked for.
 *
 * <p>Invariant: everything refers to `buffer`, whose content must not change until `clear`.
 */
public final class Messages {
    private final long[] positions;
    private final int[] offsets;
    private final int[] lengths;
    private final int[] flags;
    private ByteBuffer buffer;
    private int count;

    /** `capacity`: most messages, at least 1. */
    Messages(int capacity) {
        positions = new long[capacity];
        offsets = new int[capacity];
        lengths = new int[capacity];
        flags = new int[capacity];
    }

    /** The most messages at a time. */
    public int capacity() {
        return positions.length;
    }

    /** The number of messages. */
    public int count() {
        return count;
    }

    /** The position of the stream after a message. */
    public long position(int message) {
        return positions[message];
    }

    /** The flags of its frames. */
    public int flags(int message) {
        return flags[message];
    }

    /** The reserved value of its first frame. */
    public long reservedValue(int message) {
        return buffer.getLong(offsets[message] + Wire.RESERVED_VALUE_OFFSET);
    }

    /** Return a copy of the payload of a message. */
    public byte[] payload(int message) {
        byte[] payload = new byte[lengths[message]];
        int frame = offsets[message];
        int copied = 0;
        while (copied < payload.length) {
            int frameLength = buffer.getInt(frame);
            int length = Math.min(frameLength - Wire.HEADER_LENGTH, payload.length - copied);
            buffer.get(frame + Wire.HEADER_LENGTH, payload, copied, length);
            copied += length;
            frame += Wire.align(frameLength);
        }
        return payload;
    }

    void clear(ByteBuffer scanned) {
        buffer = scanned;
        count = 0;
    }

    boolean isFull() {
        return count == positions.length;
    }

    /** Append the message whose first frame is at `offset`; `length`: of its payload. Call only if it is not full. */
    void append(long position, int offset, int length, int messageFlags) {
        positions[count] = position;
        offsets[count] = offset;
        lengths[count] = length;
        flags[count] = messageFlags;
        count++;
    }
}

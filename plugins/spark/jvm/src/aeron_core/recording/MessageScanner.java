package aeron_core.recording;

import java.nio.ByteBuffer;

/** Scanner that finds messages in frames of one recording, also those of several fragments; one thread uses it. */
final class MessageScanner {
    private final FrameScanner frames;
    private final boolean isAssembling;

    /** Unless `isAssembling`, each fragment is a message. */
    MessageScanner(FrameScanner frames, boolean isAssembling) {
        this.frames = frames;
        this.isAssembling = isAssembling;
    }

    /** The frames, with the fault at which the last scan stopped. */
    FrameScanner frames() {
        return frames;
    }

    /**
     * Append messages from `length` bytes at offset `begin`, the first frame at `position`; return the consumed bytes.
     *
     * <p>The scan stops when `messages` is full, before an incomplete message, and before an invalid frame, with the
     * reason in `frames().fault()`. Fragments without the beginning or the end of their message are dropped. The result
     * is more than `length` if the body of padding is missing.
     */
    long scan(ByteBuffer data, int begin, int length, long position, Messages messages) {
        long scanned = 0;
        while (scanned < length && !messages.isFull()) {
            int frame = (int) (begin + scanned);
            if (frames.faultOf(data, frame, position + scanned, length - scanned) != Fault.NONE) {
                break;
            }
            int frameLength = data.getInt(frame);
            int step = Wire.align(frameLength);
            if (data.getShort(frame + Wire.TYPE_OFFSET) == Wire.TYPE_PAD) {
                scanned += step;
                continue;
            }
            int flags = data.get(frame + Wire.FLAGS_OFFSET) & 0xFF;
            if (isAssembling && (flags & Wire.FLAGS_UNFRAGMENTED) != Wire.FLAGS_UNFRAGMENTED) {
                step = takeFragments(data, frame, (int) (length - scanned), position + scanned, messages);
                if (step == 0) {
                    break;
                }
                scanned += step;
                continue;
            }
            scanned += step;
            messages.append(position + scanned, frame, frameLength - Wire.HEADER_LENGTH, flags);
        }
        return scanned;
    }

    /** Append a fragmented message, or drop fragments; return the consumed bytes, 0 if incomplete or invalid. */
    private int takeFragments(ByteBuffer data, int begin, int length, long position, Messages messages) {
        int measured = 0;
        int payloadLength = 0;
        int allFlags = 0;
        int expected = Wire.FLAG_BEGIN;
        while (measured < length) {
            int frame = begin + measured;
            if (frames.faultOf(data, frame, position + measured, length - measured) != Fault.NONE) {
                return 0;
            }
            int frameLength = data.getInt(frame);
            int flags = data.get(frame + Wire.FLAGS_OFFSET) & 0xFF;
            if (data.getShort(frame + Wire.TYPE_OFFSET) == Wire.TYPE_PAD || (flags & Wire.FLAG_BEGIN) != expected) {
                // Fragments so far have no end; if this is the first one, it has no beginning.
                return measured > 0 ? measured : Wire.align(frameLength);
            }
            measured += Wire.align(frameLength);
            payloadLength += frameLength - Wire.HEADER_LENGTH;
            allFlags |= flags;
            expected = 0;
            if ((flags & Wire.FLAG_END) != 0) {
                messages.append(position + measured, begin, payloadLength, allFlags);
                return measured;
            }
        }
        return 0;
    }
}

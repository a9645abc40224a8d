package aeron_core.recording;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Scanner that validates frames of one recording; one thread uses it.
 *
 * <p>Not here: messages (MessageScanner). Invariant: no byte beyond the given ones is read, and a frame without fault
 * is at least 32 bytes and ends within its term.
 */
final class FrameScanner {
    private final int sessionId;
    private final int streamId;
    private final int initialTermId;
    private final int termLength;
    private final int positionBitsToShift;
    private Fault fault = Fault.NONE;
    private int found;

    FrameScanner(Descriptor descriptor) {
        sessionId = descriptor.sessionId();
        streamId = descriptor.streamId();
        initialTermId = descriptor.initialTermId();
        termLength = descriptor.termLength();
        positionBitsToShift = descriptor.positionBitsToShift();
    }

    /** The fault of the last frame that was examined. */
    Fault fault() {
        return fault;
    }

    /** Return a description of the fault. */
    String faultText() {
        return fault.text(found, fault == Fault.WRONG_SESSION_ID ? sessionId : streamId);
    }

    /**
     * Return the fault of the frame at offset `frame` of `data`, which must be at `position`; NONE if it is valid.
     *
     * <p>`available`: bytes of `data` from there on. The body of padding may be missing.
     */
    Fault faultOf(ByteBuffer data, int frame, long position, long available) {
        if (available < Wire.HEADER_LENGTH) {
            return fail(Fault.CUT_SHORT, (int) available);
        }
        int length = data.getInt(frame);
        int type = data.getShort(frame + Wire.TYPE_OFFSET) & 0xFFFF;
        int termOffset = (int) position & (termLength - 1);
        if (length == 0) {
            return fail(Fault.NO_FRAME, 0);
        }
        // The first comparison also refuses lengths that cannot be aligned.
        if (length < Wire.HEADER_LENGTH || length > termLength || Wire.align(length) > termLength - termOffset) {
            return fail(Fault.WRONG_LENGTH, length);
        }
        if (type != Wire.TYPE_DATA && type != Wire.TYPE_PAD) {
            return fail(Fault.WRONG_TYPE, type);
        }
        if (type == Wire.TYPE_DATA && Wire.align(length) > available) {
            return fail(Fault.CUT_SHORT, length);
        }
        return faultOfOrigin(data, frame, position, termOffset);
    }

    /** Return the fault of the frame header at `position` of a segment. */
    Fault faultAt(Segment segment, long position) {
        ByteBuffer header = ByteBuffer.allocate(Wire.HEADER_LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        segment.read(position, header);
        return faultOf(header, 0, position, Wire.HEADER_LENGTH);
    }

    private Fault faultOfOrigin(ByteBuffer data, int frame, long position, int termOffset) {
        int termId = data.getInt(frame + Wire.TERM_ID_OFFSET);
        if (termId != (int) (position >>> positionBitsToShift) + initialTermId) {
            return fail(Fault.WRONG_TERM_ID, termId);
        }
        int foundOffset = data.getInt(frame + Wire.TERM_OFFSET_OFFSET);
        if (foundOffset != termOffset) {
            return fail(Fault.WRONG_TERM_OFFSET, foundOffset);
        }
        int foundSession = data.getInt(frame + Wire.SESSION_ID_OFFSET);
        if (foundSession != sessionId) {
            return fail(Fault.WRONG_SESSION_ID, foundSession);
        }
        int foundStream = data.getInt(frame + Wire.STREAM_ID_OFFSET);
        if (foundStream != streamId) {
            return fail(Fault.WRONG_STREAM_ID, foundStream);
        }
        return fault = Fault.NONE;
    }

    private Fault fail(Fault found, int value) {
        this.found = value;
        return fault = found;
    }
}

package aeron_core.recording;

import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/** Checksum of a part of a recording: CRC-32 of its frames; of padding, only the header counts. */
final class CheckSum {
    private final CRC32 crc = new CRC32();

    /** Return whether `length` bytes at offset `begin`, at which a frame begins, have the checksum `wanted`. */
    boolean matches(ByteBuffer data, int begin, int length, int wanted) {
        // A part without padding, the usual case, is summed whole: no frame has to be parsed.
        crc.reset();
        update(data, begin, length);
        return (int) crc.getValue() == wanted || sumOfFrames(data, begin, length) == wanted;
    }

    /** From the first frame length below 32 on, all bytes count. */
    private int sumOfFrames(ByteBuffer data, int begin, int length) {
        crc.reset();
        long summed = 0;
        long scanned = 0;
        while (scanned + Wire.HEADER_LENGTH <= length) {
            int frame = (int) (begin + scanned);
            int frameLength = data.getInt(frame);
            if (frameLength < Wire.HEADER_LENGTH) {
                break;
            }
            // As long: a damaged length may be up to 2**31 - 1.
            long step = ((long) frameLength + Wire.FRAME_ALIGNMENT - 1) & -Wire.FRAME_ALIGNMENT;
            if (data.getShort(frame + Wire.TYPE_OFFSET) == Wire.TYPE_PAD) {
                update(data, (int) (begin + summed), (int) (scanned + Wire.HEADER_LENGTH - summed));
                summed = scanned + step;
            }
            scanned += step;
        }
        if (summed < length) {
            update(data, (int) (begin + summed), (int) (length - summed));
        }
        return (int) crc.getValue();
    }

    private void update(ByteBuffer data, int begin, int length) {
        crc.update(data.duplicate().position(begin).limit(begin + length));
    }
}

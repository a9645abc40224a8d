package aeron_core.recording;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;

/**
 * Descriptor: the catalogue's entry of one recording, `recording.json`, with its stream and its range of positions.
 *
 * @param stopPosition null while the recording is live, or if its recorder died
 * @param startTimeNs since the epoch
 */
public record Descriptor(
    long recordingId,
    String channel,
    int streamId,
    int sessionId,
    String sourceIdentity,
    int initialTermId,
    int termLength,
    int segmentLength,
    long startPosition,
    Long stopPosition,
    long startTimeNs) {

    private static final ObjectMapper JSON =
        new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    /** Parse the text of a file; `where`: its name. Raises Corrupt if it is invalid. */
    static Descriptor parse(byte[] text, String where) {
        Fields fields = new Fields(tree(text, where), where);
        fields.check("version", fields.integer("version", 1, 1, 1L));
        int termLength = (int) fields.integer("term_length", Wire.TERM_MIN_LENGTH, Wire.TERM_MAX_LENGTH, null);
        int segmentLength = (int) fields.integer("segment_length", termLength, Wire.TERM_MAX_LENGTH, null);
        fields.powerOfTwo("term_length", termLength);
        fields.powerOfTwo("segment_length", segmentLength);
        fields.mtuLength();
        fields.unused();
        // A stream has at most 2**31 terms: a term count is an int32 from 0 on.
        long last = (long) termLength << 31;
        long start = fields.position("start_position", 0, last);
        return new Descriptor(
            fields.integer("recording_id", 0, Long.MAX_VALUE, null),
            fields.text("channel"),
            (int) fields.integer("stream_id", Integer.MIN_VALUE, Integer.MAX_VALUE, null),
            (int) fields.integer("session_id", Integer.MIN_VALUE, Integer.MAX_VALUE, null),
            fields.text("source_identity"),
            (int) fields.integer("initial_term_id", Integer.MIN_VALUE, Integer.MAX_VALUE, null),
            termLength,
            segmentLength,
            start,
            fields.isNull("stop_position") ? null : fields.position("stop_position", start, last),
            fields.integer("start_time_ns", 0, Long.MAX_VALUE, null));
    }

    /** Return the JSON object of a file; `where`: its name. Raises Corrupt if it is none. */
    static JsonNode tree(byte[] text, String where) {
        try {
            JsonNode tree = JSON.readTree(text);
            if (tree != null && tree.isObject()) {
                return tree;
            }
        } catch (JacksonException error) {
            throw new RecordingException.Corrupt(
                where + ": " + error.getOriginalMessage() + "; restore a copy of the file");
        } catch (IOException error) {
            throw new IllegalStateException(error); // not from memory
        }
        throw new RecordingException.Corrupt(where + ": must be a JSON object; restore a copy of the file");
    }

    /** The shift that turns a term count into a position: log2 of the term length. */
    public int positionBitsToShift() {
        return Integer.numberOfTrailingZeros(termLength);
    }

    /** The base position of the segment that holds `position`; the first segment begins with a term. */
    public long segmentBase(long position) {
        long first = startPosition - startPosition % termLength;
        return first + Math.floorDiv(position - first, (long) segmentLength) * segmentLength;
    }

    /** Fields of a JSON object; each method raises Corrupt for a missing field or a wrong value. */
    private record Fields(JsonNode tree, String where) {
        boolean isNull(String name) {
            return !tree.hasNonNull(name);
        }

        String text(String name) {
            JsonNode found = tree.get(name);
            if (found == null || !found.isTextual()) {
                throw wrong(name, "must be a text");
            }
            return found.textValue();
        }

        /** `missing`: the value of a missing field, null if it must be there. */
        long integer(String name, long least, long most, Long missing) {
            JsonNode found = tree.get(name);
            if (found == null && missing != null) {
                return missing;
            }
            if (found == null || !found.isIntegralNumber() || !found.canConvertToLong()
                    || found.longValue() < least || found.longValue() > most) {
                throw wrong(name, "must be an integer from " + least + " to " + most);
            }
            return found.longValue();
        }

        long position(String name, long least, long most) {
            long value = integer(name, least, most, null);
            if (value % Wire.FRAME_ALIGNMENT != 0) {
                throw wrong(name, "must be a multiple of " + Wire.FRAME_ALIGNMENT);
            }
            return value;
        }

        void mtuLength() {
            if (integer("mtu_length", Wire.MIN_MTU_LENGTH, Wire.MAX_MTU_LENGTH, null) % Wire.FRAME_ALIGNMENT != 0) {
                throw wrong("mtu_length", "must be a multiple of " + Wire.FRAME_ALIGNMENT);
            }
        }

        /** Check what readers do not need: a damaged file may have other damage that is not seen. */
        void unused() {
            integer("last_batch_id", Long.MIN_VALUE, Long.MAX_VALUE, 0L);
            if (!isNull("stop_time_ns")) {
                integer("stop_time_ns", 0, Long.MAX_VALUE, null);
            }
            if (!isNull("appender")) {
                text("appender");
            }
            if (tree.has("is_end_of_stream") && !tree.get("is_end_of_stream").isBoolean()) {
                throw wrong("is_end_of_stream", "must be true or false");
            }
        }

        void powerOfTwo(String name, int value) {
            if (Integer.bitCount(value) != 1) {
                throw wrong(name, "must be a power of two");
            }
        }

        void check(String name, long value) {
            if (value != 1) {
                throw wrong(name, "must be 1");
            }
        }

        private RecordingException wrong(String name, String allowed) {
            JsonNode found = tree.get(name);
            String value = found == null ? "" : ", not " + shown(found.toString());
            return new RecordingException.Corrupt(
                where + ": " + name + ": " + allowed + value + "; restore a copy of the file");
        }

        private static String shown(String value) {
            return value.length() <= 100 ? value : value.substring(0, 100) + "...";
        }
    }
}

package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import aeron_core.recording.Recording;
import aeron_core.recording.RecordingException;
import aeron_core.recording.Wire;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Begin or end of a query: earliest, latest, a time, or positions in bytes by recording id.
 *
 * @param timeNs since the epoch
 */
record Positions(Kind kind, long timeNs, Map<Long, Long> given) implements Serializable {
    static final Positions EARLIEST = new Positions(Kind.EARLIEST, 0, Map.of());
    static final Positions LATEST = new Positions(Kind.LATEST, 0, Map.of());

    // Symbolic positions in JSON. Source: ConsumerStrategy of Spark's Kafka connector.
    private static final long EARLIEST_POSITION = -2;
    private static final long LATEST_POSITION = -1;
    private static final DateTimeFormatter TIME = new DateTimeFormatterBuilder()
        .append(DateTimeFormatter.ISO_LOCAL_DATE)
        .optionalStart()
        .appendPattern("['T'][' ']")
        .append(DateTimeFormatter.ISO_LOCAL_TIME)
        .optionalStart()
        .appendOffset("+HH:MM", "Z")
        .optionalEnd()
        .optionalEnd()
        .toFormatter();

    enum Kind {
        EARLIEST,
        LATEST,
        TIME,
        GIVEN
    }

    /** Parse `earliest`, `latest`, an ISO 8601 time (UTC without an offset) or JSON with positions by recording id. */
    static Positions parse(String text) {
        if (text.equals("earliest")) {
            return EARLIEST;
        }
        if (text.equals("latest")) {
            return LATEST;
        }
        return text.stripLeading().startsWith("{")
            ? new Positions(Kind.GIVEN, 0, givenOf(text))
            : new Positions(Kind.TIME, timeOf(text), Map.of());
    }

    private static long timeOf(String text) {
        try {
            TemporalAccessor parsed = TIME.parse(text);
            int offset = parsed.isSupported(ChronoField.OFFSET_SECONDS) ? parsed.get(ChronoField.OFFSET_SECONDS) : 0;
            LocalTime time = parsed.query(TemporalQueries.localTime());
            LocalDateTime local = LocalDate.from(parsed)
                .atTime(time == null ? LocalTime.MIDNIGHT : time.truncatedTo(ChronoUnit.MICROS));
            long seconds = local.toEpochSecond(ZoneOffset.ofTotalSeconds(offset));
            // Times beyond the years 1677 to 2262 are before or after all recordings.
            return Math.abs(seconds) < Long.MAX_VALUE / 1_000_000_000L
                ? seconds * 1_000_000_000L + local.getNano()
                : seconds < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
        } catch (DateTimeException error) {
            throw new IllegalArgumentException(
                "must be earliest, latest, a time such as 2026-01-31T12:00:00Z, or positions by recording id such as "
                    + "{\"1\": 4096, \"2\": -2}, where -2 is earliest and -1 is latest");
        }
    }

    private static Map<Long, Long> givenOf(String text) {
        Map<Long, Long> found = new HashMap<>();
        try {
            JsonNode document = new ObjectMapper().readTree(text);
            for (Iterator<String> ids = document.fieldNames(); ids.hasNext();) {
                String id = ids.next();
                JsonNode value = document.get(id);
                boolean isNumber = value.isIntegralNumber() && value.canConvertToLong();
                long position = isNumber ? value.longValue() : Long.MIN_VALUE;
                if (position < EARLIEST_POSITION || position > 0 && position % Wire.FRAME_ALIGNMENT != 0) {
                    throw new IllegalArgumentException(
                        "position " + value + " of recording " + id + ": must be a multiple of "
                            + Wire.FRAME_ALIGNMENT + " from 0 to the end of the recording, -2 (earliest) or -1 "
                            + "(latest)");
                }
                found.put(Long.valueOf(id.strip()), position);
            }
        } catch (JsonProcessingException | NumberFormatException error) {
            throw new IllegalArgumentException("must be JSON with positions by recording id");
        }
        return found;
    }

    /** Return the position of one recording; raises DataLoss or ConfigurationException for an impossible one. */
    long of(Recording recording) {
        switch (kind) {
            case EARLIEST:
                return recording.startPosition();
            case LATEST:
                return recording.position();
            case TIME:
                return recording.positionAt(timeNs);
            default:
                return givenFor(recording);
        }
    }

    private long givenFor(Recording recording) {
        long position = given.getOrDefault(recording.id(), EARLIEST_POSITION);
        long first = recording.startPosition();
        long last = recording.position();
        if (position == EARLIEST_POSITION) {
            return first;
        }
        if (position == LATEST_POSITION) {
            return last;
        }
        if (position < first || position > last) {
            throw new RecordingException.DataLoss(
                "recording " + recording.id() + " position " + position + ": must be from " + first + " to " + last
                    + "; change startingPosition or endingPosition");
        }
        recording.checkBorder(position);
        return position;
    }
}

package aeron_core.spark;

import aeron_core.recording.RecordingException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Iterator;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * A position in bytes for every recording of a query, in the text that checkpoints of format("aeron") have.
 *
 * <p>Spark compares offsets as text: equal offsets have equal text.
 */
final class ArchiveOffset extends Offset {
    private static final int VERSION = 1;

    private final String archive;
    private final SortedMap<Long, Long> positions;

    /** `archive`: its uuid; `positions`: by recording id. */
    ArchiveOffset(String archive, Map<Long, Long> positions) {
        this.archive = archive;
        this.positions = new TreeMap<>(positions);
    }

    /** Parse the text of a checkpoint; raises RecordingException if it is malformed. */
    static ArchiveOffset parse(String text) {
        try {
            JsonNode found = new ObjectMapper().readTree(text);
            if (found.path("v").asInt() == VERSION && found.path("archive").isTextual()) {
                Map<Long, Long> positions = new TreeMap<>();
                JsonNode given = found.path("pos");
                for (Iterator<String> ids = given.fieldNames(); ids.hasNext();) {
                    String id = ids.next();
                    positions.put(Long.valueOf(id), Long.valueOf(given.get(id).asText()));
                }
                return new ArchiveOffset(found.get("archive").textValue(), positions);
            }
        } catch (JsonProcessingException | NumberFormatException error) {
            // Reported below.
        }
        throw new RecordingException(
            "checkpoint offset " + text + ": must be one of the format aeron, version " + VERSION
                + "; use another checkpointLocation");
    }

    SortedMap<Long, Long> positions() {
        return positions;
    }

    @Override
    public String json() {
        String all = positions.entrySet().stream()
            .map(each -> "\"" + each.getKey() + "\": " + each.getValue())
            .collect(Collectors.joining(", "));
        return "{\"archive\": " + TextNode.valueOf(archive) + ", \"pos\": {" + all + "}, \"v\": " + VERSION + "}";
    }

    /** Raise RecordingException unless it is one of the archive with the uuid `other`. */
    ArchiveOffset checkArchive(String other) {
        if (!archive.equals(other)) {
            throw new RecordingException(
                "the checkpoint is of archive " + archive + ", the query reads archive " + other + ": use the archive "
                    + "that it began with, or another checkpointLocation");
        }
        return this;
    }

    /** Raise DataLoss if a recording ends before `start`: the archive is older than the checkpoint. */
    void checkNotBefore(ArchiveOffset start) {
        start.positions.forEach((id, begin) -> {
            long end = positions.getOrDefault(id, begin);
            if (end < begin) {
                throw new RecordingException.DataLoss(
                    "recording " + id + " ends at " + end + ", before the position " + begin + " that the checkpoint "
                        + "has already read: the archive is an older copy or lost data in a crash; use another "
                        + "checkpointLocation");
            }
        });
    }
}

package aeron_core.spark;

import aeron_core.recording.Archive;
import aeron_core.recording.Descriptor;
import aeron_core.recording.Recording;
import aeron_core.recording.RecordingException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** View of an archive through the options of a query; used by one thread. Raises the errors of Archive. */
final class Selection {
    private static final Logger LOG = LoggerFactory.getLogger(Selection.class);

    private final SourceOptions options;
    private final Archive archive;

    Selection(SourceOptions options) {
        this.options = options;
        this.archive = new Archive(Path.of(options.archive()));
    }

    Archive archive() {
        return archive;
    }

    /** Return the existing recordings that match; raises NotFound for a missing id. */
    List<Recording> recordings() {
        if (options.recordings() != null) {
            return options.recordings().stream().map(archive::recording).toList();
        }
        return archive.recordings().stream().filter(this::matches).toList();
    }

    private boolean matches(Recording recording) {
        if (options.channel() == null && options.channelPattern() == null && options.streamId() == null) {
            return true; // without reading the descriptor, because there may be thousands
        }
        Descriptor found = recording.descriptor();
        return (options.channel() == null || options.channel().equals(found.channel()))
            && (options.channelPattern() == null || options.channelPattern().matcher(found.channel()).matches())
            && (options.streamId() == null || options.streamId() == found.streamId());
    }

    /** Return the offset that `positions` mean now. */
    ArchiveOffset offset(Positions positions) {
        Map<Long, Long> found = new TreeMap<>();
        for (Recording recording : recordings()) {
            found.put(recording.id(), positions.of(recording));
        }
        return new ArchiveOffset(archive.uuid(), found);
    }

    /** Return the recorded positions; a recording that was deleted keeps its position of `start`, which may be null. */
    ArchiveOffset latest(ArchiveOffset start) {
        Map<Long, Long> found = new TreeMap<>(start == null ? Map.of() : start.positions());
        for (Recording recording : recordings()) {
            found.put(recording.id(), recording.position());
        }
        return new ArchiveOffset(archive.uuid(), found);
    }

    /**
     * Return the ranges between two offsets; recordings that are not in `start` begin at their first position.
     *
     * <p>Raises DataLoss if a part of a range was purged; with failOnDataLoss=false it is skipped with a warning.
     */
    List<Piece> ranges(ArchiveOffset start, ArchiveOffset end) {
        List<Piece> found = new ArrayList<>();
        end.positions().forEach((id, last) -> {
            Long begin = start.positions().get(id);
            if (last.equals(begin)) {
                return;
            }
            long held;
            try {
                held = archive.recording(id).startPosition();
            } catch (RecordingException.NotFound error) {
                lose("recording " + id + " position " + (begin == null ? 0 : begin)
                    + ": was purged with the whole recording");
                return;
            }
            if (begin != null && begin < held) {
                lose("recording " + id + " position " + begin + ": was purged, the first available position is "
                    + held);
            }
            long first = begin == null || begin < held ? Math.min(held, last) : begin;
            if (first < last) {
                found.add(new Piece(id, first, last));
            }
        });
        return found;
    }

    private void lose(String message) {
        if (options.failOnDataLoss()) {
            throw new RecordingException.DataLoss(
                message + "; set failOnDataLoss=false to skip what was lost, and consumerName to prevent such losses");
        }
        LOG.warn("data loss: {}", message);
    }
}

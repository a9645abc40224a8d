package aeron_core.spark;

import aeron_core.recording.Recording;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Planning of a batch: its limit, and its pieces for tasks.
 *
 * <p>Cuts are at message boundaries and reproducible: they depend only on immutable data, the terms of a recording and
 * its index below its position.
 */
final class Planning {
    private Planning() {}

    /**
     * Return an offset at most about `maxLength` bytes after `start`; recordings advance in proportion to their lags.
     *
     * <p>Each with unread data advances at least to a message boundary, possibly over padding only.
     */
    static ArchiveOffset shareOut(Selection selection, ArchiveOffset start, ArchiveOffset end, long maxLength) {
        List<Piece> ranges = selection.ranges(start, end);
        double total = ranges.stream().mapToDouble(Piece::length).sum();
        if (total <= maxLength) {
            return end;
        }
        Map<Long, Long> positions = new TreeMap<>(end.positions());
        for (Piece range : ranges) {
            long share = Math.max((long) (range.length() / total * maxLength), 1);
            Recording recording = selection.archive().recording(range.recordingId());
            positions.put(range.recordingId(), cut(recording, range.begin(), share, range.end()));
        }
        return new ArchiveOffset(selection.archive().uuid(), positions);
    }

    /** Split ranges into pieces of at most about `partitionLength` bytes, at least `minPartitions` if possible. */
    static Piece[] split(Selection selection, List<Piece> ranges, long partitionLength, int minPartitions) {
        long total = 0;
        for (Piece range : ranges) {
            selection.archive().recording(range.recordingId()).checkExtent(range.begin(), range.end());
            total += range.length();
        }
        long length = minPartitions == 0
            ? partitionLength
            : Math.max(Math.min(partitionLength, (total + minPartitions - 1) / minPartitions), 1);
        List<Piece> pieces = new ArrayList<>();
        for (Piece range : ranges) {
            Recording recording = selection.archive().recording(range.recordingId());
            long begin = range.begin();
            while (begin < range.end()) {
                long end = cut(recording, begin, length, range.end());
                if (end <= begin) {
                    end = range.end(); // the recording has become shorter, which the next line reports
                }
                // Each piece has a file: a damaged descriptor does not cause pieces without end.
                recording.checkExtent(begin, end);
                pieces.add(new Piece(range.recordingId(), begin, end));
                begin = end;
            }
        }
        return pieces.toArray(new Piece[0]);
    }

    /** Return a message boundary after `begin`, near `length` bytes later, and at most at `end`. */
    private static long cut(Recording recording, long begin, long length, long end) {
        if (length >= end - begin) {
            return end;
        }
        long before = recording.borderBefore(begin + length, begin);
        return before > begin ? before : Math.min(recording.borderAfter(begin + length), end);
    }
}

package aeron_core.recording;

import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Recording: the positions, files and index of one recorded stream; one thread uses it at a time.
 *
 * <p>Not here: messages (MessageScanner), and the bytes of its files (Segment).
 * Invariant: frames before its position are not changed; whole segments at its beginning can be purged meanwhile.
 */
public final class Recording {
    static final String DESCRIPTOR = "recording.json";
    static final String DAMAGED =
        "restore the file from a copy, or read another part; `aeron-core recordings verify` lists all faults";

    // Bytes that the recorder of a live recording may leave without an entry, beside a term: it adds one after the
    // write that leaves 1 MiB or more uncovered, and this write has at most as many bytes, or is padding.
    private static final long MAX_UNCOVERED_LENGTH = 2 * 1024 * 1024;
    private static final Pattern SEGMENT = Pattern.compile("\\d+-(\\d{1,18})\\.rec");

    private final Path archive;
    private final Path folder;
    private final long id;
    private Descriptor descriptor;
    private Object fileKey;
    private FileTime modified;

    /** `archive`: its folder. */
    public Recording(Path archive, long id) {
        this.archive = archive;
        this.folder = archive.resolve(Long.toString(id));
        this.id = id;
    }

    public long id() {
        return id;
    }

    /** Return the current descriptor, read again if the file was replaced; raises NotFound, or Corrupt. */
    public Descriptor descriptor() {
        Path path = folder.resolve(DESCRIPTOR);
        BasicFileAttributes found = LocalFiles.attributes(path);
        if (descriptor == null || found == null || !found.fileKey().equals(fileKey)
                || !found.lastModifiedTime().equals(modified)) {
            byte[] text = found == null ? null : LocalFiles.read(path, Archive.MAX_JSON_LENGTH);
            if (text == null) {
                throw new RecordingException.NotFound(
                    "recording " + id + " in " + archive + ": does not exist, or was purged; "
                        + "`aeron-core recordings list` shows those that exist");
            }
            descriptor = Descriptor.parse(text, path.toString());
            fileKey = found.fileKey();
            modified = found.lastModifiedTime();
        }
        return descriptor;
    }

    /** Return the position of the first frame that was not purged. */
    public long startPosition() {
        return descriptor().startPosition();
    }

    /** Return the position up to which it can be read: after its last whole message. Raises as `descriptor`. */
    public long position() {
        Descriptor current = descriptor();
        if (current.stopPosition() != null) {
            return current.stopPosition();
        }
        return Math.max(Mark.position(folder.resolve("mark")), current.startPosition());
    }

    /** Return a scanner for frames of this recording. */
    FrameScanner scanner() {
        return new FrameScanner(descriptor());
    }

    Path segmentFile(long base) {
        return folder.resolve(id + "-" + base + ".rec");
    }

    /** Return the index of the segment at `base`. */
    Index index(long base) {
        return Index.read(folder.resolve(id + "-" + base + ".idx"), firstPosition(base),
            base + descriptor().segmentLength());
    }

    /** Return the index of the segment at `base`; raises Corrupt unless it covers what its recorder must cover. */
    Index coveringIndex(long base, long position) {
        long required = requiredCover(base); // before the index is read, which grows
        Index index = index(base);
        if (index.coveredPosition() < required) {
            checkRange(position, position); // it may have been purged concurrently
            throw new RecordingException.Corrupt(
                "recording " + id + " position " + index.coveredPosition() + ": " + id + "-" + base
                    + ".idx: is missing or damaged: it must cover the data up to " + required + "; " + DAMAGED);
        }
        return index;
    }

    private long requiredCover(long base) {
        Descriptor current = descriptor();
        long end = position();
        long segmentEnd = base + current.segmentLength();
        if (end > segmentEnd || (end == segmentEnd && LocalFiles.size(segmentFile(segmentEnd)) >= 0)) {
            return segmentEnd;
        }
        return current.stopPosition() != null ? end : end - MAX_UNCOVERED_LENGTH - current.termLength();
    }

    /** Return the position of the first frame of the segment at `base`. */
    long firstPosition(long base) {
        Descriptor current = descriptor();
        long start = current.startPosition();
        return base < start && start < base + current.segmentLength() ? start : base;
    }

    /** Raise DataLoss if a part was purged or not recorded, Corrupt if its end is not within the files. */
    public void checkExtent(long begin, long end) {
        checkRange(begin, end);
        if (begin == end) {
            return;
        }
        long base = descriptor().segmentBase(end - 1);
        long size = LocalFiles.size(segmentFile(base));
        if (size >= 0 && base + size >= end) {
            return;
        }
        checkRange(begin, end); // it may have been purged concurrently
        if (size >= 0) {
            throw tooShort(base, base + size, end);
        }
        List<Long> bases = segments();
        throw new RecordingException.Corrupt(
            segmentFile(base) + ": is missing: position " + end + ": must be within the files of the recording, "
                + (bases.isEmpty() ? "it has none" : "its last file is " + id + "-" + bases.get(bases.size() - 1)
                    + ".rec") + "; " + DAMAGED);
    }

    /** Raise DataLoss if a part of a range was purged or not recorded. */
    void checkRange(long begin, long end) {
        long start = startPosition();
        long position = position();
        if (begin < start) {
            throw new RecordingException.DataLoss(
                "recording " + id + " position " + begin + ": was purged or never recorded, the first available "
                    + "position is " + start + "; begin there or later");
        }
        if (end > position) {
            throw new RecordingException.DataLoss(
                "recording " + id + " position " + end + ": was not recorded, the last position is " + position
                    + "; end there, or wait if the recording continues");
        }
    }

    RecordingException tooShort(long base, long end, long required) {
        return new RecordingException.Corrupt(
            segmentFile(base) + ": ends at position " + end + ": must extend to " + required + "; " + DAMAGED);
    }

    /** Return the last known end of a message recorded before `timeNs`, the start position if there is none. */
    public long positionAt(long timeNs) {
        long found = startPosition();
        for (long base : segments()) {
            Index index = index(base);
            int count = index.countUpTo(position());
            for (int entry = 0; entry < count; entry++) {
                if (index.timeNs(entry) >= timeNs) {
                    return found;
                }
                if (index.isBorder(entry)) {
                    found = index.end(entry);
                }
            }
        }
        return found;
    }

    /**
     * Return the last known end of a message from `floor` up to `position`, or `floor` if none is known.
     *
     * <p>Ends are known from the index, and from terms: every term begins with a message.
     */
    public long borderBefore(long position, long floor) {
        long best = Math.max(position - position % descriptor().termLength(), floor);
        Index index = index(descriptor().segmentBase(Math.max(position - 1, floor)));
        for (int entry = index.countUpTo(Math.min(position, position())) - 1; entry >= 0; entry--) {
            if (index.end(entry) <= best) {
                break;
            }
            if (index.isBorder(entry)) {
                return index.end(entry);
            }
        }
        return best;
    }

    /** Return the first known end of a message at or after `position`, at most the recording's position. */
    public long borderAfter(long position) {
        int termLength = descriptor().termLength();
        long last = position();
        long best = Math.min(-Math.floorDiv(-position, (long) termLength) * termLength, last);
        Index index = index(descriptor().segmentBase(position));
        for (int entry = index.entryAt(position - 1); entry < index.countUpTo(last); entry++) {
            if (index.isBorder(entry)) {
                return Math.min(index.end(entry), best);
            }
        }
        return best;
    }

    /** Raise ConfigurationException for a position within a frame, which readers would report as corruption. */
    public void checkBorder(long position) {
        if (position == position()) {
            return;
        }
        try (Segment segment = new Segment(this)) {
            FrameScanner scanner = scanner();
            Fault fault = scanner.faultAt(segment, position);
            if (fault != Fault.NONE && fault != Fault.CUT_SHORT) {
                throw new ConfigurationException(
                    "recording " + id + " position " + position + ": must be the end of a message, such as "
                        + borderBefore(position, startPosition()) + ": " + scanner.faultText());
            }
        }
    }

    private List<Long> segments() {
        return LocalFiles.names(folder).stream()
            .map(SEGMENT::matcher)
            .filter(Matcher::matches)
            .map(match -> Long.valueOf(match.group(1)))
            .sorted()
            .toList();
    }
}

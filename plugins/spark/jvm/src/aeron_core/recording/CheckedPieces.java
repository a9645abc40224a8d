package aeron_core.recording;

import java.nio.ByteBuffer;

/**
 * Checks of what is read from a recording against the checksums of its index.
 *
 * <p>An index has a checksum for each piece of a segment, from the end of one entry up to that of the next. Reads end
 * at the end of a piece. A piece that extends beyond the range to read is read and checked separately.
 * Invariant: bytes that passed `check` match the index, except those that the index of a live recording does not cover
 * yet.
 */
final class CheckedPieces {
    private final Recording recording;
    private final Segment segment;
    private final long begin;
    private final long end;
    private final CheckSum checkSum = new CheckSum();
    private long base = -1;
    private Index index;

    CheckedPieces(Recording recording, Segment segment, long begin, long end) {
        this.recording = recording;
        this.segment = segment;
        this.begin = begin;
        this.end = end;
    }

    /**
     * Return the position at which a read from `position` has to end: the last end of a piece up to `limit`.
     *
     * <p>If there is none, it is the end of the piece that holds `position`, or `limit` if no piece does.
     */
    long reach(long position, long limit) {
        load(position);
        long most = Math.min(Math.min(limit, end), base + recording.descriptor().segmentLength());
        int entry = index.entryAt(position);
        if (entry == index.count()) {
            return most;
        }
        int last = index.entryAt(most) - 1; // the last that ends there or before
        return last >= entry ? index.end(last) : Math.min(index.end(entry), end);
    }

    /** Raise Corrupt if a checksum is wrong of `length` bytes at `offset`, read from `position` up to `reach`. */
    void check(long position, ByteBuffer data, int offset, int length) {
        int first = index.entryAt(position);
        if (first < index.count() && index.begin(first) < position) {
            first++; // it begins before the range, and was checked separately
        }
        int last = index.entryAt(position + length);
        for (int entry = first; entry < last; entry++) {
            checkEntry(entry, data, (int) (offset + index.begin(entry) - position));
        }
    }

    private void load(long position) {
        long wanted = recording.descriptor().segmentBase(position);
        if (wanted == base) {
            return;
        }
        index = recording.coveringIndex(wanted, position);
        base = wanted;
        int atBegin = begin > base ? checkEdge(begin) : -1;
        if (end > base && index.entryAt(end) != atBegin) {
            checkEdge(end);
        }
    }

    /** Read and check the piece that holds a border of the range, if a part of it is outside; return its number. */
    private int checkEdge(long border) {
        int entry = index.entryAt(border);
        if (entry == index.count()) {
            return entry;
        }
        long pieceBegin = index.begin(entry);
        long pieceEnd = index.end(entry);
        if (pieceBegin < end && (pieceBegin < begin || pieceEnd > end)) {
            ByteBuffer data = Window.allocate(pieceEnd - pieceBegin);
            segment.read(pieceBegin, data);
            checkEntry(entry, data, 0);
        }
        return entry;
    }

    private void checkEntry(int entry, ByteBuffer data, int offset) {
        long pieceBegin = index.begin(entry);
        int length = (int) (index.end(entry) - pieceBegin);
        if (checkSum.matches(data, offset, length, index.checkSum(entry))) {
            return;
        }
        FrameScanner scanner = recording.scanner();
        long scanned = 0;
        while (scanned < length && scanner.faultOf(data, (int) (offset + scanned), pieceBegin + scanned,
                length - scanned) == Fault.NONE) {
            scanned += Wire.align(data.getInt((int) (offset + scanned)));
        }
        boolean isFrame = scanner.fault() == Fault.NONE;
        throw new RecordingException.Corrupt(
            "recording " + recording.id() + " position " + (isFrame ? pieceBegin : pieceBegin + scanned) + ": "
                + (isFrame ? "the frames up to " + index.end(entry) + " do not have the checksum of the index"
                    : scanner.faultText())
                + "; restore the file from a copy, or read another part; `aeron-core recordings verify` lists all "
                + "faults");
    }
}

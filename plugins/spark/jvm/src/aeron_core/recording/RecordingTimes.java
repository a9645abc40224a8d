package aeron_core.recording;

/** Recording times of the messages of one recording, from the index of its segments. */
public final class RecordingTimes {
    private final Recording recording;
    private long segmentEnd = -1;
    private long startTimeNs;
    private Index index;
    private int count;
    private int entry;

    public RecordingTimes(Recording recording) {
        this.recording = recording;
    }

    /**
     * Return when the message that ends at `position` was recorded, in nanoseconds since the epoch.
     *
     * <p>Positions must not decrease from call to call. The newest messages of a live recording may not be indexed yet:
     * they get the time of the last entry, a lower bound. Raises DataLoss if the index was purged.
     */
    public long timeNs(long position) {
        if (position > segmentEnd) {
            load(position);
        }
        while (entry < count - 1 && index.end(entry) < position) {
            entry++;
        }
        return count == 0 ? startTimeNs : index.timeNs(entry);
    }

    private void load(long position) {
        Descriptor descriptor = recording.descriptor();
        long base = descriptor.segmentBase(position - 1);
        segmentEnd = base + descriptor.segmentLength();
        startTimeNs = descriptor.startTimeNs();
        index = recording.index(base);
        count = index.countUpTo(recording.position());
        entry = 0;
        if (count == 0) {
            recording.checkRange(position - Wire.FRAME_ALIGNMENT, position); // otherwise, the index is late or damaged
        }
    }
}

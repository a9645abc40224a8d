package aeron_core.recording;

/** Reader of the messages that end in a range of a recording, which begins and ends with whole messages. */
public final class RangeReader implements AutoCloseable {
    private final Window window;
    private final MessageScanner scanner;
    private final Messages messages;

    /** `mostMessages`: of one `next`. Raises DataLoss if a part of the range was purged, Corrupt without its files. */
    public RangeReader(
            Recording recording, long begin, long end, boolean isVerifying, boolean isAssembling, int mostMessages) {
        recording.checkExtent(begin, end);
        window = new Window(recording, begin, end, isVerifying);
        scanner = new MessageScanner(recording.scanner(), isAssembling);
        // A small range needs little memory, which Java zeroes.
        messages = new Messages((int) Math.max(Math.min(mostMessages, (end - begin) / Wire.HEADER_LENGTH), 1));
    }

    /**
     * Return whether there are more messages, and find the next ones.
     *
     * <p>Raises Corrupt if the range cannot be read completely or is damaged, DataLoss if it was purged meanwhile.
     */
    public boolean next() {
        messages.clear(null);
        while (!window.isEmpty()) {
            window.scan(scanner, messages);
            if (messages.count() > 0) {
                return true;
            }
            if (!window.fill(scanner.frames())) {
                return false;
            }
        }
        return false;
    }

    /** The messages that `next` found, valid until its next call. */
    public Messages messages() {
        return messages;
    }

    @Override
    public void close() {
        window.close();
    }
}

package aeron_core.recording;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Archive: a local folder of recordings that `aeron-core record` wrote; one thread uses it.
 *
 * <p>Not here: archives elsewhere, and those of Aeron Archive, which only the reader in Python has.
 */
public final class Archive {
    /** Limit of the length of a JSON file in bytes. An invented number: a thousand times the usual length. */
    static final long MAX_JSON_LENGTH = 1024 * 1024;

    private static final String FILE = "archive.json";
    private static final String FOREIGN = "archive.catalog";
    private static final Pattern RECORDING = Pattern.compile("\\d{1,18}");

    private final Path folder;
    private final String uuid;
    private final TreeMap<Long, Recording> recordings = new TreeMap<>();

    /** Raises NotFound if there is no archive, Corrupt for a damaged one, ConfigurationException for a foreign one. */
    public Archive(Path folder) {
        this.folder = folder;
        byte[] text = LocalFiles.read(folder.resolve(FILE), MAX_JSON_LENGTH);
        if (text == null) {
            if (LocalFiles.size(folder.resolve(FOREIGN)) >= 0) {
                throw new ConfigurationException(
                    folder + ": is a folder of Aeron Archive, which the JVM reader cannot read: use format(\"aeron\")");
            }
            throw new RecordingException.NotFound(
                folder + ": there is no archive of recordings; `aeron-core record` creates one");
        }
        JsonNode found = Descriptor.tree(text, folder + "/" + FILE);
        JsonNode version = found.get("version");
        JsonNode next = found.get("next_recording_id");
        if (version != null && !(version.isIntegralNumber() && version.asLong() == 1)
                || next != null && !(next.isIntegralNumber() && next.bigIntegerValue().signum() >= 0)
                || !found.path("uuid").isTextual()) {
            throw new RecordingException.Corrupt(
                folder + "/" + FILE + ": must have version 1, a uuid, and a next_recording_id of 0 or more; repair it, "
                    + "or restore a copy of it");
        }
        this.uuid = found.get("uuid").textValue();
    }

    /** The folder. */
    public Path folder() {
        return folder;
    }

    /** The identity of the archive, which copies share. */
    public String uuid() {
        return uuid;
    }

    /** Return the recordings that have a descriptor, in the order of their ids. */
    public List<Recording> recordings() {
        List<Long> ids = LocalFiles.names(folder).stream()
            .filter(name -> RECORDING.matcher(name).matches())
            .map(Long::valueOf)
            .filter(this::exists)
            .sorted()
            .toList();
        recordings.keySet().retainAll(ids);
        List<Recording> found = new ArrayList<>(ids.size());
        for (long id : ids) {
            found.add(find(id));
        }
        return found;
    }

    /** Return one recording; raises NotFound, with the existing ids, if it does not exist. */
    public Recording recording(long id) {
        if (exists(id)) {
            return find(id);
        }
        String known = recordings().stream().map(each -> Long.toString(each.id())).collect(Collectors.joining(", "));
        throw new RecordingException.NotFound(
            "recording " + id + " in " + folder + ": does not exist; recordings: "
                + (known.isEmpty() ? "none" : known));
    }

    private boolean exists(long id) {
        return LocalFiles.size(folder.resolve(id + "/" + Recording.DESCRIPTOR)) >= 0;
    }

    private Recording find(long id) {
        return recordings.computeIfAbsent(id, missing -> new Recording(folder, id));
    }
}

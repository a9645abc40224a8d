package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import java.io.Serializable;
import java.net.URI;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Options of the reader, as those of format("aeron").
 *
 * @param archive absolute path of a local folder
 * @param recordings ids, null for all that match
 * @param channel null for any, as `streamId` and `channelPattern`
 * @param maxBytesPerTrigger null without a limit, as `minBytesPerTrigger`
 * @param minPartitions 0 without a minimum
 * @param consumerName null without a lease
 */
record SourceOptions(
    String archive,
    List<Long> recordings,
    String channel,
    Integer streamId,
    Pattern channelPattern,
    Positions startingPosition,
    Positions endingPosition,
    Long maxBytesPerTrigger,
    Long minBytesPerTrigger,
    long maxTriggerDelayNs,
    int minPartitions,
    long partitionLength,
    boolean failOnDataLoss,
    boolean isVerifying,
    boolean isAssembling,
    boolean includeHeaders,
    String consumerName,
    boolean isKafka,
    int batchRows,
    long pollTimeoutNs)
    implements Serializable {

    /** Name of the format. */
    static final String FORMAT = "aeron-jvm";
    /** Remedy for what only the reader in Python has. */
    static final String OTHER = "use format(\"aeron\")";

    private static final List<String> NAMES = List.of(
        "archive", "recordings", "channel", "streamId", "channelPattern", "startingPosition", "endingPosition",
        "maxBytesPerTrigger", "minBytesPerTrigger", "maxTriggerDelay", "minPartitions", "partitionLength",
        "failOnDataLoss", "verify", "assemble", "includeHeaders", "consumerName", "kafkaSchema", "batchRows",
        "pollTimeout", "live", "aeronDir", "spoolLength", "checksum");
    private static final Pattern IDS = Pattern.compile("\\s*\\d{1,18}\\s*(,\\s*\\d{1,18}\\s*)*");
    private static final Pattern CONSUMER = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}");

    /** Parse Spark's options; raises ConfigurationException with all faults in one line. */
    static SourceOptions parse(Map<String, String> options) {
        OptionValues values = new OptionValues(options, NAMES);
        refuseLive(values);
        SourceOptions parsed = new SourceOptions(
            values.take("archive", "", SourceOptions::location),
            values.take("recordings", null, SourceOptions::ids),
            values.text("channel", null),
            values.take("streamId", null, text ->
                (int) OptionValues.integer(text, Integer.MIN_VALUE, Integer.MAX_VALUE)),
            values.take("channelPattern", null, SourceOptions::pattern),
            values.take("startingPosition", Positions.EARLIEST, Positions::parse),
            values.take("endingPosition", Positions.LATEST, Positions::parse),
            values.take("maxBytesPerTrigger", null, OptionValues::size),
            values.take("minBytesPerTrigger", null, OptionValues::size),
            values.take("maxTriggerDelay", 900_000_000_000L, OptionValues::durationNs),
            values.take("minPartitions", 0, text -> (int) OptionValues.integer(text, 1, 100_000)),
            // Spark's default for its own file formats. Source: spark.sql.files.maxPartitionBytes.
            values.take("partitionLength", 128L * 1024 * 1024, OptionValues::size),
            values.take("failOnDataLoss", true, OptionValues::bool),
            values.take("verify", true, OptionValues::bool),
            values.take("assemble", true, SourceOptions::isMessages),
            values.take("includeHeaders", false, OptionValues::bool),
            values.take("consumerName", null, SourceOptions::consumer),
            values.take("kafkaSchema", false, OptionValues::bool),
            values.take("batchRows", 32_768, text -> (int) OptionValues.integer(text, 1, 1_048_576)),
            values.take("pollTimeout", 1_000_000_000L, OptionValues::durationNs));
        if (parsed.channel != null && parsed.channelPattern != null) {
            values.fault("options channel=" + parsed.channel + " and channelPattern=" + parsed.channelPattern
                + ": only one of them can be given; remove channelPattern to read this channel only, or channel to "
                + "read all channels that match the pattern");
        }
        if (values.text("archive", "").isEmpty()) {
            values.fault("option archive: must be given, the folder that `aeron-core record --to` wrote to");
        }
        values.finish();
        return parsed;
    }

    private static void refuseLive(OptionValues values) {
        boolean isLive = values.take("live", false, OptionValues::bool);
        for (String name : List.of("aeronDir", "spoolLength")) {
            isLive |= values.text(name, null) != null;
        }
        if (values.text("checksum", null) != null) {
            values.fault("option checksum: the JVM reader reads no Aeron Archives: " + OTHER);
        }
        if (isLive) {
            values.fault("option live: the JVM reader records no live stream: " + OTHER);
        }
    }

    private static String location(String text) {
        if (text.equals("aeron:archive") || text.startsWith("aeron:archive?")) {
            throw new IllegalArgumentException("the JVM reader cannot reach a running Aeron Archive: " + OTHER);
        }
        try {
            if (text.startsWith("file://")) {
                return Path.of(URI.create(text.replace(" ", "%20")).getPath()).toAbsolutePath().toString();
            }
            // Spark's catalogue writes the location of a table so, without encoding it.
            if (text.startsWith("file:/")) {
                return Path.of(text.substring("file:".length())).toAbsolutePath().toString();
            }
            if (text.contains("://")) {
                throw new IllegalArgumentException("the JVM reader reads local folders only: " + OTHER);
            }
            boolean isHome = text.equals("~") || text.startsWith("~/");
            // Resolved in the process that plans the query: executors may have other working directories.
            return Path.of(isHome ? System.getProperty("user.home") + text.substring(1) : text)
                .toAbsolutePath()
                .toString();
        } catch (InvalidPathException error) {
            throw new IllegalArgumentException("must name a folder: " + error.getReason());
        }
    }

    private static List<Long> ids(String text) {
        if (!IDS.matcher(text).matches()) {
            throw new IllegalArgumentException("must be recording ids with commas between them, such as 1,2");
        }
        TreeSet<Long> found = new TreeSet<>();
        Arrays.stream(text.split(",")).forEach(part -> found.add(Long.valueOf(part.strip())));
        return List.copyOf(found);
    }

    private static Pattern pattern(String text) {
        try {
            return Pattern.compile(text);
        } catch (PatternSyntaxException error) {
            throw new IllegalArgumentException("must be a regular expression: " + error.getDescription());
        }
    }

    private static boolean isMessages(String text) {
        if (!text.equals("messages") && !text.equals("fragments")) {
            throw new IllegalArgumentException("must be 'messages' or 'fragments'");
        }
        return text.equals("messages");
    }

    private static String consumer(String text) {
        if (!CONSUMER.matcher(text).matches()) {
            throw new IllegalArgumentException("must match ^" + CONSUMER + "$");
        }
        return text;
    }
}

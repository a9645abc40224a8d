package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Options as text, by name in any case, and the faults that were found while they are converted.
 *
 * <p>Each value is taken once by `take`; `finish` raises all faults as one line.
 */
final class OptionValues {
    // Options that Spark adds itself.
    private static final Set<String> OF_SPARK = Set.of("checkpointlocation", "queryname");
    // Properties that Spark adds to the options of a table. Source: TableCatalog.java, reserved properties.
    private static final Set<String> TABLE_PROPERTIES =
        Set.of("collation", "comment", "external", "is_managed_location", "owner", "provider");
    private static final String TABLE_OPTION = "option.";
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,18})([kKmMgG]?)");
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,18})(ns|us|ms|s|min|h|d|)");
    private static final Map<String, Long> UNITS_NS = Map.of(
        "", 1L, "ns", 1L, "us", 1_000L, "ms", 1_000_000L, "s", 1_000_000_000L, "min", 60_000_000_000L,
        "h", 3_600_000_000_000L, "d", 86_400_000_000_000L);

    private final Map<String, String> values = new TreeMap<>();
    private final List<String> faults = new ArrayList<>();

    /** `names`: of all options; others are a fault. Without `archive`, `path` or the `location` of a table is meant. */
    OptionValues(Map<String, String> options, List<String> names) {
        boolean isTable = options.keySet().stream().anyMatch("provider"::equalsIgnoreCase);
        for (Map.Entry<String, String> option : options.entrySet()) {
            String name = option.getKey().toLowerCase(Locale.ROOT);
            if (option.getValue() == null || OF_SPARK.contains(name)
                    || isTable && (TABLE_PROPERTIES.contains(name) || name.startsWith(TABLE_OPTION))) {
                continue;
            }
            boolean isPlace = name.equals("path") || isTable && name.equals("location");
            if (!isPlace && names.stream().noneMatch(name::equalsIgnoreCase)) {
                faults.add("unknown option " + option.getKey() + ": " + hint(name, names));
            } else {
                values.put(name, option.getValue());
            }
        }
        for (String place : List.of("path", "location")) {
            if (values.containsKey(place)) {
                values.putIfAbsent("archive", values.get(place));
            }
        }
    }

    private static String hint(String name, List<String> names) {
        for (String known : names) {
            // As many letters may differ as in a typical slip.
            if (distance(name, known.toLowerCase(Locale.ROOT)) <= 3) {
                return "did you mean " + known;
            }
        }
        return "must be one of " + String.join(", ", names);
    }

    /** Return the number of letters to insert, delete or replace to turn one text into the other. */
    private static int distance(String one, String other) {
        int[] before = new int[other.length() + 1];
        for (int at = 0; at <= other.length(); at++) {
            before[at] = at;
        }
        for (int row = 1; row <= one.length(); row++) {
            int[] current = new int[other.length() + 1];
            current[0] = row;
            for (int at = 1; at <= other.length(); at++) {
                int replaced = before[at - 1] + (one.charAt(row - 1) == other.charAt(at - 1) ? 0 : 1);
                current[at] = Math.min(replaced, Math.min(before[at], current[at - 1]) + 1);
            }
            before = current;
        }
        return before[other.length()];
    }

    /** Return the text of an option, `missing` if it was not given. */
    String text(String name, String missing) {
        return values.getOrDefault(name.toLowerCase(Locale.ROOT), missing);
    }

    /** Return the converted value of an option, `missing` if it was not given or is a fault. */
    <T> T take(String name, T missing, Function<String, T> convert) {
        String text = text(name, null);
        if (text == null) {
            return missing;
        }
        try {
            return convert.apply(text);
        } catch (IllegalArgumentException error) {
            faults.add("option " + name + "=" + shown(text) + ": " + error.getMessage());
            return missing;
        }
    }

    void fault(String text) {
        faults.add(text);
    }

    /** Raise ConfigurationException if there are faults. */
    void finish() {
        if (!faults.isEmpty()) {
            throw new ConfigurationException(String.join("; ", faults));
        }
    }

    private static String shown(String text) {
        return text.length() <= 200 ? text : text.substring(0, 200) + "...";
    }

    /** Parse a number of bytes such as 64k, at least 1. */
    static long size(String text) {
        Matcher match = SIZE.matcher(text);
        if (match.matches()) {
            long unit = switch (match.group(2).toLowerCase(Locale.ROOT)) {
                case "k" -> 1L << 10;
                case "m" -> 1L << 20;
                case "g" -> 1L << 30;
                default -> 1L;
            };
            long number = Long.parseLong(match.group(1));
            if (number > 0 && number <= Long.MAX_VALUE / unit) {
                return number * unit;
            }
        }
        throw new IllegalArgumentException("must be a number of bytes greater than 0, such as 64k, 16m or 1g");
    }

    /** Parse a duration such as 500ms to nanoseconds; a number without a unit is one of nanoseconds. */
    static long durationNs(String text) {
        Matcher match = DURATION.matcher(text.toLowerCase(Locale.ROOT));
        if (!match.matches()) {
            throw new IllegalArgumentException("must be a number with ns, us, ms, s, min, h or d, such as 500ms");
        }
        long unit = UNITS_NS.get(match.group(2));
        long number = Long.parseLong(match.group(1));
        return number > Long.MAX_VALUE / unit ? Long.MAX_VALUE : number * unit;
    }

    static boolean bool(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "true", "1", "yes", "on", "t", "y" -> true;
            case "false", "0", "no", "off", "f", "n" -> false;
            default -> throw new IllegalArgumentException("must be true or false");
        };
    }

    static long integer(String text, long least, long most) {
        try {
            long value = Long.parseLong(text.strip());
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException error) {
            // Reported below.
        }
        throw new IllegalArgumentException("must be an integer from " + least + " to " + most);
    }
}

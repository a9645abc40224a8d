package aeron_core.spark;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The messages of an archive as a table; it is opened when a query is planned. */
final class RecordingTable implements SupportsRead, SupportsWrite {
    private final StructType schema;
    private final Map<String, String> properties;

    /** `properties`: options of a reader, or properties of a table of a catalogue. */
    RecordingTable(StructType schema, Map<String, String> properties) {
        this.schema = schema;
        Map<String, String> given = new HashMap<>(properties);
        given.values().removeIf(Objects::isNull); // such as those that PySpark passes for None
        this.properties = Map.copyOf(given);
    }

    @Override
    public String name() {
        return SourceOptions.FORMAT;
    }

    @Override
    @SuppressWarnings("deprecation") // `columns`, its successor, has another type in each release
    public StructType schema() {
        return schema;
    }

    @Override
    public Map<String, String> properties() {
        return properties;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return EnumSet.of(
            TableCapability.BATCH_READ,
            TableCapability.MICRO_BATCH_READ,
            TableCapability.BATCH_WRITE,
            TableCapability.STREAMING_WRITE,
            TableCapability.TRUNCATE);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        SourceOptions parsed = SourceOptions.parse(with(options));
        Columns.check(schema, parsed);
        return new RecordingScan.Builder(parsed, schema);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new RowSink(with(info.options()), info);
    }

    /** Return all options: those of the query, such as those in SQL after WITH, replace those of the table. */
    private Map<String, String> with(CaseInsensitiveStringMap options) {
        Map<String, String> all = new HashMap<>();
        properties.forEach((name, value) -> all.put(name.toLowerCase(Locale.ROOT), value));
        options.forEach((name, value) -> all.put(name.toLowerCase(Locale.ROOT), value));
        all.values().removeIf(Objects::isNull); // as of options in Python that are None
        return all;
    }
}

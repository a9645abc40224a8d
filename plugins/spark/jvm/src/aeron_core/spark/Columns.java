package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Columns of the format: the same names, types and order as those of format("aeron"), all nullable. */
final class Columns {
    private static final String OWN =
        "recording_id bigint, position bigint, session_id int, stream_id int, term_id int, flags int, reserved bigint, "
            + "ts timestamp_ltz, ts_ns bigint, payload binary";
    // Columns of Spark's Kafka connector. Source: KafkaRecordToRowConverter.
    private static final String KAFKA =
        "key binary, value binary, topic string, partition int, `offset` bigint, `timestamp` timestamp_ltz, timestampType int";
    private static final String HEADERS = ", headers map<string,binary>";
    private static final String KAFKA_HEADERS = ", headers array<struct<key:string,value:binary>>";

    private Columns() {}

    /** Return the columns that the options select. */
    static StructType of(SourceOptions options) {
        String headers = options.isKafka() ? KAFKA_HEADERS : HEADERS;
        return StructType.fromDDL((options.isKafka() ? KAFKA : OWN) + (options.includeHeaders() ? headers : ""));
    }

    /** Raise ConfigurationException for columns of a user's schema that are unknown or of another type. */
    static void check(StructType schema, SourceOptions options) {
        StructType known = of(options);
        for (StructField field : schema.fields()) {
            StructField column = Arrays.stream(known.fields())
                .filter(each -> each.name().equals(field.name()))
                .findFirst()
                .orElseThrow(() -> new ConfigurationException(
                    "column " + field.name() + ": must be one of "
                        + Arrays.stream(known.fieldNames()).collect(Collectors.joining(", "))));
            if (!column.dataType().simpleString().equals(field.dataType().simpleString())) {
                throw new ConfigurationException(
                    "column " + field.name() + " " + field.dataType().simpleString() + ": must be of type "
                        + column.dataType().simpleString());
            }
        }
    }
}

package aeron_core.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Data source of the format `aeron-jvm`: recordings in local folders, read and written without a Python worker.
 *
 * <p>Not here: archives elsewhere and live streams, which the format `aeron` reads.
 */
public final class RecordingSource implements TableProvider, DataSourceRegister {
    @Override
    public String shortName() {
        return SourceOptions.FORMAT;
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return Columns.of(SourceOptions.parse(options.asCaseSensitiveMap()));
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new RecordingTable(schema, properties);
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }
}

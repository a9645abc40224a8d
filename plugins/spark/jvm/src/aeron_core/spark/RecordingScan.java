package aeron_core.spark;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** Scan of the selected columns: recordings from `startingPosition` to `endingPosition`, by default their end now. */
final class RecordingScan implements Scan, Batch {
    private final SourceOptions options;
    private final StructType columns;

    RecordingScan(SourceOptions options, StructType columns) {
        this.options = options;
        this.columns = columns;
    }

    @Override
    public StructType readSchema() {
        return columns;
    }

    @Override
    public String description() {
        return SourceOptions.FORMAT + " " + options.archive();
    }

    /** Known without planning, which reads the archive. */
    @Override
    public ColumnarSupportMode columnarSupportMode() {
        return ColumnarSupportMode.SUPPORTED;
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
        return new RecordingStream(options, columns);
    }

    @Override
    public InputPartition[] planInputPartitions() {
        Selection selection = new Selection(options);
        return Planning.split(
            selection,
            selection.ranges(
                selection.offset(options.startingPosition()), selection.offset(options.endingPosition())),
            options.partitionLength(),
            options.minPartitions());
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new PieceReader.Factory(options, columns);
    }

    /** Builder of a scan, from which Spark removes the columns that a query does not need. */
    static final class Builder implements ScanBuilder, SupportsPushDownRequiredColumns {
        private final SourceOptions options;
        private StructType columns;

        Builder(SourceOptions options, StructType columns) {
            this.options = options;
            this.columns = columns;
        }

        @Override
        public void pruneColumns(StructType required) {
            columns = required;
        }

        @Override
        public Scan build() {
            return new RecordingScan(options, columns);
        }
    }
}

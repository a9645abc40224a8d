package aeron_core.spark;

import aeron_core.recording.RangeReader;
import aeron_core.recording.Recording;
import java.nio.file.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reader of one piece, in an executor. A batch is valid until the next one, as Spark allows. */
final class PieceReader implements PartitionReader<ColumnarBatch> {
    private final RangeReader reader;
    private final BatchBuilder builder;
    private ColumnarBatch batch;

    private PieceReader(SourceOptions options, StructType columns, Piece piece) {
        Recording recording = new Recording(Path.of(options.archive()), piece.recordingId());
        reader = new RangeReader(
            recording, piece.begin(), piece.end(), options.isVerifying(), options.isAssembling(), options.batchRows());
        builder = new BatchBuilder(recording, columns, reader.messages().capacity());
    }

    @Override
    public boolean next() {
        if (!reader.next()) {
            return false;
        }
        batch = builder.build(reader.messages());
        return true;
    }

    @Override
    public ColumnarBatch get() {
        return batch;
    }

    @Override
    public void close() {
        reader.close();
    }

    /** Factory that Spark sends to the executors. */
    record Factory(SourceOptions options, StructType columns) implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            throw new UnsupportedOperationException("rows are read as columns");
        }

        @Override
        public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
            return new PieceReader(options, columns, (Piece) partition);
        }

        @Override
        public boolean supportColumnarReads(InputPartition partition) {
            return true;
        }
    }
}

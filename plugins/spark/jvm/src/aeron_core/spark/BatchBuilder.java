package aeron_core.spark;

import aeron_core.recording.Descriptor;
import aeron_core.recording.Messages;
import aeron_core.recording.Recording;
import aeron_core.recording.RecordingTimes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Builder of Spark's batches with the selected columns of one recording; each batch reuses the vectors of the last. */
final class BatchBuilder {
    private final Recording recording;
    private final Descriptor descriptor;
    private final int capacity;
    private final ColumnarBatch batch;
    // Each sets the values of one column; constants need none.
    private final List<Consumer<Messages>> fillers = new ArrayList<>();
    private final RecordingTimes times;
    private final long[] timesNs;
    private boolean needsTimes;

    /** `capacity`: most messages of a batch. */
    BatchBuilder(Recording recording, StructType columns, int capacity) {
        this.recording = recording;
        this.descriptor = recording.descriptor();
        this.capacity = capacity;
        this.times = new RecordingTimes(recording);
        this.timesNs = new long[capacity];
        this.batch = new ColumnarBatch(
            Arrays.stream(columns.fields()).map(this::vector).toArray(ColumnVector[]::new));
    }

    /** Return the messages as a batch, valid until they are replaced. */
    ColumnarBatch build(Messages messages) {
        for (int row = 0; needsTimes && row < messages.count(); row++) {
            timesNs[row] = times.timeNs(messages.position(row));
        }
        fillers.forEach(filler -> filler.accept(messages));
        batch.setNumRows(messages.count());
        return batch;
    }

    private ColumnVector vector(StructField field) {
        return switch (field.name()) {
            case "recording_id" -> constant(field, recording.id());
            case "partition" -> constant(field, Math.toIntExact(recording.id()));
            case "session_id" -> constant(field, descriptor.sessionId());
            case "stream_id" -> constant(field, descriptor.streamId());
            case "timestampType" -> constant(field, 1);
            case "position", "offset" -> numbers(field, this::fillPositions);
            case "term_id" -> numbers(field, this::fillTermIds);
            case "flags" -> numbers(field, this::fillFlags);
            case "reserved" -> numbers(field, this::fillReservedValues);
            case "ts", "timestamp" -> times(field, this::fillTimestamps);
            case "ts_ns" -> times(field, this::fillTimes);
            case "payload", "value" -> payloads();
            case "key" -> new NullVector(capacity);
            case "topic" -> new TextVector(
                DataTypes.StringType, descriptor.channel() + ":" + descriptor.streamId());
            case "headers" -> new HeadersVector(field.dataType(), descriptor);
            default -> throw new IllegalArgumentException(field.name()); // `Columns.check` has refused it
        };
    }

    private ColumnVector constant(StructField field, long value) {
        NumberVector vector = new NumberVector(field.dataType(), capacity);
        Arrays.fill(vector.values, value);
        return vector;
    }

    private ColumnVector numbers(StructField field, Filler filler) {
        NumberVector vector = new NumberVector(field.dataType(), capacity);
        fillers.add(messages -> filler.fill(messages, vector.values));
        return vector;
    }

    private ColumnVector times(StructField field, Filler filler) {
        needsTimes = true;
        return numbers(field, filler);
    }

    private ColumnVector payloads() {
        PayloadVector vector = new PayloadVector();
        fillers.add(vector::set);
        return vector;
    }

    private void fillPositions(Messages messages, long[] values) {
        for (int row = 0; row < messages.count(); row++) {
            values[row] = messages.position(row);
        }
    }

    private void fillTermIds(Messages messages, long[] values) {
        int shift = descriptor.positionBitsToShift();
        for (int row = 0; row < messages.count(); row++) {
            // The term of the frame that ends at the position: a message never crosses a term.
            values[row] = (int) ((messages.position(row) - 1) >> shift) + descriptor.initialTermId();
        }
    }

    private void fillFlags(Messages messages, long[] values) {
        for (int row = 0; row < messages.count(); row++) {
            values[row] = messages.flags(row);
        }
    }

    private void fillReservedValues(Messages messages, long[] values) {
        for (int row = 0; row < messages.count(); row++) {
            values[row] = messages.reservedValue(row);
        }
    }

    private void fillTimestamps(Messages messages, long[] values) {
        for (int row = 0; row < messages.count(); row++) {
            values[row] = Math.floorDiv(timesNs[row], 1000L);
        }
    }

    private void fillTimes(Messages messages, long[] values) {
        System.arraycopy(timesNs, 0, values, 0, messages.count());
    }

    /** Sets the values of a column. */
    private interface Filler {
        void fill(Messages messages, long[] values);
    }
}

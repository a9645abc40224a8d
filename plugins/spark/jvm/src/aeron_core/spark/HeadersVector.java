package aeron_core.spark;

import aeron_core.recording.Descriptor;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;

/** Column with channel and source of the recording, the same in all rows: a map, or an array of pairs. */
final class HeadersVector extends Vector {
    private static final String[] NAMES = {"channel", "source", "stream_id", "session_id"};

    private final Vector names = new TextVector(DataTypes.StringType, NAMES);
    private final Vector values;
    private final Vector pairs;

    HeadersVector(DataType type, Descriptor descriptor) {
        super(type);
        values = new TextVector(
            DataTypes.BinaryType,
            descriptor.channel(),
            descriptor.sourceIdentity(),
            Integer.toString(descriptor.streamId()),
            Integer.toString(descriptor.sessionId()));
        pairs = type instanceof MapType ? null : new Pairs(((ArrayType) type).elementType());
    }

    @Override
    public ColumnarMap getMap(int row) {
        return new ColumnarMap(names, values, 0, NAMES.length);
    }

    @Override
    public ColumnarArray getArray(int row) {
        return new ColumnarArray(pairs, 0, NAMES.length);
    }

    /** The structs of name and value. */
    private final class Pairs extends Vector {
        Pairs(DataType type) {
            super(type);
        }

        /** By name: Spark removes the field that a query does not need. */
        @Override
        public ColumnVector getChild(int ordinal) {
            return ((StructType) type).fieldNames()[ordinal].equals("key") ? names : values;
        }
    }
}

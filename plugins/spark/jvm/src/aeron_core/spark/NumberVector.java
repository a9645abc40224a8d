package aeron_core.spark;

import org.apache.spark.sql.types.DataType;

/** Column of integers or times, also of 32 bits: one class for all is what Java's compiler inlines. */
final class NumberVector extends Vector {
    final long[] values;

    NumberVector(DataType type, int capacity) {
        super(type);
        values = new long[capacity];
    }

    @Override
    public int getInt(int row) {
        return (int) values[row];
    }

    @Override
    public long getLong(int row) {
        return values[row];
    }
}

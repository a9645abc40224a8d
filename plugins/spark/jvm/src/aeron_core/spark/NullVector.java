package aeron_core.spark;

import org.apache.spark.sql.types.DataTypes;

/** Binary column of nulls. */
final class NullVector extends Vector {
    private final int count;

    NullVector(int count) {
        super(DataTypes.BinaryType);
        this.count = count;
    }

    @Override
    public boolean hasNull() {
        return true;
    }

    @Override
    public int numNulls() {
        return count;
    }

    @Override
    public boolean isNullAt(int row) {
        return true;
    }

    @Override
    public byte[] getBinary(int row) {
        return null;
    }
}

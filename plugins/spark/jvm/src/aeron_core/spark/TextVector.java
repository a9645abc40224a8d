package aeron_core.spark;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Column of a few texts, or of their UTF-8 bytes; one text stands in all rows. */
final class TextVector extends Vector {
    private final byte[][] texts;

    TextVector(DataType type, String... texts) {
        super(type);
        this.texts = new byte[texts.length][];
        for (int row = 0; row < texts.length; row++) {
            this.texts[row] = texts[row].getBytes(StandardCharsets.UTF_8);
        }
    }

    @Override
    public UTF8String getUTF8String(int row) {
        return UTF8String.fromBytes(getBinary(row));
    }

    @Override
    public byte[] getBinary(int row) {
        return texts[texts.length == 1 ? 0 : row];
    }
}

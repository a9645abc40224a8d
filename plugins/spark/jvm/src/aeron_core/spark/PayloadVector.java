package aeron_core.spark;

import aeron_core.recording.Messages;
import org.apache.spark.sql.types.DataTypes;

/** Column of payloads, each copied when Spark asks for it. */
final class PayloadVector extends Vector {
    private Messages messages;

    PayloadVector() {
        super(DataTypes.BinaryType);
    }

    void set(Messages messages) {
        this.messages = messages;
    }

    @Override
    public byte[] getBinary(int row) {
        return messages.payload(row);
    }
}

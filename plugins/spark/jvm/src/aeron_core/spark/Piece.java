package aeron_core.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/** A piece of one recording, the bytes from position `begin` up to `end`: what one task reads. */
record Piece(long recordingId, long begin, long end) implements InputPartition {
    long length() {
        return end - begin;
    }
}

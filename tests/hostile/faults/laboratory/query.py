"""A streaming query of Spark that copies a recorder's archive to a table of Parquet files until SIGTERM.

    query.py ARCHIVE TABLE CHECKPOINT CONTENT

At SIGTERM it copies what is left, and writes recording, position and checksum of each row to CONTENT. A run that is
killed leaves its table and checkpoint to the next one.
"""

from __future__ import annotations

import signal
import sys
import time
import zlib
from pathlib import Path

PAUSE_S = 0.1


def main(archive: str, table: str, checkpoint: str, content: str) -> None:
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))

    from pyspark.errors import StreamingQueryException  # noqa: PLC0415 - takes a second, in which the signal may come
    from pyspark.sql import DataFrame  # noqa: PLC0415
    from pyspark.sql.streaming import StreamingQuery  # noqa: PLC0415
    from pyspark_aeron.session import session  # noqa: PLC0415

    spark = session("local[1]", settings={"spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "1"})
    while not (Path(archive) / "archive.json").exists():
        time.sleep(PAUSE_S)  # its recorder starts

    def rows() -> DataFrame:
        messages = spark.readStream.format("aeron").load(archive)
        return messages.select("recording_id", "position", "payload")

    def start() -> StreamingQuery:
        writer = rows().writeStream.format("parquet").option("checkpointLocation", checkpoint)
        return writer.start(table)

    query = start()
    while not ended:
        try:
            query.awaitTermination(PAUSE_S)  # raises the error that ended it
        except StreamingQueryException as error:
            # Spark waits ten seconds for a process of Python to start, which a busy machine can exceed.
            if "failed to connect back" not in str(error):
                raise
            query = start()
    query.processAllAvailable()
    query.stop()
    found = spark.read.parquet(table).select("recording_id", "position", "payload").toLocalIterator()
    lines = [f"{row.recording_id} {row.position} {zlib.crc32(row.payload)}\n" for row in found]
    Path(content).write_text("".join(lines), encoding="ascii")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

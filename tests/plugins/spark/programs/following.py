"""Copies an archive as it grows, into Parquet and into an archive: `following.py MASTER ARCHIVE OUT BYTES`.

BYTES is the maximum of a batch. Stops after the existing data once the file OUT/stop exists.
"""

import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark_aeron.session import session

master, archive, out, most = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
# Warnings would report the lost tasks.
settings = {"spark.log.level": "WARN", "spark.deploy.maxExecutorRetries": "-1"}
spark = session(master, settings=settings)
stream = spark.readStream.format("aeron").option("maxBytesPerTrigger", most).option("minPartitions", "2")


def start(sink):
    """Start the query into OUT/sink."""
    writer = stream.load(archive).select("payload").writeStream.format(sink)
    return writer.option("checkpointLocation", str(out / "checkpoints" / sink)).start(str(out / sink))


queries = {sink: start(sink) for sink in ("parquet", "aeron")}
while not (out / "stop").exists():
    for sink, query in queries.items():
        try:
            query.awaitTermination(0.05)  # raises the error that ended it
        except StreamingQueryException as error:
            # Spark waits ten seconds for a process to start, which can be too short on a busy machine: restart the
            # query, as a user would.
            if "failed to connect back" not in str(error):
                raise
            queries[sink] = start(sink)
for query in queries.values():
    query.processAllAvailable()
    query.stop()
spark.stop()

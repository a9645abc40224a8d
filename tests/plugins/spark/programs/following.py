"""Copies an archive as it grows, into Parquet and into an archive: `following.py MASTER ARCHIVE OUT BYTES`.

BYTES are those of a batch. Ends behind what is there once there is a file OUT/stop.
"""

import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark_aeron.session import session

master, archive, out, most = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
# Warnings tell of tasks that were lost.
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
            query.awaitTermination(0.05)  # raises what has ended it
        except StreamingQueryException as error:
            # Spark waits ten seconds for a process to begin, which a busy machine may need: it is begun again, as
            # anybody would.
            if "failed to connect back" not in str(error):
                raise
            queries[sink] = start(sink)
for query in queries.values():
    query.processAllAvailable()
    query.stop()
spark.stop()

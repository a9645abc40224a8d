"""Copies an archive as it grows, into Parquet and an archive: `following.py [--jvm] MASTER ARCHIVE OUT BYTES [OTHER]`.

BYTES is the maximum of a batch; --jvm selects the reader and the sink for Java. Stops after the existing data once the
file OUT/stop exists. Before, it reads the archive OTHER and writes the number of rows, and the processes that have read
them, into OUT/readers.json.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark_aeron.session import session


def processes(rows):
    """Return the ids of this process and of the one that started it, and the number of rows."""
    count = sum(1 for _ in rows)
    parent = os.getppid()  # the daemon, started by the executor
    with open(f"/proc/{parent}/stat", encoding="ascii") as file:
        executor = int(file.read().rpartition(") ")[2].split()[1])
    with open(f"/proc/{executor}/cmdline", encoding="utf-8", errors="replace") as file:
        command = file.read().replace("\0", " ")
    yield count, executor, "CoarseGrainedExecutorBackend" in command


master, archive, out, most, *others = (text for text in sys.argv[1:] if text != "--jvm")
is_jvm = "--jvm" in sys.argv
out = Path(out)
settings = {
    "spark.log.level": "WARN",  # reports the lost tasks
    "spark.deploy.maxExecutorRetries": "-1",
}
spark = session(master, settings=settings, jvm_reader=is_jvm)
for other in others:
    rows = spark.read.format("aeron").option("minPartitions", "8").load(other)
    seen = rows.rdd.mapPartitions(processes).collect()
    draft = out / "readers.draft"
    draft.write_text(json.dumps({"rows": rows.count(), "partitions": seen}))
    draft.rename(out / "readers.json")
format_ = "aeron-jvm" if is_jvm else "aeron"
reader = spark.readStream.format(format_)
stream = reader.option("maxBytesPerTrigger", most).option("minPartitions", "2")


def start(sink):
    """Start the query into OUT/sink."""
    writer = stream.load(archive).select("payload").writeStream.format(format_ if sink == "aeron" else sink)
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

"""Prints the rows of an archive, and the processes that read them: `where.py MASTER ARCHIVE`."""

import json
import os
import sys

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


master, archive = sys.argv[1:]
spark = session(master, settings={"spark.log.level": "ERROR"})
rows = spark.read.format("aeron").option("minPartitions", "8").load(archive)
seen = rows.rdd.mapPartitions(processes).collect()
print(json.dumps({"rows": rows.count(), "partitions": seen}))
spark.stop()

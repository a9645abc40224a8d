"""Takes a few rows of each task of an archive, several times: `limiting.py ARCHIVE`."""

import sys

from pyspark_aeron.session import session

spark = session("local[2]", settings={"spark.log.level": "ERROR"})
rows = spark.read.format("aeron").option("batchRows", "100").option("minPartitions", "4").load(sys.argv[1])
for _ in range(4):
    assert len(rows.limit(3).collect()) == 3
rows.select("position").show(1)
spark.stop()

"""Uses all features through a Spark Connect server: `connecting.py URL ARCHIVE OUT`; prints the results."""

import json
import sys
import threading

import pyspark_aeron
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark_aeron.decoders import decode
from pyspark_aeron.lag_listener import LagListener

TIMEOUT_S = 120


def stream(spark, format_, columns, out, **options):
    """Run a query over the existing data into `out`."""
    rows = spark.readStream.format("aeron").options(**options).load(archive)
    started = (
        decode(rows, "utf8")
        .selectExpr(*columns)
        .writeStream.format(format_)
        .queryName(out.rpartition("/")[2])
        .option("checkpointLocation", f"{out}-checkpoint")
        .trigger(availableNow=True)
        .start(out)
    )
    assert started.awaitTermination(TIMEOUT_S)
    assert started.exception() is None


url, archive, out = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
seen = {"session": type(spark).__module__}
seen["found"] = spark.read.format("aeron").load(archive).count()
pyspark_aeron.register(spark)
seen["registered"] = spark.read.format("aeron").load(archive).count()

reports, is_reported = [], threading.Event()


def on_lag(lag):
    """Record the calls of a listener."""
    reports.append([lag.query, lag.bytes, lag.streams[0].channel])
    if lag.query == "table" and not lag.bytes:
        is_reported.set()


listener = LagListener([archive], on_lag)
spark.streams.addListener(listener)
stream(spark, "parquet", ["position", "text"], f"{out}/table", maxBytesPerTrigger="64k")
assert is_reported.wait(TIMEOUT_S)
spark.streams.removeListener(listener)
seen["reports"] = reports
seen["table"] = (
    spark.read.parquet(f"{out}/table").selectExpr("count(*)", "count(distinct position)").first()[:]
)
stream(spark, "aeron", ["text AS payload"], f"{out}/copy")
seen["copy"] = spark.read.format("aeron").load(f"{out}/copy").count()
try:
    spark.read.format("aeron").load(f"{out}/nowhere").count()
except PySparkException as error:
    seen["error"] = str(error)
print(json.dumps(seen))
spark.stop()

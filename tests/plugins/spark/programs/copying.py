"""Copies an archive with a streaming query of many small batches: `copying.py ARCHIVE OUT CHECKPOINT FORMAT`."""

import sys

from pyspark_aeron.session import session

archive, out, checkpoint, sink = sys.argv[1:]
spark = session("local[2]", settings={"spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "1"})
stream = spark.readStream.format("aeron").option("maxBytesPerTrigger", "64k").load(archive)
columns = ["payload"] if sink == "aeron" else ["recording_id", "position", "payload"]
query = (
    stream.select(*columns)
    .writeStream.format(sink)
    .option("checkpointLocation", checkpoint)
    .trigger(availableNow=True)
    .start(out)
)
query.awaitTermination()
spark.stop()

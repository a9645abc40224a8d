"""Uses what most tests use of Spark, so that its classes are loaded: `loading.py FOLDER`."""

import sys
import tempfile
from pathlib import Path

from pyspark_aeron.session import session

from aeron_core.testing.recordings import RecordingUnderTest

with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
    recording = RecordingUnderTest.begin(Path(folder) / "archive")
    recording.append(b"a", b"b")
    settings = {"spark.sql.shuffle.partitions": "1", "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    # Executors of clusters load the same classes, but for a few hundred.
    spark = session("local[2]", settings=settings)
    for sink in ("parquet", "aeron"):
        out = f"{folder}/{sink}"
        rows = spark.readStream.format("aeron").load(str(recording.store.folder)).select("payload")
        writer = rows.writeStream.format(sink).option("checkpointLocation", f"{out}-checkpoint")
        query = writer.trigger(availableNow=True).start(out)
        query.awaitTermination()
        copied = spark.read.format(sink).load(out).select("payload")
        assert copied.distinct().count() == 2
    spark.stop()

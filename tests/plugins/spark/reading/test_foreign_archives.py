"""Recordings that the real Aeron Archive has made, in Spark."""

import pytest
from archive_scenario import FEW, KEPT, MANY, SEGMENT_LENGTH
from messages import message
from packed_archive import unpack
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading.selection import Selection

from aeron_core.errors import CorruptRecordingError


@pytest.fixture
def folder(tmp_path):
    """Return the folder of an Archive that was killed."""
    return unpack(tmp_path / "archive")


def test_the_recordings_of_an_aeron_archive_are_a_table(spark, folder):
    frame = spark.read.format("aeron").option("partitionLength", "64k").load(str(folder))

    counts = {
        row.recording_id: row.n
        for row in frame.groupBy("recording_id")
        .agg({"*": "count"})
        .withColumnRenamed("count(1)", "n")
        .collect()
    }
    assert counts.pop(1) < MANY
    assert counts == {0: MANY, 2: 2 * FEW, 3: KEPT, 5: FEW}
    rows = frame.where("recording_id = 0").select("payload", "position").orderBy("position").collect()
    assert [bytes(row.payload) for row in rows] == [message(index) for index in range(MANY)]
    assert frame.where("recording_id = 1").selectExpr("min(position)").first()[0] > SEGMENT_LENGTH


def test_a_streaming_query_reads_each_message_once(spark, folder, tmp_path):
    stream = (
        spark.readStream.format("aeron")
        .option("archive", str(folder))
        .option("maxBytesPerTrigger", "400k")
        .load()
    )
    query = (
        stream.select("recording_id", "position")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "table"))
    )
    assert query.awaitTermination(120)

    table = spark.read.parquet(str(tmp_path / "table"))
    expected = spark.read.format("aeron").load(str(folder)).select("recording_id", "position")
    assert table.count() == table.distinct().count() == expected.count()
    assert table.exceptAll(expected).isEmpty()


def test_a_damaged_catalogue_fails_a_query_unless_losses_are_allowed(folder):
    with (folder / "archive.catalog").open("r+b") as file:
        file.seek(32)
        file.write(b"\x04")
    with pytest.raises(CorruptRecordingError, match=r"offset 32: an entry of .* failOnDataLoss=false"):
        Selection(SourceOptions(archive=str(folder)))

    assert Selection(SourceOptions(archive=str(folder), fail_on_data_loss=False)).recordings() == []

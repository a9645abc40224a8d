"""Spark writes rows into recordings, with both sinks; options of the sink."""

import pytest
from pyspark_aeron.writing.sink_options import SinkOptions

from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive

TIMEOUT_S = 60


@pytest.fixture
def copy(spark, written, out, tmp_path, format_):
    """Return a function that copies the existing data into a recording, by a streaming query with a checkpoint."""

    def run(**options):
        stream = (
            spark.readStream.format("aeron")
            .option("maxBytesPerTrigger", "64k")
            .load(str(written.store.folder))
        )
        writer = (
            stream.select("payload", "reserved")
            .writeStream.format(format_)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
        )
        for name, value in ({"archive": str(out)} | options).items():
            writer = writer.option(name, value)
        query = writer.start()
        assert query.awaitTermination(TIMEOUT_S)
        return query

    return run


def test_rows_become_a_recording(spark, out, payloads, format_):
    rows = [(f"message {index}".encode(), index) for index in range(100)]
    frame = spark.createDataFrame(rows, "payload binary, reserved long").coalesce(1)

    frame.write.format(format_).mode("append").option("channel", "aeron:ipc").option("streamId", 7).save(
        str(out)
    )

    descriptor = Archive.open(out).recording(0).descriptor
    assert payloads(out) == [payload for payload, _ in rows]
    assert not list((out / "staging").iterdir())
    assert (descriptor.channel, descriptor.stream_id, descriptor.stop_position is not None) == (
        "aeron:ipc",
        7,
        True,
    )
    assert [
        row.reserved for row in spark.read.format("aeron").load(str(out)).orderBy("position").collect()
    ] == list(range(100))


def test_the_message_column_can_be_named_value_as_in_kafka(spark, out, payloads, format_):
    spark.range(3).selectExpr("CAST(id AS STRING) AS value").coalesce(1).write.format(format_).mode(
        "append"
    ).save(str(out))

    assert payloads(out) == [b"0", b"1", b"2"]


def test_a_stream_is_copied_exactly_once_across_restarts(copy, payloads, written, out):
    for _ in range(3):
        written.fill_term(100)
    copy()
    written.fill_term(100)
    copy()

    assert payloads(out) == payloads(written.store.folder)
    assert [recording.recording_id for recording in Archive.open(out).recordings()] == [0]
    assert not list((out / "staging").rglob("*.rows"))


def test_a_batch_committed_twice_is_written_once(copy, payloads, written, out, tmp_path):
    for _ in range(3):
        written.fill_term(100)
    copy()
    # As after a crash between the sink's commit and Spark's own.
    commits = sorted((tmp_path / "checkpoint/commits").glob("[0-9]*"), key=lambda path: int(path.name))
    commits[-1].unlink()
    copy()

    assert payloads(out) == payloads(written.store.folder)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("id", "columns id: must contain payload or value"),
        ("id AS payload", "column payload bigint: must be binary or string"),
        (
            "CAST(id AS STRING) AS payload, id AS colour",
            "columns colour: would be lost; select payload and reserved",
        ),
        ("CAST(id AS STRING) AS payload, 'x' AS reserved", "column reserved string: must be bigint"),
        ("CAST(NULL AS STRING) AS payload", "column payload is null (number of rows: 2)"),
    ],
)
def test_rows_without_a_message_are_refused(spark, out, query, message, format_):
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    frame = spark.range(2).selectExpr(*[part.strip() for part in query.split(",")]).coalesce(1)

    # PySpark has no exception of its own for one that a task in Java raises.
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        frame.write.format(format_).mode("append").save(str(out))

    assert message in str(caught.value)
    assert not out.exists() or payloads_of(out) == []
    assert not list(out.glob("staging/*"))


def payloads_of(out):
    return Archive.open(out).recordings() if (out / "archive.json").exists() else []


def test_overwrite_is_refused(spark, out, format_):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    with pytest.raises(PySparkException, match="mode overwrite: must be append"):
        spark.range(1).selectExpr("CAST(id AS STRING) AS payload").write.format(format_).mode(
            "overwrite"
        ).save(str(out))


def test_options_added_by_spark_are_ignored():
    given = {"path": "/a", "checkpointLocation": "/c", "queryName": "copy"}

    assert SinkOptions.parse(given) == SinkOptions.parse({"archive": "/a"})


def test_neither_archive_nor_channel_is_refused():
    with pytest.raises(ConfigurationError, match="neither archive nor channel is set"):
        SinkOptions.parse({})


@pytest.mark.parametrize("staging", ["", "/", "//", "s3a://bucket/rows"])
def test_staging_outside_of_the_file_system_is_refused(staging):
    with pytest.raises(ConfigurationError, match="option staging"):
        SinkOptions.parse({"path": "/a", "staging": staging})


def test_a_chosen_staging_folder_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert SinkOptions.parse({"path": "/a", "staging": "rows"}).staging == str(tmp_path / "rows")

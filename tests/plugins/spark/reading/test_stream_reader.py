"""Streaming queries in a Spark session."""

import json

import pyspark
import pytest
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading import stream_reader
from pyspark_aeron.reading.stream_reader import StreamReader

from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive
from aeron_core.testing.recordings import TERM_LENGTH

TIMEOUT_S = 60
needs_limits = pytest.mark.skipif(
    pyspark.__version__.startswith("4.1."), reason="Spark 4.1 sets no limits for data sources in Python"
)


@pytest.fixture
def query(spark, written, tmp_path, format_):
    """Return a function that runs a query over the existing data of the archive into Parquet."""

    def run(name=format_, **options):
        reader = spark.readStream.format(name).option("archive", str(written.store.folder))
        reader = reader.options(**options)
        writer = (
            reader.load()
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
        )
        started = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
        assert started.awaitTermination(TIMEOUT_S)
        return started

    return run


@pytest.fixture
def rows(spark, tmp_path):
    """Return a function that returns (rows, distinct rows, last position) of the output."""

    def read():
        frame = spark.read.parquet(str(tmp_path / "out"))
        return frame.selectExpr(
            "count(*)", "count(distinct recording_id, position)", "max(position)"
        ).first()[:]

    return read


def test_a_query_reads_existing_data_and_resumes(query, rows, written):
    written.fill_term(100)
    query()
    written.fill_term(100)
    query()

    assert rows() == (818, 818, written.position - 96)


@pytest.mark.parametrize("names", [("aeron", "aeron-jvm"), ("aeron-jvm", "aeron")])
@pytest.mark.parametrize("format_", ["aeron-jvm"], indirect=True)
def test_a_query_changes_its_reader_with_its_checkpoint(query, rows, written, names):
    for name in (*names, *names):
        written.fill_term(100)
        query(name)

    assert rows() == (4 * 409, 4 * 409, written.position - 96)


@needs_limits
def test_a_limit_makes_many_batches_with_every_row_once(query, rows, written):
    for _ in range(4):
        written.fill_term(100)

    finished = query(maxBytesPerTrigger="64k")

    assert len(finished.recentProgress) >= 4
    assert rows() == (4 * 409, 4 * 409, written.position - 96)


@needs_limits
def test_offsets_in_the_progress_report_are_positions(query, written):
    written.append(b"a", b"b")

    source = query().recentProgress[-1]["sources"][0]

    end = json.loads(source["endOffset"])
    assert (end["pos"], end["archive"]) == ({"0": 128}, written.archive.uuid)
    assert json.loads(source["latestOffset"])["pos"] == {"0": 128}


def test_a_new_recording_is_read_from_its_beginning(query, rows, written, request):
    written.append(b"a")
    query(startingPosition="latest")
    second = request.getfixturevalue("second")
    second.append(b"b", b"c")
    query(startingPosition="latest")

    assert rows() == (2, 2, 128)


def test_a_new_query_begins_at_its_starting_position(query, rows, written):
    written.append(b"a", b"b", b"c")

    query(startingPosition='{"0": 128}')

    assert rows() == (1, 1, 192)


def reader_of(written, **options):
    options = {"archive": str(written.store.folder), **options}
    return StreamReader(SourceOptions.parse(options), ("position", "payload"))


def test_a_query_fails_when_another_one_renews_its_lease(written):
    written.append(b"a")
    first, second = (reader_of(written, consumerName="billing") for _ in range(2))
    start = first.initialOffset()
    first.commit(start)
    second.initialOffset()

    with pytest.raises(
        ConfigurationError, match=r"^option consumerName=billing: .*; if this query joins a source"
    ):
        first.commit(start)
    second.commit(start)


def test_stop_closes_the_archive(written, monkeypatch):
    closed = []
    monkeypatch.setattr(Archive, "close", lambda archive: closed.append(archive.uri))
    reader = reader_of(written)
    reader.initialOffset()

    reader.stop()
    reader.stop()

    assert closed == [str(written.store.folder)]


@pytest.mark.parametrize("format_", ["aeron-jvm"], indirect=True)
def test_the_reader_for_java_refuses_a_lease_with_the_remedy(query, written):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    written.append(b"a")

    with pytest.raises(
        PySparkException, match="option consumerName=billing: the JVM reader writes no lease: use"
    ):
        query(consumerName="billing")


@pytest.mark.parametrize("format_", ["aeron"], indirect=True)
def test_a_lease_has_the_committed_position(query, written):
    written.append(b"a")
    query(consumerName="billing")
    written.append(b"b")
    query(consumerName="billing")

    lease = json.loads((written.store.folder / "consumers/billing.json").read_text())

    assert lease["name"] == "billing"
    assert lease["positions"] == {"0": 64}  # the last commit, which never covers the last batch of a run


def test_the_checkpoint_of_another_archive_is_refused(spark, query, written, tmp_path):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    from aeron_core.testing.recordings import RecordingUnderTest  # noqa: PLC0415

    written.append(b"a")
    query()
    other = RecordingUnderTest.begin(tmp_path / "other")
    other.append(b"b", b"c")

    with pytest.raises(PySparkException, match="use the archive that it began with"):
        query(archive=str(other.store.folder))


def test_an_archive_restored_from_an_older_copy_is_refused(query, written):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    written.append(b"a", b"b")
    query()
    written.writer._mark.move(64)

    with pytest.raises(PySparkException, match="recording 0 ends at 64, before the position 128"):
        query()


def test_a_purged_position_fails_the_query_or_is_skipped(query, rows, written):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    from aeron_core.recording.storage.catalogue import update_descriptor  # noqa: PLC0415

    written.append(b"a")
    query()
    for _ in range(3):
        written.fill_term(100)
    update_descriptor(written.store, 0, start_position=2 * TERM_LENGTH)

    with pytest.raises(
        PySparkException, match=r"was purged, the first available position is 131072; set failOnDataLoss"
    ):
        query()
    query(failOnDataLoss="false")

    assert rows() == (1 + 409, 410, written.position - 96)


def test_a_running_query_reads_new_messages(spark, written, format_):
    stream = spark.readStream.format(format_).load(str(written.store.folder))
    running = stream.writeStream.format("memory").queryName("live").start()
    try:
        for count in (1, 2, 3):
            written.append(b"x" * count)
            running.processAllAvailable()
            assert spark.table("live").count() == count
    finally:
        running.stop()


def test_a_query_that_waits_for_more_data_polls_slowly(written, monkeypatch):
    options = SourceOptions.parse({"path": str(written.store.folder), "minBytesPerTrigger": "1k"})
    reader = StreamReader(options, ("payload",))
    start = reader.initialOffset()
    written.append(b"a")
    pauses = []
    monkeypatch.setattr(stream_reader.time, "sleep", pauses.append)

    assert reader.latestOffset(start, reader.getDefaultReadLimit()) == start
    assert pauses == [0.04]


@needs_limits
def test_small_batches_wait_for_more_data_or_the_delay(spark, written, format_):
    stream = (
        spark.readStream.format(format_).option("minBytesPerTrigger", "1k").option("maxTriggerDelay", "1h")
    ).load(str(written.store.folder))
    running = stream.writeStream.format("memory").queryName("patient").start()
    try:
        written.append(b"a")
        while not running.recentProgress:
            assert running.isActive
        assert spark.table("patient").count() == 0

        written.append(b"b" * 1000)
        while spark.table("patient").count() < 2:
            assert running.isActive
    finally:
        running.stop()

"""Recordings of a running Aeron Archive in Spark, read through its protocol."""

import contextlib
import os

import java_peer
import pytest
from archive_scenario import FEW, MANY, SEGMENT_LENGTH, ArchivePeer
from java_client import JavaObject, JavaPublication, JavaSubscription
from messages import Checksum, message
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading.range_reader import read_batches
from pyspark_aeron.reading.selection import Range

from aeron_core.archive.reading.opening import open_archive
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.interop
TIMEOUT_S = 120
#: Messages of the largest test, in recordings, some of which are live.
MESSAGES = int(os.environ.get("AERON_CORE_ARCHIVE_MESSAGES", "8000"))
RECORDINGS = 8
LIVE = 3


@pytest.fixture(scope="module")
def java():
    missing = java_peer.missing_programs()
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    peer = java_peer.JavaPeer()
    yield peer
    peer.stop()


@pytest.fixture
def archive(java, tmp_path):
    with contextlib.closing(ArchivePeer(java, tmp_path)) as peer:
        yield peer


@pytest.fixture
def address(tmp_path):
    return f"aeron:archive?control-request=aeron:ipc|control-response=aeron:ipc|dir={tmp_path / 'aeron'}"


@pytest.fixture
def start(spark, address, tmp_path):
    """Start the query that copies positions and payloads of the archive into a table."""

    def start_one(trigger=None, **options):
        stream = spark.readStream.format("aeron").option("archive", address).options(**options).load()
        writer = stream.select("recording_id", "position", "payload").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        return (writer.trigger(**trigger) if trigger else writer).start(str(tmp_path / "table"))

    return start_one


def payloads(frame, recording_id):
    rows = frame.where(f"recording_id = {recording_id}").orderBy("position").select("payload").collect()
    return [bytes(row.payload) for row in rows]


def test_a_table_has_the_rows_of_the_folder(spark, archive, address):
    archive.stop(archive.record(100, MANY))
    purged = archive.record(101, MANY)
    archive.stop(purged)
    archive.change("purge-segments", purged.recording_id, SEGMENT_LENGTH)
    archive.record(102, FEW)
    columns = [
        "recording_id",
        "position",
        "session_id",
        "stream_id",
        "term_id",
        "flags",
        "reserved",
        "payload",
        "ts",
    ]

    remote = spark.read.format("aeron").option("partitionLength", "64k").load(address).select(*columns)
    local = spark.read.format("aeron").load(str(archive.folder)).select(*columns)

    assert remote.rdd.getNumPartitions() > 3
    assert payloads(remote, 0) == [message(index) for index in range(MANY)]
    assert remote.count() == local.count()
    assert remote.exceptAll(local).isEmpty()
    fragments = {"assemble": "fragments"}
    frames = spark.read.format("aeron").options(**fragments).load(address).select(*columns)
    assert frames.exceptAll(
        spark.read.format("aeron").options(**fragments).load(str(archive.folder)).select(*columns)
    ).isEmpty()


def test_a_streaming_query_joins_live_recordings_and_finds_new_ones(spark, archive, address, start, tmp_path):
    first = archive.record(100, MANY)
    query = start(maxBytesPerTrigger="100k")
    query.processAllAvailable()
    archive.send(first, FEW)
    second = archive.record(101, FEW)
    query.processAllAvailable()
    archive.stop(first)
    archive.send(second, FEW)
    archive.extend(first, 100, FEW)
    query.processAllAvailable()
    query.stop()

    table = spark.read.parquet(str(tmp_path / "table"))
    sent, few = [message(index) for index in range(MANY)], [message(index) for index in range(FEW)]
    assert payloads(table, first.recording_id) == sent + few + few
    assert payloads(table, second.recording_id) == few + few
    assert table.count() == table.select("recording_id", "position").distinct().count()


def test_purged_data_fails_a_query_unless_losses_are_allowed(spark, archive, start, tmp_path):
    from pyspark.errors import StreamingQueryException  # noqa: PLC0415 - slow to import

    available_now = {"availableNow": True}
    made = archive.record(100, FEW)
    assert start(available_now).awaitTermination(TIMEOUT_S)
    archive.send(made, MANY)
    archive.stop(made)
    archive.change("purge-segments", made.recording_id, 2 * SEGMENT_LENGTH)

    with pytest.raises(
        StreamingQueryException, match=f"first available position is {2 * SEGMENT_LENGTH}; set"
    ):
        start(available_now).awaitTermination(TIMEOUT_S)
    assert start(available_now, failOnDataLoss="false").awaitTermination(TIMEOUT_S)

    found = payloads(spark.read.parquet(str(tmp_path / "table")), made.recording_id)
    assert found[:FEW] == [message(index) for index in range(FEW)]
    assert found[FEW:] == [message(index) for index in range(MANY)][FEW - len(found) :]


def test_a_message_belongs_to_the_range_in_which_it_ends(archive, address):
    made = archive.record(100, MANY)
    end = archive.stop(made)
    whole = rows_of(address, Range(made.recording_id, 0, end))
    frames = rows_of(address, Range(made.recording_id, 0, end), assemble="fragments")
    assert len(frames) > len(whole) == MANY
    within = sorted({position for position, _ in frames} - {position for position, _ in whole})

    for position in (within[0], within[len(within) // 2], within[-1]):
        pieces = [
            rows_of(address, Range(made.recording_id, *ends)) for ends in ((0, position), (position, end))
        ]
        assert pieces[0] + pieces[1] == whole
        assert 0 < len(pieces[0]) < MANY
    # Two frames of one message: the second is not its last.
    assert rows_of(address, Range(made.recording_id, *within[:2])) == []


def test_every_reader_gets_the_messages_that_a_java_subscriber_received(
    spark, java, archive, address, tmp_path
):
    client = JavaObject(java, java.call("connect", tmp_path / "aeron"))
    expected = {}
    for number in range(RECORDINGS):
        count = MESSAGES // RECORDINGS + number
        subscription = JavaSubscription(java, client.call("subscription", "aeron:ipc", 200 + number))
        received = subscription.receive(count)
        made = archive.record(200 + number, count)
        position = JavaPublication(java, made.publication).position
        expected[made.recording_id] = (count, position, received.result(TIMEOUT_S))
        if number >= LIVE:
            archive.stop(made)
    client.close()

    for where in (str(archive.folder), address):
        with contextlib.closing(open_archive(where)) as opened:
            assert {each.recording_id: contents_of(each) for each in opened.recordings()} == expected
            assert sum(each.is_live for each in opened.recordings()) == LIVE
        frame = spark.read.format("aeron").option("partitionLength", "1m").load(where)
        rows = frame.groupBy("recording_id").applyInArrow(
            digesting(), "recording_id bigint, messages bigint, position bigint, digest string"
        )
        assert {row.recording_id: tuple(row)[1:] for row in rows.collect()} == expected


def contents_of(recording):
    """Return the number of messages, the last position, and the digest of all payloads."""
    checksum, count, position = Checksum(), 0, 0
    for each in messages(recording, recording.start_position, recording.position):
        checksum.add(each.payload)
        count, position = count + 1, each.position
    return count, position, checksum.hexdigest()


def digesting():
    """Return a function that digests the rows of one recording; workers cannot import what a test can."""

    def digest(table):
        import hashlib  # noqa: PLC0415

        import pyarrow as pa  # noqa: PLC0415

        rows, found = table.sort_by("position"), hashlib.sha256()
        for payload in rows["payload"]:
            found.update(len(payload.as_py()).to_bytes(4, "little") + payload.as_py())
        columns = {
            "messages": [rows.num_rows],
            "position": rows["position"][-1:],
            "digest": [found.hexdigest()],
        }
        return pa.table({"recording_id": rows["recording_id"][:1], **columns})

    return digest


def rows_of(address, piece, **options):
    batches = read_batches(SourceOptions(archive=address, **options), ("position", "payload"), piece)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

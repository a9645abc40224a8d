"""Live streams, read through a spool."""

import time

import pytest
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading.live_spool import LiveSpool
from pyspark_aeron.reading.stream_reader import StreamReader

from aeron_core import MediaDriver, connect
from aeron_core.client.publications.offerer import Offerer
from aeron_core.errors import AeronError, ConfigurationError, RecordingError, RegistrationError
from aeron_core.recording import Archive
from aeron_core.recording.writing.recorder import Recorder

TIMEOUT_S = 60


@pytest.fixture
def options(driver, tmp_path):
    def make(**changes):
        fields = {
            "archive": str(tmp_path / "spool"),
            "channel": "aeron:ipc?term-length=64k",
            "streamid": "7",
            "live": "true",
            "aerondir": str(driver.aeron_dir),
        }
        return SourceOptions.parse(fields | changes)

    return make


@pytest.fixture
def publication(driver):
    with (
        connect(driver.aeron_dir) as aeron,
        aeron.add_publication("aeron:ipc?term-length=64k", 7) as publication,
    ):
        yield publication


@pytest.fixture
def reader(options):
    readers = []

    def make(**changes):
        readers.append(StreamReader(options(**changes), ("position", "payload")))
        return readers[-1]

    yield make
    for made in readers:
        made.stop()


def read_until(reader, offset, count):
    """Return up to `count` payloads and the offset after them, with the calls that Spark makes."""
    payloads = []
    deadline_s = time.monotonic() + TIMEOUT_S
    while len(payloads) < count and time.monotonic() < deadline_s:
        end = reader.latestOffset(offset, reader.getDefaultReadLimit())
        for partition in reader.partitions(offset, end):
            for batch in reader.read(partition):
                payloads += batch.column("payload").to_pylist()
        offset = end
    return payloads, offset


def test_messages_are_read_once_and_in_order(reader, publication):
    live = reader()
    offset = live.initialOffset()
    publication.await_connected(TIMEOUT_S)
    offerer = Offerer(publication, TIMEOUT_S)
    sent = [f"message {index}".encode() for index in range(2000)]
    for message in sent:
        offerer.offer(message)

    assert read_until(live, offset, len(sent))[0] == sent


def test_a_restarted_query_resumes_without_a_gap(reader, publication):
    first = reader()
    offset = first.initialOffset()
    publication.await_connected(TIMEOUT_S)
    offerer = Offerer(publication, TIMEOUT_S)
    offerer.offer(b"a")
    before, offset = read_until(first, offset, 1)
    first.stop()
    offerer.offer(b"b")
    second = reader()

    after, _ = read_until(second, offset, 1)

    assert (before, after) == ([b"a"], [b"b"])


def test_a_full_spool_applies_back_pressure_until_messages_are_read(reader, publication):
    live = reader(spoollength="128k")
    offset = live.initialOffset()
    publication.await_connected(TIMEOUT_S)
    payload = bytes(1000)
    accepted = 0
    deadline_s = time.monotonic() + TIMEOUT_S
    refused = 0
    # Back pressure that lasts; the spool's thread would have released it within a millisecond.
    while refused < 3000 and time.monotonic() < deadline_s:
        if publication.offer(payload) > 0:
            accepted, refused = accepted + 1, 0
        else:
            refused += 1
            time.sleep(0.0005)
    assert 128 < accepted < 1000

    rows, _ = read_until(live, offset, accepted)

    assert len(rows) == accepted


def test_read_messages_are_purged(options, publication):
    spool = LiveSpool(options())
    try:
        publication.await_connected(TIMEOUT_S)
        offerer = Offerer(publication, TIMEOUT_S)
        archive = Archive.open(options().archive)
        while not archive.recordings():
            time.sleep(0.001)
        recording = archive.recordings()[0]
        for _ in range(140_000):
            offerer.offer(bytes(1000))
        while recording.position < publication.position:
            time.sleep(0.001)

        spool.note_needed({recording.recording_id: recording.position})
        deadline_s = time.monotonic() + TIMEOUT_S
        while recording.start_position == 0 and time.monotonic() < deadline_s:
            time.sleep(0.001)

        assert recording.start_position == recording.descriptor.segment_length
    finally:
        spool.close()


def check_until(spool, deadline_s):
    while time.monotonic() < deadline_s:
        spool.check()
        time.sleep(0.01)


def test_the_end_of_the_driver_ends_the_query(options, driver):
    spool = LiveSpool(options())
    driver.close()
    try:
        with pytest.raises(AeronError, match=r"the live stream .* is disconnected from the media driver"):
            check_until(spool, time.monotonic() + TIMEOUT_S)
    finally:
        spool.close()


def test_an_unexpected_exception_ends_the_query(options, monkeypatch):
    def fail(recorder):
        raise MemoryError("none left")

    monkeypatch.setattr(Recorder, "do_work", fail)
    spool = LiveSpool(options())
    try:
        with pytest.raises(RecordingError, match=r"live stream aeron:ipc.*: MemoryError: none left"):
            check_until(spool, time.monotonic() + TIMEOUT_S)
    finally:
        spool.close()


def test_a_live_stream_needs_a_channel_and_a_stream():
    with pytest.raises(ConfigurationError, match="option live: without streamId: both channel and"):
        SourceOptions.parse({"archive": "/a", "live": "true", "channel": "aeron:ipc"})


def test_a_query_over_a_live_stream(spark, options, publication, tmp_path):
    stream = spark.readStream.format("aeron")
    for name, value in {
        "archive": options().archive,
        "channel": "aeron:ipc?term-length=64k",
        "streamId": "7",
        "live": "true",
        "aeronDir": options().aeron_dir,
    }.items():
        stream = stream.option(name, value)
    query = stream.load().writeStream.format("memory").queryName("live_rows").start()
    try:
        publication.await_connected(TIMEOUT_S)
        offerer = Offerer(publication, TIMEOUT_S)
        for index in range(500):
            offerer.offer(str(index).encode())
        deadline_s = time.monotonic() + TIMEOUT_S
        while spark.table("live_rows").count() < 500 and time.monotonic() < deadline_s:
            assert query.isActive, query.exception()
        texts = [
            row[0]
            for row in spark.sql("SELECT CAST(payload AS STRING) FROM live_rows ORDER BY position").collect()
        ]
        assert texts == [str(index) for index in range(500)]
    finally:
        query.stop()


def test_an_address_in_use_is_reported(reader, driver):
    with (
        MediaDriver.launch_embedded() as other,
        connect(other.aeron_dir) as aeron,
        aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 7) as taken,
    ):
        live = reader(channel=taken.resolved_channel())

        with pytest.raises(
            RegistrationError, match=r"failed to bind to address 127\.0\.0\.1:.*: another socket has it"
        ):
            live.initialOffset()

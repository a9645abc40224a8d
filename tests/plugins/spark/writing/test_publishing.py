"""Commits of batches onto a channel: each row is published at least once."""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark_aeron.writing import publishing
from pyspark_aeron.writing.sink import BatchWriter
from pyspark_aeron.writing.staged_file import Task
from pyspark_aeron.writing.staging import stage
from sink_query import Query

from aeron_core import connect
from aeron_core.errors import ClientError, NotConnectedError


@pytest.fixture
def published(driver):
    """Return functions that create a publishing query, and read the messages of a subscription."""
    with connect(driver.aeron_dir) as aeron, aeron.add_subscription("aeron:ipc", 7) as subscription:

        def make(**options):
            received = []
            query = Query(channel="aeron:ipc", streamid="7", aerondir=str(driver.aeron_dir), **options)

            def read(count=1):
                def take(buffer, header):
                    received.append((bytes(buffer), header.reserved_value, header.session_id))

                # Each job has its own image, which appears a little later.
                deadline_s = time.monotonic() + 60
                while subscription.poll(take, 100) or len(received) < count:
                    assert time.monotonic() < deadline_s, received
                return received

            return query, read

        yield make
    for publication in publishing._publications.values():
        publication.close()
    publishing._publications.clear()
    for client in publishing._clients.values():
        client.close()
    publishing._clients.clear()


def test_rows_are_published_with_batch_and_sequence(published):
    query, read = published()

    query.commit(3, query.stage(3, 1, b"c"), query.stage(3, 0, b"a", b"b"))

    session = publishing.session_id_of("query-1")
    assert read() == [
        (b"a", 3 << 32, session),
        (b"b", (3 << 32) + 1, session),
        (b"c", (3 << 32) + 2, session),
    ]


def test_a_repeated_batch_has_the_same_reserved_values(published):
    query, read = published()

    query.commit(3, query.stage(3, 0, b"a", b"b"))
    query.commit(3, query.stage(3, 0, b"a", b"b"))

    assert read()[:2] == read()[2:]


def test_consecutive_jobs_publish_on_a_channel(published):
    query, read = published()

    for payload in (b"a", b"b"):
        job = BatchWriter(query.options)
        rows = pa.RecordBatch.from_arrays([pa.array([payload], pa.binary())], names=["payload"])
        job.commit([stage(query.options, [rows], Task(job._job, 0, 0))])

    assert sorted(payload for payload, *_ in read(2)) == [b"a", b"b"]


def test_a_query_with_a_large_batch_id_continues(published):
    query, read = published()

    query.commit(2**31 - 1, query.stage(2**31 - 1, 0, b"a"))

    assert read()[0][1] == (2**31 - 1) << 32


def test_another_process_of_the_query_continues_the_same_session(published, driver):
    query, read = published()
    query.commit(3, query.stage(3, 0, b"a"))
    # The state of a process that Spark killed, or reuses.
    before = dict(publishing._publications), dict(publishing._clients)
    publishing._publications.clear()
    publishing._clients.clear()

    query.commit(4, query.stage(4, 0, b"b"))

    session = publishing.session_id_of("query-1")
    assert read() == [(b"a", 3 << 32, session), (b"b", 4 << 32, session)]
    for resource in (*before[0].values(), *before[1].values()):
        resource.close()


def test_another_process_continues_once_the_publication_of_the_one_that_ended_has_lingered(driver):
    with (
        connect(driver.aeron_dir) as aeron,
        aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 7) as receiver,
        # Keeps the endpoint, which the streams on it share.
        aeron.add_publication(receiver.resolved_channel(), 8),
    ):
        received = []

        def receive(count):
            deadline_s = time.monotonic() + 10
            while len(received) < count:
                receiver.poll(lambda buffer, header: received.append((bytes(buffer), header.session_id)), 10)
                assert time.monotonic() < deadline_s, received

        channel = f"{receiver.resolved_channel()}|linger=1s"
        query = Query(channel=channel, streamid="7", aerondir=str(driver.aeron_dir))
        query.commit(0, query.stage(0, 0, b"a"))
        receive(1)
        # As at the end of a process: the publication keeps its session id while it lingers.
        for publication in publishing._publications.values():
            publication.close()

        query.commit(1, query.stage(1, 0, b"b"))
        receive(2)
    session = publishing.session_id_of("query-1")
    assert received == [(b"a", session), (b"b", session)]


def test_a_header_contains_query_batch_partition_and_sequence(published):
    query, read = published(dedupe="header")

    query.commit(3, query.stage(3, 5, b"a"))

    payload, reserved_value, _ = read()[0]
    header = np.frombuffer(payload[:24], "<u8,<u8,<u4,<u4")[0].tolist()
    assert (header, payload[24:], reserved_value) == ((publishing.query_hash("query-1"), 3, 5, 0), b"a", 0)


def test_a_missing_subscriber_is_reported_and_no_row_is_lost(driver):
    query = Query(channel="aeron:ipc", streamid="8", aerondir=str(driver.aeron_dir), connecttimeout="100ms")
    staged = query.stage(0, 0, b"a")

    with pytest.raises(NotConnectedError):
        query.commit(0, staged)

    assert Path(staged.path).exists()


def test_over_udp_a_commit_waits_until_everything_is_sent(driver):
    with (
        connect(driver.aeron_dir) as aeron,
        aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 7) as receiver,
    ):
        query = Query(channel=receiver.resolved_channel(), streamid="7", aerondir=str(driver.aeron_dir))

        query.commit(0, query.stage(0, 0, b"a", b"b"))

        (sent,) = [record.value for record in aeron.counters_reader if record.label.startswith("snd-pos")]
        assert sent == 128


def test_a_subscriber_that_does_not_read_fails_the_commit_and_the_rows_stay(driver):
    channel = "aeron:ipc?term-length=64k"
    with connect(driver.aeron_dir) as aeron, aeron.add_subscription(channel, 9):
        query = Query(channel=channel, streamid="9", aerondir=str(driver.aeron_dir), connecttimeout="300ms")
        staged = query.stage(0, 0, *[bytes(1000)] * 100)

        with pytest.raises(
            ClientError,
            match=r"was back-pressured for 0\.3 s after \d+ messages: check that its subscribers read",
        ):
            query.commit(0, staged)

    assert Path(staged.path).exists()

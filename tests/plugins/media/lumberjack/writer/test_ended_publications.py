"""Publications that were closed, or whose publisher died within a message."""

from __future__ import annotations

import json

from plain_codec import ack
from writing import CHANNEL, Writing, payloads

from aeron_core.testing.pair import S

A, B = (b'{"n":%d}' % n for n in range(2))


def test_a_closed_publication_waits_for_acknowledgements(writing):
    writing.offer(A)
    writing.received_windows()
    writing.publication.close()
    writing.run(20 * S)
    assert len(writing.driver.log_files()) == 1
    writing.answer(ack(1))
    writing.run(20 * S)
    assert writing.driver.log_files() == []
    assert writing.errors() == []


def test_unacknowledged_events_of_closed_publications_are_reported_once_without_sessions_and_lengths(writing):
    other = writing.result(
        writing.client.add_exclusive_publication_async(CHANNEL, writing.publication.stream_id)
    )
    first = writing.reader
    writing.accept()
    writing.run_until(lambda: other.is_connected)
    writing.offer(A)
    other.offer(A * 3)
    writing.received_windows()
    writing.listener.close()
    for each in (first, writing.reader, writing.publication, other):
        each.close()
    writing.run(30 * S)
    assert writing.driver.log_files() == []
    (lost,) = [error for error in writing.driver.errors() if "no peer has confirmed" in error.text]
    assert (
        f"stream {other.stream_id} of {CHANNEL} was closed with data that no peer has confirmed" in lost.text
    )
    assert lost.observation_count == 2


def cut(writing, begin, end):
    """Simulate a publisher that died after it claimed this part of the log."""
    (path,) = writing.driver.log_files()
    with path.open("r+b") as log:
        log.seek(begin)
        log.write(bytes(end - begin))


def test_a_message_of_a_publisher_that_died_while_writing_is_skipped_without_blocking(tmp_path):
    keys = "|wrap=true|mtu=1408"
    with Writing(tmp_path, keys, is_exclusive=False) as writing:
        writing.accept()
        writing.offer(A)
        writing.answer(ack(1))
        begin = writing.publication.position
        writing.received_windows()
        writing.driver.is_stalled = True
        assert writing.publication.offer(b"x" * 5000) > 0
        cut(writing, begin + 1408, writing.publication.position)
        writing.driver.is_stalled = False
        writing.offer(B)
        assert writing.received_windows(10 * S) == []
        (((_, payload),),) = writing.received_windows(10 * S)
        assert json.loads(payload) == {"message": B.decode()}
        writing.answer(ack(1))
        assert writing.unacknowledged() == 0
        assert writing.driver.counted("unblocked_publications") == 1


def test_a_message_being_written_is_not_unblocked_while_a_reader_is_slow(tmp_path):
    with Writing(tmp_path, is_exclusive=False) as writing:
        writing.accept()
        writing.offer(A)
        writing.run(14 * S)
        writing.answer(ack(0))
        claim = writing.publication.try_claim(len(B))
        writing.run(10 * S)
        writing.answer(ack(0))
        claim.buffer[:] = B
        claim.commit()
        assert payloads(writing.received_windows()) == [A, B]
        assert writing.driver.counted("unblocked_publications") == 0


def test_a_publication_closed_within_a_message_leaves_no_log_file(tmp_path):
    with Writing(tmp_path, "|mtu=1408") as writing:
        writing.accept()
        writing.driver.is_stalled = True
        assert writing.publication.offer(b"x" * 5000) > 0
        cut(writing, 1408, writing.publication.position)
        writing.driver.is_stalled = False
        writing.publication.close()
        writing.run(30 * S)
        assert writing.driver.log_files() == []
        assert writing.errors() == []

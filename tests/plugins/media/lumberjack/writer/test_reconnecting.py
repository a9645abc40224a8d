"""Lost, silent and replaced readers: a publication connects again and sends again."""

from __future__ import annotations

import pytest
from plain_codec import ack
from writing import Writing, acknowledged

from aeron_core.testing.pair import MS, S

A, B, C, D = (b'{"n":%d}' % n for n in range(4))


def test_unacknowledged_events_are_resent_after_a_lost_connection(tmp_path):
    with Writing(tmp_path, "|window=2|pipeline=8") as writing:
        writing.accept()
        writing.offer(A, B, C, D)
        sent = writing.received_windows()
        writing.answer(ack(len(sent[0])))
        writing.reader.close(aborts=True)
        writing.accept()
        again = [payload for window in writing.received_windows() for _, payload in window]
        assert again == [A, B, C, D][len(sent[0]) :]
        assert writing.counted("resends") == len(sent) - 1
        assert writing.counted("lost") == 1


def test_the_delay_between_attempts_doubles(tmp_path):
    with Writing(tmp_path, listens=False) as writing:
        writing.run(100 * S)
        # 1, 2, 4, 8, 16, 32 and 60 s, half of each random.
        assert 6 <= writing.counted("attempts") <= 10
        assert any("Connection refused" in error for error in writing.errors())
        assert not writing.publication.is_connected


def test_an_acknowledgement_resets_the_delay(writing):
    for _ in range(4):
        writing.offer(A)
        writing.received_windows()
        writing.answer(ack(1))
        writing.reader.close()
        before_ns = writing.now_ns
        writing.accept()
        assert writing.now_ns - before_ns < 1500 * MS


def test_a_publication_stays_connected_during_a_short_outage(writing):
    writing.reader.close()
    writing.run(100 * MS)
    assert writing.publication.is_connected
    writing.listener.close()
    writing.run(10 * S)
    assert not writing.publication.is_connected


def test_a_reader_that_acknowledges_nothing_is_disconnected(writing):
    writing.offer(A)
    writing.run(29 * S)
    assert writing.counted("lost") == 0
    writing.run(3 * S)
    assert writing.counted("lost") == 1
    assert "acknowledged nothing for longer than timeout=" in writing.errors()[0]


def test_keep_alives_extend_the_timeout(writing):
    writing.offer(A)
    for _ in range(10):
        writing.run(20 * S)
        writing.answer(ack(0))
    assert writing.counted("lost") == 0
    assert writing.counted("keep-alives") == 10


def test_a_reader_that_sends_only_keep_alives_is_reported_after_five_minutes(writing):
    writing.offer(A, B)
    for _ in range(14):
        writing.run(20 * S)
        writing.answer(ack(0))
    assert writing.errors() == []
    for _ in range(14):
        writing.run(20 * S)
        writing.answer(ack(0))
    (error,) = writing.errors()
    assert "keep-alives and acknowledged nothing for 5 minutes" in error
    assert "progress-timeout=" in error
    assert writing.counted("lost") == 0


def test_a_reader_that_sends_only_keep_alives_is_disconnected_with_a_progress_timeout(tmp_path):
    with Writing(tmp_path, "|progress-timeout=60s") as writing:
        writing.accept()
        writing.offer(A, B, C)
        writing.run(20 * S)
        # Acknowledges the same part again: no progress.
        writing.answer(ack(1), ack(1))
        writing.run(20 * S)
        writing.answer(ack(1))
        writing.run(29 * S)
        writing.answer(ack(0))
        assert writing.counted("lost") == 0
        writing.run(15 * S)
        assert writing.counted("lost") == 1
        assert "for longer than progress-timeout=" in writing.errors()[0]


def test_a_window_on_a_slow_connection_does_not_time_out(tmp_path):
    with Writing(tmp_path, "|compression=0|term-length=8m") as writing:
        writing.accept()
        writing.reader.capacity = 65536
        event = b'{"m":"%s"}' % (b"x" * 8000)
        writing.driver.is_stalled = True
        for _ in range(50):
            assert writing.publication.offer(event) > 0
        writing.driver.is_stalled = False
        data = b""
        for _ in range(100):
            writing.run(1 * S)
            data += writing.reader.receive(3000) or b""
        assert writing.counted("lost") == 0
        assert len(data) == 300_000
        # The rest of the window is in flight, and the reader sends nothing more.
        writing.reader.capacity = 1 << 20
        writing.run(29 * S)
        assert writing.counted("lost") == 0
        writing.run(3 * S)
        assert "acknowledged nothing for longer than timeout=" in writing.errors()[0]


@pytest.mark.parametrize("answer", [ack(2), ack(1, b"1"), b"2J\0\0\0\1", b"HTTP/1.1 400"])
def test_an_invalid_acknowledgement_ends_the_connection(writing, answer):
    writing.offer(A)
    writing.received_windows()
    writing.answer(answer)
    assert writing.counted("lost") == 1
    writing.accept()
    assert [payload for window in writing.received_windows() for _, payload in window] == [A]


def test_a_connection_is_replaced_after_its_ttl(tmp_path):
    with Writing(tmp_path, "|ttl=10s") as writing:
        writing.accept()
        writing.offer(A)
        writing.received_windows()
        writing.run(11 * S)
        assert not writing.reader.is_closed
        writing.offer(B)
        assert writing.received_windows() == []
        writing.answer(ack(1))
        writing.accept()
        assert [payload for window in writing.received_windows() for _, payload in window] == [B]
        assert writing.counted("lost") == 0


def test_a_reader_is_usable_again_after_a_fault(writing):
    writing.offer(A)
    writing.received_windows()
    writing.answer(b"HTTP/1.1 400")
    writing.accept()
    assert acknowledged(writing) == [A]
    assert writing.counted("lost") == 1

"""Readers that lie or do not follow the protocol: no event is released before a reader can have it, nothing grows."""

from __future__ import annotations

import os
import random

import pytest
from aeron_media.lumberjack._native import bounds
from plain_codec import ack, json_event, window
from writing import Writing, payloads, windows

from aeron_core.testing.pair import MS, S

EXAMPLES = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "60"))
LONG = b'{"m":"%s"}' % (b"x" * 8000)


@pytest.fixture
def stalled(tmp_path):
    """A publication with two windows of 80 kB; its reader has received a part of the first one."""
    with Writing(tmp_path, "|compression=0|term-length=8m|window=10") as writing:
        writing.accept()
        writing.reader.capacity = 10_000
        writing.driver.is_stalled = True
        for _ in range(20):
            assert writing.publication.offer(LONG) > 0
        writing.driver.is_stalled = False
        writing.run()
        assert writing.counted("windows") == 2
        yield writing


def test_an_acknowledgement_of_a_window_that_is_not_sent_releases_nothing(stalled):
    before = stalled.unacknowledged()

    stalled.answer(ack(10))

    assert stalled.unacknowledged() == before
    assert stalled.counted("lost") == 1
    assert stalled.counted("acks") == 0
    stalled.run(2 * S)
    assert any("all 10 events of a window that is not yet sent" in error for error in stalled.errors())


def test_acknowledgements_of_later_windows_before_they_are_sent_release_nothing(stalled):
    first = b""
    while len(first) < 10 * (len(LONG) + 10) + 6:
        first += stalled.reader.receive(1 << 20) or b""
        stalled.run(5 * MS)
    before = stalled.unacknowledged()

    # The first window has arrived, the second one has not.
    stalled.answer(ack(10), ack(10))

    assert stalled.counted("acks") == 1
    assert stalled.counted("lost") == 1
    assert stalled.unacknowledged() > before // 3


@pytest.mark.parametrize("unsent", [1, bounds.TRAILER_LENGTH])
def test_an_acknowledgement_of_a_plain_window_before_its_last_bytes_releases_nothing(tmp_path, unsent):
    with Writing(tmp_path, "|compression=0|window=1") as writing:
        writing.accept()
        writing.reader.capacity = len(window(1) + json_event(1, LONG)) - unsent
        writing.offer(LONG)
        writing.run()

        writing.answer(ack(1))

        assert writing.counted("acks") == 0
        assert writing.counted("lost") == 1
        assert writing.unacknowledged() > 0


def test_a_compressed_window_may_be_acknowledged_before_its_checksum(tmp_path):
    with Writing(tmp_path, "|compression=3|window=1") as writing:
        writing.accept()
        writing.offer(LONG)
        writing.run()
        length = len(writing.reader.received())
        writing.answer(ack(1))
        writing.reader.capacity = length - 4
        writing.offer(LONG)
        writing.run()

        writing.answer(ack(1))

        assert writing.counted("acks") == 2
        assert writing.counted("lost") == 0


def test_the_events_are_sent_again_to_an_honest_reader(stalled):
    stalled.answer(ack(10))
    stalled.run(2 * S)
    stalled.accept()
    assert payloads(stalled.received_windows(100 * MS)) == [LONG] * 20
    stalled.answer(ack(10), ack(10))
    assert stalled.unacknowledged() == 0


def test_part_of_a_window_may_be_acknowledged_while_it_is_being_sent(stalled):
    stalled.answer(ack(1))
    assert stalled.counted("lost") == 0


@pytest.mark.parametrize("answer", [ack(1), ack(0xFFFFFFFF), ack(1, b"1"), window(1), b"2A\0\0\0", b"\0" * 6])
def test_an_acknowledgement_of_nothing_releases_nothing_of_what_follows(tmp_path, answer):
    with Writing(tmp_path) as writing:
        writing.accept()
        writing.answer(answer)
        writing.offer(b"{}")
        writing.run(2 * S)
        assert writing.unacknowledged() > 0


def test_a_flood_of_keep_alives_neither_blocks_the_sender_nor_grows(tmp_path):
    with Writing(tmp_path, "|window=1|progress-timeout=10s") as writing:
        writing.accept()
        rest = b""
        for second in range(14):
            if not writing.reader.is_closed_by_peer:
                rest = rest or ack(0) * 100_000
                rest = rest[writing.reader.send(rest) :]
            if second == 2:
                assert writing.counted("lost") == 0
                writing.offer(b"{}")
            writing.run(1 * S)
        assert writing.counted("lost") == 1
        writing.run(2 * S)
        assert any("progress-timeout=" in error for error in writing.errors())


def test_a_reader_that_disconnects_after_each_acknowledgement_gets_no_flood_of_connections(tmp_path):
    with Writing(tmp_path, "|window=1|backoff-init=1s") as writing:
        for number in range(5):
            writing.accept()
            writing.offer(b'{"n":%d}' % number)
            assert payloads(writing.received_windows()) == [b'{"n":%d}' % number]
            writing.reader.send(ack(1))
            writing.run()
            writing.reader.close()
            before = writing.counted("attempts")
            writing.run(400 * MS)
            assert writing.counted("attempts") == before
        assert writing.unacknowledged() == 0


@pytest.mark.parametrize("seed", range(4))
def test_random_answers_release_only_events_that_were_sent(tmp_path, seed):
    print(f"seed {seed}, {EXAMPLES} examples")
    chance = random.Random(seed)
    with Writing(tmp_path, "|window=3|pipeline=4|backoff-init=1ms|backoff-max=1ms|compression=0") as writing:
        writing.accept()
        received = b""
        for number in range(EXAMPLES):
            writing.offer(*[b'{"n":%d}' % number] * chance.randrange(4))
            if writing.reader.is_closed_by_peer:
                accepted = writing.listener.accept()
                if accepted is None:
                    writing.run(10 * MS)
                    continue
                writing.reader = accepted[0]
                received = b""
            writing.run(5 * MS)
            received += writing.reader.received()
            sent = len(payloads(windows(received)))
            acknowledged = writing.counted("acks")
            writing.reader.send(
                chance.choice(
                    [
                        ack(chance.choice([0, 1, 2, 3, 4, 1 << 31])),
                        ack(chance.randrange(5)) * chance.randrange(5),
                        chance.randbytes(chance.randrange(20)),
                        b"2A" + chance.randbytes(chance.randrange(5)),
                    ]
                )
            )
            writing.run(5 * MS)
            assert writing.counted("acks") - acknowledged <= sent
        for text in writing.errors():
            assert "Error" not in text

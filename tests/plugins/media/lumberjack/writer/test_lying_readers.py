"""Readers that lie or do not follow the protocol: no event is released before a reader can have it, nothing grows."""

from __future__ import annotations

import os
import random

import pytest
from aeron_media.lumberjack._native import bounds
from plain_codec import ack, json_event, window
from writing import ADDRESS, Writing, payloads, windows

from aeron_core._native.address import SocketAddress
from aeron_core.testing.pair import MS, S, Simulation

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
    assert any("all events of a window that is not yet sent" in error for error in stalled.errors())


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


WINDOW = (b'{"n":1}', b'{"n":2}', b'{"n":3}')


@pytest.fixture
def whole(tmp_path):
    """A publication whose reader has received a whole window of three events."""
    with Writing(tmp_path, "|window=3|pipeline=1|backoff-init=1ms|timeout=5s") as writing:
        writing.accept()
        writing.driver.is_stalled = True
        for payload in WINDOW:
            assert writing.publication.offer(payload) > 0
        writing.driver.is_stalled = False
        assert writing.received_windows() == [list(enumerate(WINDOW, start=1))]
        yield writing


def assert_sent_again(writing):
    """Assert that the next reader gets the window, and releases it with an honest acknowledgement."""
    writing.accept()
    assert payloads(writing.received_windows(100 * MS)) == [*WINDOW]
    writing.answer(ack(3))
    assert writing.unacknowledged() == 0


@pytest.mark.parametrize(
    "lies",
    [
        ack(4),
        ack(0xFFFFFFFF),
        ack(1) + ack(4),
        ack(3, b"1"),
        window(3),
        json_event(3, WINDOW[2]),
        b"\xff" * 4096,
        b"\0" * 6,
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"2A\0\0\0\2X",
    ],
)
def test_a_lie_about_a_window_releases_nothing_of_it(whole, lies):
    whole.answer(lies)

    assert (whole.counted("lost"), whole.counted("acks")) == (1, 0)
    assert whole.unacknowledged() > 0
    assert_sent_again(whole)


def test_a_repeated_acknowledgement_ends_the_connection_and_releases_nothing_of_what_follows(whole):
    whole.answer(ack(3) + ack(3))
    assert (whole.counted("acks"), whole.counted("lost")) == (1, 1)
    assert whole.unacknowledged() == 0

    whole.accept()
    whole.offer(b'{"n":4}')
    assert payloads(whole.received_windows(100 * MS)) == [b'{"n":4}']
    assert whole.unacknowledged() > 0


def test_acknowledgements_that_go_back_release_nothing(whole):
    whole.answer(ack(2) + ack(1) + ack(2) + ack(1))
    assert (whole.counted("acks"), whole.counted("lost")) == (0, 0)
    assert whole.unacknowledged() > 0
    whole.answer(ack(3))
    assert whole.unacknowledged() == 0


@pytest.mark.parametrize("aborts", [False, True])
def test_a_reader_that_acknowledges_a_part_and_closes_loses_no_event(whole, aborts):
    whole.answer(ack(2))
    whole.reader.close(aborts=aborts)
    whole.run()

    assert whole.counted("lost") == 1
    assert_sent_again(whole)


def test_a_reader_that_acknowledges_all_and_closes_at_once_releases_the_window(whole):
    whole.reader.send(ack(3))
    whole.reader.close()
    whole.run()
    assert whole.unacknowledged() == 0


def test_half_an_acknowledgement_is_none(whole):
    whole.answer(ack(3)[:5])
    whole.run(6 * S)
    assert whole.unacknowledged() > 0
    assert_sent_again(whole)


@pytest.mark.parametrize("endless", [ack(1), ack(0)])
def test_a_reader_that_sends_without_end_takes_bounded_turns(whole, endless):
    turns = []
    sending = whole.reader._other
    rest = b""

    def receive(length):
        nonlocal rest
        turns[-1] += length
        # Fail instead of looping forever.
        assert turns[-1] < 1 << 24
        rest += endless * (length // len(endless) + 1)
        taken, rest = rest[:length], rest[length:]
        return taken

    sending.receive = receive
    for _ in range(100):
        turns.append(0)
        whole.step()

    assert 0 < max(turns) <= bounds.ACKS_LENGTH
    assert whole.unacknowledged() > 0
    assert whole.errors() == []


def test_lies_about_different_events_are_one_entry_of_the_error_log(tmp_path):
    with Writing(tmp_path, "|backoff-init=1ms|backoff-max=1ms") as writing:
        writing.accept()
        writing.offer(*WINDOW)
        for sequence in range(100, 110):
            writing.received_windows()
            writing.answer(ack(sequence))
            # The conductor takes one fault a second.
            writing.run(2 * S)
            writing.accept()

        (error,) = writing.driver.errors()
        assert "acknowledgement of an event that the window does not have" in error.text
        assert error.last_peer == str(ADDRESS)
        assert error.observation_count == 10


def test_events_of_a_lying_reader_reach_an_honest_one(tmp_path):
    liar_address, honest_address = (SocketAddress.of(f"10.0.0.{number}", 5044) for number in (1, 2))
    with Simulation(tmp_path) as simulation:
        driver = simulation.add_driver()
        listeners = [simulation.connections.serve(each) for each in (liar_address, honest_address)]
        channel = (
            f"aeron:lumberjack?endpoint={liar_address},{honest_address}|balance=true|window=2|compression=0"
        )
        publication = simulation.result(driver.connect().add_exclusive_publication_async(channel, 7))
        readers = {}
        found = []

        def answer():
            for is_honest, listener in enumerate(listeners):
                if (accepted := listener.accept()) is not None:
                    readers[is_honest] = accepted[0]
            for is_honest, reader in readers.items():
                try:
                    received = windows(reader.received())
                    if is_honest:
                        found.extend(payloads(received))
                        reader.send(b"".join(ack(len(each)) for each in received))
                    else:
                        reader.send(ack(9))
                except OSError:
                    pass

        sent = [b'{"n":%d}' % number for number in range(200)]
        for payload in sent:
            simulation.run_until(lambda payload=payload: answer() or publication.offer(payload) > 0)
        simulation.idle_step_ns = 20 * MS
        simulation.run_for(30 * S, answer)

        assert set(found) == set(sent)


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

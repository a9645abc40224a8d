"""A sending driver, and readers played by the tests, on a simulated network and a manual clock."""

from __future__ import annotations

import json
import random
import resource
import struct
from pathlib import Path

import pytest
from plain_codec import ack
from writing import CHANNEL, Writing, payloads, windows

from aeron_core.logbuffer import results
from aeron_core.testing.pair import MS, S


@pytest.fixture
def writing(tmp_path):
    with Writing(tmp_path) as made:
        made.accept()
        yield made


A, B, C, D = (b'{"n":%d}' % n for n in range(4))


def test_messages_are_events_of_a_window(writing):
    writing.offer(A, B)
    (first, *rest) = writing.received_windows()
    assert [payload for window in [first, *rest] for _, payload in window] == [A, B]
    assert first[0][0] == 1


def test_a_window_is_one_compressed_frame(writing):
    writing.offer(A)
    writing.run()
    data = writing.reader.received()
    assert data[:6] == b"2W\0\0\0\1"
    assert data[6:8] == b"2C"
    assert struct.unpack(">I", data[8:12])[0] == len(data) - 12


def test_a_window_can_be_uncompressed(tmp_path):
    with Writing(tmp_path, "|compression=0") as writing:
        writing.accept()
        writing.offer(A)
        writing.run()
        assert writing.reader.received() == b"2W\0\0\0\1" + b"2J\0\0\0\1" + struct.pack(">I", len(A)) + A


def test_waiting_messages_are_sent_as_one_window(writing):
    writing.offer_apart(A, B)
    # Two windows are in flight: further messages wait for the first acknowledgement.
    writing.offer(C, D, A)
    before = writing.received_windows()
    writing.answer(ack(len(before[0])))
    after = writing.received_windows(0)
    assert [len(window) for window in before] == [1, 1]
    assert [[sequence for sequence, _ in window] for window in after] == [[1, 2, 3]]


def test_the_sender_position_is_the_acknowledged_position(writing):
    writing.offer_apart(A, B)
    first, second = writing.received_windows()
    assert writing.unacknowledged() == 128
    writing.answer(ack(1))
    assert writing.unacknowledged() == 64
    writing.answer(ack(1))
    assert writing.unacknowledged() == 0
    assert len(first) == len(second) == 1


def test_a_partial_acknowledgement_does_not_advance_the_position(tmp_path):
    with Writing(tmp_path, "|pipeline=1") as writing:
        writing.accept()
        writing.offer(A)
        writing.run()
        writing.offer(A, B, C)
        writing.answer(ack(1))
        before = writing.unacknowledged()
        writing.answer(ack(2))
        assert writing.unacknowledged() == before == 192
        writing.answer(ack(3))
        assert writing.unacknowledged() == 0


def test_a_slow_reader_applies_back_pressure(tmp_path):
    with Writing(tmp_path, "|term-length=64k") as writing:
        writing.accept()
        outcomes = set()
        for _ in range(3000):
            outcomes.add(min(writing.publication.offer(A * 10), 0))
            writing.step()
        assert results.BACK_PRESSURED in outcomes
        assert writing.unacknowledged() <= 65536


def test_the_number_of_windows_in_flight_is_limited(tmp_path):
    with Writing(tmp_path, "|pipeline=3|window=1") as writing:
        writing.accept()
        writing.offer(A, A, A, A, A)
        assert len(writing.received_windows()) == 3
        writing.answer(ack(1), ack(1))
        assert len(writing.received_windows()) == 2


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


def test_any_bytes_can_be_wrapped(tmp_path):
    with Writing(tmp_path, "|wrap=true") as writing:
        writing.accept()
        writing.offer(b'a "line"\n\xff')
        ((_, payload),) = writing.received_windows()[0]
        assert json.loads(payload) == {"message": 'a "line"\n\ufffd'}


def test_messages_that_no_reader_accepts_are_skipped_and_reported(writing):
    writing.offer(b"no JSON", A)
    assert [payload for window in writing.received_windows() for _, payload in window] == [A]
    writing.answer(ack(1))
    assert writing.unacknowledged() == 0
    assert writing.counted("passed-over") == 1
    writing.run(2 * S)
    assert "wrap=true" in writing.errors()[0]


def test_a_message_of_several_fragments_is_one_event(tmp_path):
    with Writing(tmp_path, "|mtu=1408") as writing:
        writing.accept()
        payload = b'{"m":"' + b"x" * 5000 + b'"}'
        writing.offer(payload)
        assert writing.received_windows() == [[(1, payload)]]


def test_padding_is_not_an_event(tmp_path):
    with Writing(tmp_path, "|term-length=64k") as writing:
        writing.accept()
        sent, came = [], []
        for n in range(600):
            sent.append(b'{"n":"%0*d"}' % (200 + n % 90, n))
            writing.offer(sent[-1])
            for window in writing.received_windows(1 * MS):
                came += [payload for _, payload in window]
                writing.reader.send(ack(len(window)))
        assert came == sent


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


def test_each_stream_has_its_own_connection(writing):
    other = writing.result(writing.client.add_exclusive_publication_async(CHANNEL, 8))
    first = writing.reader
    writing.accept()
    writing.run_until(lambda: other.is_connected)
    writing.offer(A)
    other.offer(B)
    assert writing.received_windows() == [[(1, B)]]
    assert windows(first.received()) == [[(1, A)]]


def random_event(chance, length):
    """Return an event that compresses to about half of its length."""
    return b'{"m":"%s"}' % chance.randbytes(length // 2).hex().encode()


def acknowledged(writing):
    """Acknowledge windows until all are acknowledged; return the payloads."""
    came = []
    for _ in range(400):
        found = writing.received_windows(10 * MS)
        came += payloads(found)
        writing.answer(*(ack(len(window)) for window in found))
        if writing.unacknowledged() == 0:
            return came
    raise AssertionError(f"{writing.unacknowledged()} bytes are not acknowledged; {writing.errors()}")


def test_a_window_that_exceeds_the_memory_is_sent_as_several(tmp_path):
    with Writing(tmp_path, "|max-memory=512k|term-length=2m") as writing:
        writing.accept()
        chance = random.Random(1)
        sent = [random_event(chance, 6000) for _ in range(100)]
        # All messages are in the log when the first window is built: only some fit into the memory.
        writing.driver.is_stalled = True
        for event in sent:
            assert writing.publication.offer(event) > 0
        writing.driver.is_stalled = False
        assert acknowledged(writing) == sent
        assert writing.counted("lost") == 0
        assert writing.counted("passed-over") == 0


@pytest.mark.parametrize("keys", ["", "|compression=0", "|wrap=true"])
def test_an_event_larger_than_the_budget_is_skipped_and_reported(tmp_path, keys):
    with Writing(tmp_path, f"|max-memory=512k|term-length=16m{keys}") as writing:
        writing.accept()
        chance = random.Random(1)
        sent = [A, random_event(chance, 1 << 20), B]
        writing.offer(*sent)
        came = acknowledged(writing)
        assert len(came) == 2
        assert writing.counted("passed-over") == 1
        writing.run(2 * S)
        assert "max-memory=" in writing.errors()[0]


@pytest.mark.parametrize("keys", ["", "|compression=0", "|wrap=true"])
def test_an_event_is_kept_while_the_process_has_no_memory(tmp_path, keys):
    with Writing(tmp_path, f"|term-length=64m{keys}") as writing:
        writing.accept()
        sent = [A, b'{"a":"' + b"a" * 6_000_000 + b'"}', B]
        writing.offer(A)
        came = acknowledged(writing)
        before = resource.getrlimit(resource.RLIMIT_AS)
        # Longer than a block that the C library takes from its heap: it needs more address space.
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 20), before[1]))
        try:
            for event in sent[1:]:
                assert writing.publication.offer(event) > 0
            writing.run(1 * S)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)

        came += acknowledged(writing)

        assert writing.counted("passed-over") == 0
        assert len(came) == len(sent)


def test_an_event_larger_than_the_budget_does_not_wait_for_other_streams(tmp_path):
    keys = "|max-memory=512k|term-length=16m|compression=0"
    with Writing(tmp_path, keys) as writing:
        writing.accept()
        # Its reader does not read, so its window holds memory.
        writing.reader.capacity = 0
        writing.offer(random_event(random.Random(1), 100_000))
        writing.publication = writing.result(
            writing.client.add_exclusive_publication_async(CHANNEL + keys, 8)
        )
        writing.accept()
        writing.offer(random_event(random.Random(1), 1 << 20), A)
        assert payloads(writing.received_windows(2 * S)) == [A]
        assert writing.counted("passed-over") == 1


def test_an_idle_stream_frees_its_memory_for_others(tmp_path):
    with Writing(tmp_path, "|max-memory=1m|term-length=8m|compression=0") as writing:
        writing.accept()
        chance = random.Random(1)
        idle = random_event(chance, 200_000)
        writing.offer(idle)
        assert acknowledged(writing) == [idle]
        writing.publication = writing.result(
            writing.client.add_exclusive_publication_async(
                f"{CHANNEL}|max-memory=1m|term-length=8m|compression=0", 8
            )
        )
        writing.accept()
        event = random_event(chance, 500_000)
        writing.offer(event)
        writing.unacknowledged = lambda: (
            writing.publication.position
            - max(
                counter.value for counter in writing.driver.find_counters("snd-pos") if " 8 " in counter.label
            )
        )
        assert acknowledged(writing) == [event]
        assert writing.counted("passed-over") == 0


def test_a_reader_is_usable_again_after_a_fault(writing):
    writing.offer(A)
    writing.received_windows()
    writing.answer(b"HTTP/1.1 400")
    writing.accept()
    assert acknowledged(writing) == [A]
    assert writing.counted("lost") == 1


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

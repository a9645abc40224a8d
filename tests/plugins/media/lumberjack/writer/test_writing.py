"""A driver that sends, and readers that the tests play, on a simulated network and a manual clock."""

from __future__ import annotations

import json
import random
import struct

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
    (first, *rest) = writing.heard()
    assert [payload for window in [first, *rest] for _, payload in window] == [A, B]
    assert first[0][0] == 1


def test_a_window_is_one_compressed_frame(writing):
    writing.offer(A)
    writing.run()
    data = writing.reader.received()
    assert data[:6] == b"2W\0\0\0\1"
    assert data[6:8] == b"2C"
    assert struct.unpack(">I", data[8:12])[0] == len(data) - 12


def test_a_window_can_be_plain_frames(tmp_path):
    with Writing(tmp_path, "|compression=0") as writing:
        writing.accept()
        writing.offer(A)
        writing.run()
        assert writing.reader.received() == b"2W\0\0\0\1" + b"2J\0\0\0\1" + struct.pack(">I", len(A)) + A


def test_what_waits_goes_into_one_window(writing):
    writing.offer_apart(A, B)
    # Two windows may be on their way: what comes now waits for the first acknowledgement.
    writing.offer(C, D, A)
    before = writing.heard()
    writing.answer(ack(len(before[0])))
    after = writing.heard(0)
    assert [len(window) for window in before] == [1, 1]
    assert [[sequence for sequence, _ in window] for window in after] == [[1, 2, 3]]


def test_the_sender_position_is_what_was_acknowledged(writing):
    writing.offer_apart(A, B)
    first, second = writing.heard()
    assert writing.unacknowledged() == 128
    writing.answer(ack(1))
    assert writing.unacknowledged() == 64
    writing.answer(ack(1))
    assert writing.unacknowledged() == 0
    assert len(first) == len(second) == 1


def test_an_acknowledgement_of_a_part_moves_nothing(tmp_path):
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


def test_a_slow_reader_holds_the_publisher_back(tmp_path):
    with Writing(tmp_path, "|term-length=64k") as writing:
        writing.accept()
        outcomes = set()
        for _ in range(3000):
            outcomes.add(min(writing.publication.offer(A * 10), 0))
            writing.step()
        assert results.BACK_PRESSURED in outcomes
        assert writing.unacknowledged() <= 65536


def test_no_more_windows_than_allowed_are_on_their_way(tmp_path):
    with Writing(tmp_path, "|pipeline=3|window=1") as writing:
        writing.accept()
        writing.offer(A, A, A, A, A)
        assert len(writing.heard()) == 3
        writing.answer(ack(1), ack(1))
        assert len(writing.heard()) == 2


def test_after_a_lost_connection_all_that_was_not_acknowledged_comes_again(tmp_path):
    with Writing(tmp_path, "|window=2|pipeline=8") as writing:
        writing.accept()
        writing.offer(A, B, C, D)
        sent = writing.heard()
        writing.answer(ack(len(sent[0])))
        writing.reader.close(aborts=True)
        writing.accept()
        again = [payload for window in writing.heard() for _, payload in window]
        assert again == [A, B, C, D][len(sent[0]) :]
        assert writing.counted("resends") == len(sent) - 1
        assert writing.counted("lost") == 1


def test_the_time_between_attempts_doubles(tmp_path):
    with Writing(tmp_path, listens=False) as writing:
        writing.run(100 * S)
        # 1, 2, 4, 8, 16, 32 and 60 s, half of each left to chance.
        assert 6 <= writing.counted("attempts") <= 10
        assert any("Connection refused" in error for error in writing.errors())
        assert not writing.publication.is_connected


def test_an_acknowledgement_shortens_the_time_again(writing):
    for _ in range(4):
        writing.offer(A)
        writing.heard()
        writing.answer(ack(1))
        writing.reader.close()
        before_ns = writing.now_ns
        writing.accept()
        assert writing.now_ns - before_ns < 1500 * MS


def test_a_reader_that_is_away_for_a_moment_is_still_connected(writing):
    writing.reader.close()
    writing.run(100 * MS)
    assert writing.publication.is_connected
    writing.listener.close()
    writing.run(10 * S)
    assert not writing.publication.is_connected


def test_a_reader_that_acknowledges_nothing_is_given_up(writing):
    writing.offer(A)
    writing.run(29 * S)
    assert writing.counted("lost") == 0
    writing.run(3 * S)
    assert writing.counted("lost") == 1
    assert "acknowledged nothing for longer than timeout=" in writing.errors()[0]


def test_signs_of_life_are_waited_for(writing):
    writing.offer(A)
    for _ in range(10):
        writing.run(20 * S)
        writing.answer(ack(0))
    assert writing.counted("lost") == 0
    assert writing.counted("keep-alives") == 10


def test_a_reader_that_gives_nothing_but_signs_of_life_is_told_after_five_minutes(writing):
    writing.offer(A, B)
    for _ in range(14):
        writing.run(20 * S)
        writing.answer(ack(0))
    assert writing.errors() == []
    for _ in range(14):
        writing.run(20 * S)
        writing.answer(ack(0))
    (error,) = writing.errors()
    assert "signs of life and acknowledged nothing for 5 minutes" in error
    assert "progress-timeout=" in error
    assert writing.counted("lost") == 0


def test_a_reader_that_gives_nothing_but_signs_of_life_is_given_up_where_it_is_asked_for(tmp_path):
    with Writing(tmp_path, "|progress-timeout=60s") as writing:
        writing.accept()
        writing.offer(A, B, C)
        writing.run(20 * S)
        # Of the same part again: no progress.
        writing.answer(ack(1), ack(1))
        writing.run(20 * S)
        writing.answer(ack(1))
        writing.run(29 * S)
        writing.answer(ack(0))
        assert writing.counted("lost") == 0
        writing.run(15 * S)
        assert writing.counted("lost") == 1
        assert "for longer than progress-timeout=" in writing.errors()[0]


def test_a_window_on_a_slow_way_is_no_silence(tmp_path):
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
        # The rest of it is on its way, and nothing more comes of the reader.
        writing.reader.capacity = 1 << 20
        writing.run(29 * S)
        assert writing.counted("lost") == 0
        writing.run(3 * S)
        assert "acknowledged nothing for longer than timeout=" in writing.errors()[0]


@pytest.mark.parametrize("answer", [ack(2), ack(1, b"1"), b"2J\0\0\0\1", b"HTTP/1.1 400"])
def test_what_is_no_acknowledgement_of_the_window_ends_the_connection(writing, answer):
    writing.offer(A)
    writing.heard()
    writing.answer(answer)
    assert writing.counted("lost") == 1
    writing.accept()
    assert [payload for window in writing.heard() for _, payload in window] == [A]


def test_any_bytes_can_be_wrapped(tmp_path):
    with Writing(tmp_path, "|wrap=true") as writing:
        writing.accept()
        writing.offer(b'a "line"\n\xff')
        ((_, payload),) = writing.heard()[0]
        assert json.loads(payload) == {"message": 'a "line"\n\ufffd'}


def test_what_no_reader_takes_is_passed_over_and_told(writing):
    writing.offer(b"no JSON", A)
    assert [payload for window in writing.heard() for _, payload in window] == [A]
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
        assert writing.heard() == [[(1, payload)]]


def test_the_end_of_a_term_is_no_event(tmp_path):
    with Writing(tmp_path, "|term-length=64k") as writing:
        writing.accept()
        sent, came = [], []
        for n in range(600):
            sent.append(b'{"n":"%0*d"}' % (200 + n % 90, n))
            writing.offer(sent[-1])
            for window in writing.heard(1 * MS):
                came += [payload for _, payload in window]
                writing.reader.send(ack(len(window)))
        assert came == sent


def test_a_connection_is_made_anew_after_its_time(tmp_path):
    with Writing(tmp_path, "|ttl=10s") as writing:
        writing.accept()
        writing.offer(A)
        writing.heard()
        writing.run(11 * S)
        assert not writing.reader.is_closed
        writing.offer(B)
        assert writing.heard() == []
        writing.answer(ack(1))
        writing.accept()
        assert [payload for window in writing.heard() for _, payload in window] == [B]
        assert writing.counted("lost") == 0


def test_a_closed_publication_waits_until_all_was_acknowledged(writing):
    writing.offer(A)
    writing.heard()
    writing.publication.close()
    writing.run(20 * S)
    assert len(writing.driver.log_files()) == 1
    writing.answer(ack(1))
    writing.run(20 * S)
    assert writing.driver.log_files() == []
    assert writing.errors() == []


def test_what_is_lost_with_a_closed_publication_is_told(writing):
    writing.offer(A)
    writing.heard()
    writing.listener.close()
    writing.reader.close()
    writing.publication.close()
    writing.run(30 * S)
    assert writing.driver.log_files() == []
    assert any("was closed with 64 bytes that no peer has confirmed" in error for error in writing.errors())


def test_each_stream_has_a_connection_of_its_own(writing):
    other = writing.result(writing.client.add_exclusive_publication_async(CHANNEL, 8))
    first = writing.reader
    writing.accept()
    writing.run_until(lambda: other.is_connected)
    writing.offer(A)
    other.offer(B)
    assert writing.heard() == [[(1, B)]]
    assert windows(first.received()) == [[(1, A)]]


def random_event(chance, length):
    """Return an event that cannot be deflated to much less than half."""
    return b'{"m":"%s"}' % chance.randbytes(length // 2).hex().encode()


def acknowledged(writing):
    """Acknowledge all windows until all is; return the payloads."""
    came = []
    for _ in range(400):
        found = writing.heard(10 * MS)
        came += payloads(found)
        writing.answer(*(ack(len(window)) for window in found))
        if writing.unacknowledged() == 0:
            return came
    raise AssertionError(f"{writing.unacknowledged()} bytes are not acknowledged; {writing.errors()}")


def test_a_window_that_there_is_no_memory_for_is_sent_as_several(tmp_path):
    with Writing(tmp_path, "|max-memory=512k|term-length=2m") as writing:
        writing.accept()
        chance = random.Random(1)
        sent = [random_event(chance, 6000) for _ in range(100)]
        # All of it is there when the first window is built: some of it goes in before the memory is spent.
        writing.driver.is_stalled = True
        for event in sent:
            assert writing.publication.offer(event) > 0
        writing.driver.is_stalled = False
        assert acknowledged(writing) == sent
        assert writing.counted("lost") == 0
        assert writing.counted("passed-over") == 0


@pytest.mark.parametrize("keys", ["", "|compression=0", "|wrap=true"])
def test_an_event_that_there_is_never_memory_for_is_passed_over_and_told(tmp_path, keys):
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


def test_an_event_longer_than_all_memory_does_not_wait_for_a_stream_that_holds_some(tmp_path):
    keys = "|max-memory=512k|term-length=16m|compression=0"
    with Writing(tmp_path, keys) as writing:
        writing.accept()
        # What this one's reader does not take is held.
        writing.reader.capacity = 0
        writing.offer(random_event(random.Random(1), 100_000))
        writing.publication = writing.result(
            writing.client.add_exclusive_publication_async(CHANNEL + keys, 8)
        )
        writing.accept()
        writing.offer(random_event(random.Random(1), 1 << 20), A)
        assert payloads(writing.heard(2 * S)) == [A]
        assert writing.counted("passed-over") == 1


def test_a_stream_that_is_idle_keeps_no_memory_from_another(tmp_path):
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


def test_a_reader_that_has_sent_nonsense_is_understood_when_it_is_back(writing):
    writing.offer(A)
    writing.heard()
    writing.answer(b"HTTP/1.1 400")
    writing.accept()
    assert acknowledged(writing) == [A]
    assert writing.counted("lost") == 1


def cut(writing, begin, end):
    """Have a publisher be dead that had claimed this part of the log and not written it."""
    (path,) = writing.driver.log_files()
    with path.open("r+b") as log:
        log.seek(begin)
        log.write(bytes(end - begin))


def test_a_message_whose_publisher_died_in_the_middle_of_it_is_passed_over_and_holds_nobody_up(tmp_path):
    keys = "|wrap=true|mtu=1408"
    with Writing(tmp_path, keys, is_exclusive=False) as writing:
        writing.accept()
        writing.offer(A)
        writing.answer(ack(1))
        begin = writing.publication.position
        writing.heard()
        writing.driver.is_stalled = True
        assert writing.publication.offer(b"x" * 5000) > 0
        cut(writing, begin + 1408, writing.publication.position)
        writing.driver.is_stalled = False
        writing.offer(B)
        assert writing.heard(10 * S) == []
        (((_, payload),),) = writing.heard(10 * S)
        assert json.loads(payload) == {"message": B.decode()}
        writing.answer(ack(1))
        assert writing.unacknowledged() == 0
        assert writing.driver.counted("unblocked_publications") == 1


def test_a_message_that_is_being_written_while_a_reader_takes_its_time_is_left_alone(tmp_path):
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
        assert payloads(writing.heard()) == [A, B]
        assert writing.driver.counted("unblocked_publications") == 0


def test_a_publication_that_ends_in_the_middle_of_a_message_leaves_no_log_behind(tmp_path):
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

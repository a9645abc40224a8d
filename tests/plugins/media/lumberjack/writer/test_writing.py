"""Messages of a publication become acknowledged events at a reader played by the tests."""

from __future__ import annotations

import json
import struct

from plain_codec import ack
from writing import CHANNEL, Writing, windows

from aeron_core.logbuffer import results
from aeron_core.testing.pair import MS, S

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


def test_each_stream_has_its_own_connection(writing):
    other = writing.result(writing.client.add_exclusive_publication_async(CHANNEL, 8))
    first = writing.reader
    writing.accept()
    writing.run_until(lambda: other.is_connected)
    writing.offer(A)
    other.offer(B)
    assert writing.received_windows() == [[(1, B)]]
    assert windows(first.received()) == [[(1, A)]]

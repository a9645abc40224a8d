import contextlib
import struct
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core._native import positions
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core.concurrent.error_log import DistinctErrorLog, ErrorRecord, read_errors
from aeron_core.errors import ProtocolError

MILLISECOND = 1_000_000


def make_log(length=1024, epoch_ms=1000):
    buffer = AtomicBuffer.allocate(length)
    clock = Clock.manual(epoch_ms=epoch_ms)
    return buffer, clock, DistinctErrorLog(buffer, clock)


def test_an_error_is_read_as_it_was_recorded():
    buffer, _, log = make_log()

    assert log.record(22, "invalid argument")

    assert list(read_errors(buffer)) == [ErrorRecord(1, 1000, 1000, "(22) invalid argument")]


def test_an_entry_is_its_header_and_text_aligned_to_eight():
    buffer, _, log = make_log()

    log.record(1, "a")
    log.record(-1, "b")

    assert buffer.get_bytes(0, 36) == struct.pack("<iiqq5s3xi", 29, 1, 1000, 1000, b"(1) a", 30)


def test_the_same_error_is_counted_in_its_entry():
    buffer, clock, log = make_log()
    log.record(22, "invalid argument")
    clock.advance(5 * MILLISECOND)

    log.record(22, "invalid argument")

    assert list(read_errors(buffer)) == [ErrorRecord(2, 1000, 1005, "(22) invalid argument")]
    assert log.distinct_count == 1


def test_an_error_of_a_handler_that_interrupts_a_record_is_recorded_after_it(monkeypatch):
    buffer, _, log = make_log()
    align = positions.align

    def interrupted(length, alignment):
        # The entry is complete, but the offset of the next one is still its own.
        monkeypatch.setattr(positions, "align", align)
        assert log.record(5, "from a signal handler")
        assert log.record(22, "invalid argument")
        return align(length, alignment)

    monkeypatch.setattr(positions, "align", interrupted)

    assert log.record(22, "invalid argument")

    assert [(record.observation_count, record.text) for record in read_errors(buffer)] == [
        (2, "(22) invalid argument"),
        (1, "(5) from a signal handler"),
    ]


@pytest.mark.parametrize("other", [(23, "invalid argument"), (22, "invalid argument: mtu")])
def test_errors_differ_by_code_and_by_description(other):
    buffer, _, log = make_log()
    log.record(22, "invalid argument")

    log.record(*other)

    assert [record.observation_count for record in read_errors(buffer)] == [1, 1]


@pytest.mark.parametrize("peer", ["10.0.0.9:40000", "[2001:db8::1]:1", "@a Unix socket", "x" * 47])
def test_the_last_peer_of_an_error_is_kept_beside_its_text(peer):
    buffer, _, log = make_log()
    log.record(22, "a frame", "10.0.0.255:65535")
    log.record(22, "no frame")

    log.record(22, "a frame", peer)

    first, second = read_errors(buffer)
    assert (first.text, first.last_peer, first.observation_count) == ("(22) a frame", peer, 2)
    assert first.line == f"(22) a frame; last peer {peer}"
    assert second.line == second.text == "(22) no frame"


def test_a_peer_that_is_too_long_is_cut():
    buffer, _, log = make_log()

    log.record(1, "a", "/" + "é" * 100)

    (record,) = read_errors(buffer)
    assert record.last_peer == "/" + "?" * 46


def test_the_missing_length_of_an_error_includes_its_peer():
    _, _, log = make_log(length=24 + 5 + len("; last peer ") + 47)

    assert log.missing_length(1, "a", "10.0.0.9:40000") == 88
    assert log.record(1, "a", "10.0.0.9:40000")
    assert log.missing_length(1, "a", "10.0.0.8:40000") == 0


def test_errors_last_observed_before_a_time_are_omitted():
    buffer, clock, log = make_log()
    log.record(1, "old")
    log.record(2, "old but seen again")
    clock.advance(MILLISECOND)
    log.record(2, "old but seen again")

    assert [record.text for record in read_errors(buffer, since_ms=1001)] == ["(2) old but seen again"]


def test_an_error_that_does_not_fit_is_dropped_and_counted():
    buffer, _, log = make_log(length=64)

    assert log.record(1, "x" * 20)
    assert not log.record(2, "y")
    assert not log.record(2, "y")
    assert log.record(1, "x" * 20)

    assert log.dropped_count == 2
    assert [record.observation_count for record in read_errors(buffer)] == [2]


def test_an_entry_may_end_with_the_buffer():
    buffer, _, log = make_log(length=30)

    assert log.record(1, "xy")

    assert [record.text for record in read_errors(buffer)] == ["(1) xy"]


def test_a_log_too_short_for_an_entry_is_empty():
    assert list(read_errors(AtomicBuffer(b"\xff" * 23))) == []


@pytest.mark.parametrize("length", [-1, 23, 1025, 2**31 - 1])
def test_an_impossible_entry_raises_after_the_entries_before_it(length):
    buffer, _, log = make_log()
    log.record(1, "a")
    buffer.put_i32(32, length)
    errors = read_errors(buffer)

    assert next(errors).text == "(1) a"
    with pytest.raises(ProtocolError, match=f"entry of {length} bytes at 32"):
        next(errors)


def test_concurrent_records_lose_no_observation():
    buffer, _, log = make_log(length=65536)

    def record():
        for number in range(1000):
            log.record(number % 10, "error")

    threads = [threading.Thread(target=record, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert [record.observation_count for record in read_errors(buffer)] == [300] * 10


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_content_of_the_log_causes_a_read_outside_it(content):
    with contextlib.suppress(ProtocolError):
        assert len(list(read_errors(AtomicBuffer(content)))) <= len(content) // 24


def test_the_log_of_a_real_driver_is_read_as_recorded(recorded_cnc, cnc_section):
    expected = [
        ErrorRecord(r["observation_count"], r["first_observation_ms"], r["last_observation_ms"], r["text"])
        for r in recorded_cnc["error_log"]
    ]

    assert list(read_errors(cnc_section("error_log"))) == expected
    assert len(expected) == 4


def test_the_log_of_a_real_driver_is_reproduced_byte_for_byte(recorded_cnc, cnc_section):
    observations = []
    for r in recorded_cnc["error_log"]:
        code, _, description = r["text"].removeprefix("(").partition(") ")
        times = [r["first_observation_ms"]] + [r["last_observation_ms"]] * (r["observation_count"] - 1)
        observations += [(time, int(code), description) for time in times]
    recorded = cnc_section("error_log")
    buffer, clock, log = make_log(length=recorded.capacity, epoch_ms=0)

    for time, code, description in sorted(observations):
        clock.advance(time * MILLISECOND - clock.epoch_ns())
        log.record(code, description)

    assert buffer.get_bytes(0, buffer.capacity) == recorded.get_bytes(0, buffer.capacity)

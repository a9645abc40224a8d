import contextlib
import gzip
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.loss_report import LossEntry, read_loss_report
from aeron_core.concurrent.loss_writer import FULL, LossReport
from aeron_core.errors import ProtocolError

VECTORS = Path(__file__).parents[1] / "vectors" / "shm"
ENTRY = {
    "bytes_lost": 64,
    "now_ms": 1000,
    "session_id": -5,
    "stream_id": 7,
    "channel": "aeron:udp?endpoint=a:1",
    "source": "b:2",
}


def make_report(length=1024):
    buffer = AtomicBuffer.allocate(length)
    return buffer, LossReport(buffer)


def create(report, *, bytes_lost, now_ms, **stream):
    """Add an entry with its first loss."""
    losses = report.prepare(**stream)
    losses.record(bytes_lost, now_ms)
    return losses


def test_an_entry_is_read_as_it_was_made():
    buffer, report = make_report()

    assert create(report, **ENTRY).offset == 0

    expected = LossEntry(1, 64, 1000, 1000, -5, 7, "aeron:udp?endpoint=a:1", "b:2")
    assert list(read_loss_report(buffer)) == [expected]


def test_every_field_is_at_the_offset_of_the_format():
    buffer, report = make_report()

    create(report, **{**ENTRY, "channel": "abcde"})

    expected = struct.pack("<qqqqiii5s3xi3s", 1, 64, 1000, 1000, -5, 7, 5, b"abcde", 3, b"b:2")
    assert buffer.get_bytes(0, len(expected)) == expected


def test_an_observation_adds_to_its_entry_only():
    buffer, report = make_report()
    create(report, **ENTRY)
    losses = create(report, **ENTRY)

    losses.record(36, 1500)

    first, second = read_loss_report(buffer)
    assert (first.observation_count, first.total_bytes_lost, first.last_observation_ms) == (1, 64, 1000)
    assert (second.observation_count, second.total_bytes_lost, second.last_observation_ms) == (2, 100, 1500)
    assert second.first_observation_ms == 1000


@pytest.mark.parametrize("channel_length", range(10, 30))
@pytest.mark.parametrize("source_length", [3, 4, 5, 6])
def test_entries_of_every_length_are_read_one_after_the_other(channel_length, source_length):
    buffer, report = make_report()
    channels = ["c" * channel_length, "second"]

    for channel in channels:
        create(report, **{**ENTRY, "channel": channel, "source": "s" * source_length})

    assert [entry.channel for entry in read_loss_report(buffer)] == channels


def test_a_full_report_adds_no_entry_and_ignores_its_observations():
    buffer, report = make_report(length=128)
    create(report, **ENTRY)

    losses = create(report, **{**ENTRY, "channel": "c" * 100})

    assert losses.record(1, 2) == losses.offset == FULL
    assert len(list(read_loss_report(buffer))) == 1


def test_a_prepared_entry_is_in_the_report_only_after_its_first_loss():
    buffer, report = make_report()
    stream = {name: value for name, value in ENTRY.items() if name not in ("bytes_lost", "now_ms")}
    first, second = report.prepare(**stream), report.prepare(**{**stream, "session_id": 6})
    before = list(read_loss_report(buffer))

    second.record(64, 1000)
    first.record(32, 1001)

    assert before == []
    assert [entry.session_id for entry in read_loss_report(buffer)] == [6, -5]


def test_an_entry_that_did_not_fit_is_not_tried_again():
    buffer, report = make_report(length=75)
    losses = create(report, **{**ENTRY, "channel": "c" * 100})

    losses.record(1, 2)
    create(report, **ENTRY)

    assert losses.offset == FULL
    assert [entry.channel for entry in read_loss_report(buffer)] == [ENTRY["channel"]]


def test_an_entry_may_end_with_the_buffer():
    buffer, report = make_report(length=75)

    assert create(report, **ENTRY).offset == 0
    assert create(report, **ENTRY).offset == FULL

    assert len(list(read_loss_report(buffer))) == 1


@pytest.mark.parametrize("offset", [168, 196])
@pytest.mark.parametrize("length", [-1, 1000, 2**31 - 1])
def test_an_impossible_text_raises_after_the_entries_before_it(offset, length):
    buffer, report = make_report()
    create(report, **{**ENTRY, "channel": "c" * 50})
    assert create(report, **ENTRY).offset == 128
    buffer.put_i32(offset, length)
    entries = read_loss_report(buffer)

    assert next(entries).session_id == -5
    with pytest.raises(ProtocolError, match=f"text of {length} bytes at {offset}"):
        next(entries)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(-1, 80), st.binary(max_size=100))
def test_no_content_of_the_report_causes_a_read_outside_it(before, channel_length, behind):
    header = struct.pack("<q", 1) + before[:32].ljust(32, b"x")
    content = header + struct.pack("<i", channel_length) + before[32:] + behind

    with contextlib.suppress(ProtocolError):
        list(read_loss_report(AtomicBuffer(content)))


def recorded_reports():
    recorded = json.loads((VECTORS / "01-loss-report.json").read_text())
    return [recorded, recorded["of_scenario_04"]]


@pytest.mark.parametrize("recorded", recorded_reports(), ids=lambda recorded: recorded["file"])
def test_the_report_of_a_real_driver_is_read_as_recorded(recorded):
    buffer = AtomicBuffer(gzip.decompress((VECTORS / recorded["file"]).read_bytes()))

    entries = list(read_loss_report(buffer))

    assert len(entries) == len(recorded["entries"]) > 0
    for entry, expected in zip(entries, recorded["entries"], strict=True):
        for name in LossEntry.__slots__:
            assert getattr(entry, name) == expected[name]


@pytest.mark.parametrize("recorded", recorded_reports(), ids=lambda recorded: recorded["file"])
def test_the_report_of_a_real_driver_is_reproduced_byte_for_byte(recorded):
    content = gzip.decompress((VECTORS / recorded["file"]).read_bytes())
    buffer, report = make_report(length=len(content))

    for entry in recorded["entries"]:
        losses = create(
            report,
            bytes_lost=entry["total_bytes_lost"],
            now_ms=entry["first_observation_ms"],
            session_id=entry["session_id"],
            stream_id=entry["stream_id"],
            channel=entry["channel"],
            source=entry["source"],
        )
        assert losses.offset == entry["offset"]
        for _ in range(entry["observation_count"] - 1):
            losses.record(0, entry["last_observation_ms"])

    assert buffer.get_bytes(0, buffer.capacity) == content

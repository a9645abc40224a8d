"""Streams that `aeron-core record` has recorded."""

import gc
import itertools
import weakref
from types import SimpleNamespace

import pytest

from aeron_core.cli.records import recorded_streams
from aeron_core.cli.records.recorded_streams import MAX_ENDED, RecordedStreams
from aeron_core.recording.storage.descriptor import RecordingDescriptor


class Stream:
    """A recorder of an image, as far as the list of streams uses it."""

    def __init__(self, recording_id):
        descriptor = RecordingDescriptor(
            recording_id=recording_id,
            channel="aeron:ipc",
            stream_id=7,
            session_id=recording_id,
            source_identity="aeron:ipc",
            initial_term_id=0,
            term_length=65536,
            mtu_length=1408,
            start_position=0,
            segment_length=65536,
            start_time_ns=0,
        )
        self.writer = SimpleNamespace(descriptor=descriptor, recorded_position=0)
        self.image = SimpleNamespace(is_closed=False)
        self.is_stopped = False


@pytest.fixture
def streams(monkeypatch):
    """An empty list, whose clock advances by 30 s with each call."""
    times_s = itertools.count(0, 30)
    monkeypatch.setattr(recorded_streams, "time", SimpleNamespace(monotonic=lambda: next(times_s)))
    return RecordedStreams()


def test_a_recording_that_has_ended_does_not_keep_its_log(streams):
    stream = Stream(0)
    streams.add(stream)
    stream.writer.recorded_position = 64
    found = weakref.ref(stream)
    gc.disable()
    try:
        streams.show()
        assert found() is stream
        stream.is_stopped = True
        del stream

        streams.show()
        streams.show()

        assert found() is None
    finally:
        gc.enable()
    ((descriptor, position),) = streams.positions()
    assert (descriptor.recording_id, position) == (0, 64)
    assert [each["recorded_bytes"] for each in streams.documents("archive")] == [64]
    assert streams.sentence().startswith("recorded 64 bytes of 1 stream")


def test_the_number_of_ended_recordings_with_a_position_is_bounded(streams):
    for recording_id in range(MAX_ENDED + 10):
        stream = Stream(recording_id)
        stream.is_stopped = recording_id > 0
        streams.add(stream)
    streams.show()

    found = [descriptor.recording_id for descriptor, _ in streams.positions()]

    assert found == [*range(10, MAX_ENDED + 10), 0]


def test_only_a_recording_that_has_not_ended_is_active(streams):
    stream = Stream(0)
    streams.add(stream)
    streams.note_end()
    assert streams.was_active()

    stream.is_stopped = True
    streams.show()
    streams.note_end()

    assert not streams.was_active()

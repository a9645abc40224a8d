"""The catalogue's entry of a recording."""

import pytest

from aeron_core.errors import CorruptRecordingError
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.testing.recordings import describe


def test_a_descriptor_reads_back_as_it_was_written():
    written = describe(stop_position=4096, stop_time_ns=5, is_end_of_stream=True)

    assert RecordingDescriptor.parse(written.format(), "x") == written


def test_fields_of_later_versions_are_ignored():
    text = describe().format().replace(b'"version": 1', b'"version": 1, "colour": "red"')

    assert RecordingDescriptor.parse(text, "x") == describe()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"version": 1', b'"version": 2', "x: version: Input should be 1"),
        (b'"term_length": 65536', b'"term_length": 65537', "term length=65537: must be a power of two"),
        (b'"segment_length": 131072', b'"segment_length": 32768', "segment_length=32768: must be a power"),
        (b'"start_position": 0', b'"start_position": 7', "start_position: Input should be a multiple of 32"),
        (b'"stop_position": null', b'"stop_position": -32', "stop_position: Input should be greater"),
        (b'"start_time_ns": 17', b'"start_time_ns": 17000', "start_time_ns: Input should be less"),
        (b'"stop_time_ns": null', b'"stop_time_ns": -1', "stop_time_ns: Input should be greater"),
        (
            b'"recording_id": 0',
            b'"recording_id": 1000000000000000000000',
            "recording_id: Input should be less",
        ),
        (b"{", b"[", "x: descriptor: Invalid JSON"),
    ],
)
def test_an_invalid_descriptor_raises_with_the_field_and_the_cause(old, new, message):
    text = describe().format().replace(old, new, 1)

    with pytest.raises(CorruptRecordingError, match=message):
        RecordingDescriptor.parse(text, "x")

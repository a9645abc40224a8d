"""Recordings selected by a query, and their positions."""

import pytest
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading.offsets import Offset
from pyspark_aeron.reading.selection import Range, Selection

from aeron_core.errors import ConfigurationError, DataLossError, RecordingNotFoundError
from aeron_core.recording import Recording
from aeron_core.recording.storage.catalogue import update_descriptor
from aeron_core.testing.recordings import TERM_LENGTH


def select(written, **options):
    return Selection(SourceOptions.parse({"archive": str(written.store.folder), **options}))


def purge_first_term(written):
    (written.folder / "0-0.rec").unlink()
    (written.folder / "0-0.idx").unlink()
    update_descriptor(written.store, 0, start_position=2 * TERM_LENGTH)


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, [0, 1]),
        ({"recordings": "1"}, [1]),
        ({"channel": "aeron:ipc"}, [0]),
        ({"channelpattern": "aeron:udp.*"}, [1]),
        ({"channelpattern": "aeron"}, []),
        ({"streamid": "99"}, [1]),
        ({"streamid": "99", "channel": "aeron:ipc"}, []),
    ],
)
def test_recordings_are_selected_by_id_channel_and_stream(written, second, options, ids):
    assert [recording.recording_id for recording in select(written, **options).recordings()] == ids


def test_a_missing_recording_is_reported(written):
    with pytest.raises(RecordingNotFoundError, match="recording 5 in"):
        select(written, recordings="0,5").recordings()


def test_a_query_begins_at_its_starting_position(written, second):
    written.append(b"a", b"b")
    second.append(b"c")

    assert select(written).start().positions == {0: 0, 1: 0}
    assert select(written, startingposition="latest").start().positions == {0: 128, 1: 64}
    assert select(written, startingposition='{"0": 64, "1": -1}').start().positions == {0: 64, 1: 64}
    assert select(written, startingposition='{"0": 64}').start().positions == {0: 64, 1: 0}


def test_a_query_begins_after_messages_recorded_before_a_time(written):
    for _ in range(3):
        written.append(b"a")

    text = "2023-11-14T22:13:20.002+00:00"  # a millisecond after the first message, at the time of the second

    assert select(written, startingposition=text).start().positions == {0: 64}


def test_a_given_position_out_of_range_is_refused(written):
    written.append(b"a")

    with pytest.raises(DataLossError, match="recording 0 position 128: must be from 0 to 64"):
        select(written, startingposition='{"0": 128}').start()


def test_a_given_position_within_a_message_is_refused_with_a_valid_one(written):
    written.append(b"a" * 100, b"b")

    with pytest.raises(
        ConfigurationError, match="position 96: must be the end of a message, such as 0: frame"
    ):
        select(written, startingposition='{"0": 96}').start()


def test_waiting_ends_with_new_data_or_the_timeout(written):
    selection = select(written)
    start = selection.latest()
    assert selection.wait_after(start, 1_000_000) == start

    written.append(b"a")

    assert selection.wait_after(start, 10**12).positions == {0: 64}


def test_purged_data_is_an_error_with_a_remedy(written):
    for _ in range(3):
        written.fill_term()
    purge_first_term(written)
    selection = select(written)

    with pytest.raises(
        DataLossError, match="position 64: was purged, the first available position is 131072; set fail"
    ):
        selection.ranges(Offset(selection.archive.uuid, {0: 64}), selection.latest())


def test_purged_data_is_skipped_with_a_warning_on_request(written, capsys):
    for _ in range(3):
        written.fill_term()
    purge_first_term(written)
    selection = select(written, failondataloss="false")

    ranges = selection.ranges(Offset(selection.archive.uuid, {0: 64}), selection.latest())

    assert ranges == [Range(0, 2 * TERM_LENGTH, 3 * TERM_LENGTH)]
    assert "warning: data loss: recording 0 position 64" in capsys.readouterr().out


def test_a_later_recording_is_read_from_its_beginning(written, second):
    second.append(b"a")
    selection = select(written)

    assert selection.ranges(Offset(selection.archive.uuid, {0: 0}), selection.latest()) == [Range(1, 0, 64)]


def test_a_range_that_may_begin_within_a_message_has_an_earlier_position_near_it(written, monkeypatch):
    monkeypatch.setattr(Recording, "ends_with_message", False)
    selection = select(written)
    near = []
    for append in ((32,), (32,), (), (32,), (32,)):
        start = selection.latest()
        written.append(*map(bytes, append)) if append else written.fill_term()
        (piece,) = selection.ranges(start, selection.latest())
        near.append(piece.near)

    # The oldest that is known, until one is 64 KiB away.
    assert near == [None, 0, 0, 0, 64]
    (other,) = select(written).ranges(start, selection.latest())
    assert other == Range(0, start.positions[0], written.position)

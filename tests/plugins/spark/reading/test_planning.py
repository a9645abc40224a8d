"""Limits of micro-batches and their split into tasks."""

import pytest
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading.offsets import Offset
from pyspark_aeron.reading.planning import share_out, split
from pyspark_aeron.reading.selection import Range, Selection

from aeron_core.errors import CorruptRecordingError
from aeron_core.testing.recordings import TERM_LENGTH


def select(written, **options):
    return Selection(SourceOptions.parse({"archive": str(written.store.folder), **options}))


def offset(selection, **positions):
    return Offset(selection.archive.uuid, {int(key[1:]): value for key, value in positions.items()})


def test_data_within_the_limit_is_taken_completely(written):
    written.fill_term()
    selection = select(written)
    start, end = offset(selection, r0=0), selection.latest()

    assert share_out(selection, start, end, TERM_LENGTH) == end


def test_recordings_share_the_limit_in_proportion_to_their_lags(written, second):
    for _ in range(6):
        written.fill_term()
    for _ in range(2):
        second.fill_term()
    selection = select(written)

    shared = share_out(selection, offset(selection, r0=0, r1=0), selection.latest(), 4 * TERM_LENGTH)

    assert shared.positions == {0: 3 * TERM_LENGTH, 1: TERM_LENGTH}


def test_a_cut_is_at_a_message_boundary(written):
    for _ in range(100):
        written.append(b"x" * 68)  # frames of 128 bytes
    selection = select(written)

    shared = share_out(selection, offset(selection, r0=0), selection.latest(), 1000)

    assert shared.positions == {0: 7 * 128}


def test_the_minimum_share_is_one_message(written):
    for _ in range(10):
        written.append(b"x" * 68)
    selection = select(written)

    shared = share_out(selection, offset(selection, r0=128), selection.latest(), 1)

    assert shared.positions == {0: 256}


def test_a_piece_is_cut_at_term_boundaries(written):
    for _ in range(5):
        written.fill_term()
    selection = select(written)

    pieces = split(selection, [Range(0, 0, 5 * TERM_LENGTH)], 2 * TERM_LENGTH + 100, None)

    assert [(piece.begin // TERM_LENGTH, piece.end // TERM_LENGTH) for piece in pieces] == [
        (0, 2),
        (2, 4),
        (4, 5),
    ]


@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_the_requested_number_of_partitions_covers_the_range(written, count):
    for _ in range(100):
        written.append(b"x" * 68)
    selection = select(written)

    pieces = split(selection, [Range(0, 0, 100 * 128)], TERM_LENGTH, count)

    assert len(pieces) >= count
    assert [piece.begin for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    assert (pieces[0].begin, pieces[-1].end) == (0, 100 * 128)


def test_planning_is_reproducible(written):
    for _ in range(40):
        written.append(b"x" * 100)
    selection = select(written)
    ranges = [Range(0, 0, written.position)]

    before = split(selection, ranges, 1000, None)
    for _ in range(40):
        written.append(b"x" * 100)

    assert split(select(written), ranges, 1000, None) == before


def test_an_end_that_no_file_contains_is_refused_without_a_loop_up_to_it(written):
    written.fill_term()
    written.stop()
    path = written.folder / "recording.json"
    path.write_text(path.read_text().replace(f'"stop_position": {TERM_LENGTH}', f'"stop_position": {2**46}'))

    with pytest.raises(CorruptRecordingError, match=f"position {2**46}: must be within the files"):
        split(select(written), [Range(0, 0, 2**46)], TERM_LENGTH, None)

"""Names of files, and the segments of positions."""

import pytest

from aeron_core.recording.storage import names

K = 1024


def test_segments_have_the_names_of_aeron_archive():
    assert names.segment_file(3, 134217728) == "3-134217728.rec"
    assert names.parse_segment_file("3-134217728.rec") == 134217728


@pytest.mark.parametrize("name", ["3.rec", "3-1.idx", "recording.json", "3-x.rec", ".3-0.rec"])
def test_other_files_are_not_segments(name):
    assert names.parse_segment_file(name) is None


@pytest.mark.parametrize(
    ("start", "position", "base"),
    [
        (0, 0, 0),
        (0, 128 * K - 32, 0),
        (0, 128 * K, 128 * K),
        # A recording that begins within a term begins its first segment with that term.
        (64 * K + 96, 64 * K + 96, 64 * K),
        (64 * K + 96, 192 * K - 32, 64 * K),
        (64 * K + 96, 192 * K, 192 * K),
    ],
)
def test_a_segment_begins_with_a_term_and_holds_whole_terms(start, position, base):
    assert names.segment_base_position(start, position, 64 * K, 128 * K) == base

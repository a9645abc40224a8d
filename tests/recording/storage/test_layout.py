"""Segment files, read by the rules of Aeron Archive only.

Source: AeronArchive.segmentFileBasePosition, Archive.segmentFileName; DataHeaderFlyweight for the frames.
"""

import struct

import pytest

from aeron_core.recording.retention.purge import purge_before
from aeron_core.testing.recordings import INITIAL_TERM_ID, SESSION_ID, STREAM_ID, TERM_LENGTH

SEGMENT = 2 * TERM_LENGTH
HEADER = struct.Struct(
    "<iBBHiiiiq"
)  # length, version, flags, type, term offset, session, stream, term id, reserved
PADDING, DATA = 0, 1


def base_position(start, position, term_length, segment_length):
    first = start - (start & (term_length - 1))
    from_first = position - first
    return first + from_first - (from_first & (segment_length - 1))


def frames(folder, recording_id, start, stop):
    """Yield each frame of a recording, header and payload, with its position."""
    position = start
    while position < stop:
        base = base_position(start, position, TERM_LENGTH, SEGMENT)
        with (folder / f"{recording_id}-{base}.rec").open("rb") as file:
            file.seek(position - base)
            header = HEADER.unpack(file.read(HEADER.size))
            yield position, header, file.read(header[0] - HEADER.size)
        position += (header[0] + 31) & ~31


@pytest.mark.parametrize("start", [0, 96, TERM_LENGTH, TERM_LENGTH + 4096, 7 * TERM_LENGTH])
def test_each_frame_is_at_the_file_offset_of_its_position(begin, start):
    written = begin(start_position=start)
    for _ in range(6):
        written.fill_term()
    written.append(b"last")
    written.stop()

    found = list(frames(written.folder, 0, start, written.position))

    for position, (
        length,
        version,
        _,
        kind,
        term_offset,
        session_id,
        stream_id,
        term_id,
        _,
    ), payload in found:
        assert (version, session_id, stream_id) == (0, SESSION_ID, STREAM_ID)
        assert (term_id, term_offset) == (INITIAL_TERM_ID + position // TERM_LENGTH, position % TERM_LENGTH)
        assert kind == PADDING or len(payload) == length - HEADER.size
    assert found[-1][2] == b"last"
    assert [payload[:8] for _, header, payload in found[:-1] if header[3] == DATA] == [
        position.to_bytes(8, "little") for position, header, _ in found[:-1] if header[3] == DATA
    ]


def test_a_purge_leaves_a_start_that_follows_the_naming_rules(begin):
    written = begin(start_position=TERM_LENGTH + 4096)
    for _ in range(6):
        written.fill_term()
    purge_before(written.store, 0, 5 * TERM_LENGTH)

    start = written.archive.recording(0).start_position

    assert start == 5 * TERM_LENGTH
    assert next(frames(written.folder, 0, start, written.position))[0] == start
    assert sorted(path.name for path in written.folder.glob("*.rec")) == [f"0-{start}.rec"]


def test_finished_segments_have_the_full_segment_length(written):
    for _ in range(6):
        written.fill_term()
    written.append(b"a")

    assert {path.name: path.stat().st_size for path in written.folder.glob("*.rec")} == {
        "0-0.rec": SEGMENT,
        f"0-{SEGMENT}.rec": SEGMENT,
        f"0-{2 * SEGMENT}.rec": SEGMENT,
        f"0-{3 * SEGMENT}.rec": 64,
    }

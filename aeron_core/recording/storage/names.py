"""What the files of an archive are called, and which segment holds a position.

    archive.json                    whose archive this is
    archive.lock                    held while a recording is given its number
    recorder.lock                   held by the one recorder of the archive
    appender.lock                   held while a batch is appended
    staging/                        what tasks have written and no commit has appended
    recorder.json                   by which client it records, for its successor
    reserve                         room that a purge needs on a disk that is full
    consumers/<name>.json           how far a reader is, so that nothing is purged before it
    <id>/recording.json             the catalogue's entry of one recording
    <id>/mark                       how far a recording is that is being written
    <id>/<id>-<position>.rec        raw frames from that position on
    <id>/<id>-<position>.idx        when which of them were recorded, and their check sums

Segment files are named and laid out as those of Aeron Archive: a segment begins at the start of a term, and
the frame at position `p` stands at `p - base`. Source: AeronArchive, Archive.segmentFileName and
AeronArchive.segmentFileBasePosition.
"""

from __future__ import annotations

import re
from typing import Final

ARCHIVE: Final = "archive.json"
ARCHIVE_LOCK: Final = "archive.lock"
RECORDER_LOCK: Final = "recorder.lock"
APPENDER_LOCK: Final = "appender.lock"
STAGING: Final = "staging"
RECORDER: Final = "recorder.json"
RESERVE: Final = "reserve"
CONSUMERS: Final = "consumers"
DESCRIPTOR: Final = "recording.json"
MARK: Final = "mark"

_SEGMENT: Final = re.compile(r"(\d+)-(\d+)\.rec")
_RECORDING: Final = re.compile(r"\d+")


def segment_file(recording_id: int, base_position: int) -> str:
    """Return the name of the segment that begins at `base_position`."""
    return f"{recording_id}-{base_position}.rec"


def index_file(recording_id: int, base_position: int) -> str:
    """Return the name of that segment's index."""
    return f"{recording_id}-{base_position}.idx"


def parse_segment_file(name: str) -> int | None:
    """Return the base position in the name of a segment file, None for any other file."""
    match = _SEGMENT.fullmatch(name)
    return None if match is None else int(match[2])


def parse_recording_folder(name: str) -> int | None:
    """Return the recording id that a folder is named by, None for any other folder."""
    return int(name) if _RECORDING.fullmatch(name) else None


def segment_base_position(start_position: int, position: int, term_length: int, segment_length: int) -> int:
    """Return where the segment begins that holds `position` of a recording that began at `start_position`.

    The first segment begins with the term of the first position; what lies before that position is a hole.
    """
    first_base = start_position - start_position % term_length
    return first_base + (position - first_base) // segment_length * segment_length

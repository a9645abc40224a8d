"""File names of an archive, and the segment that holds a position.

    archive.json                    identity of the archive and next recording id
    archive.lock                    held while archive.json or a descriptor is changed
    recorder.lock                   held by the recorder of the archive
    appender.lock                   held while a batch is appended
    staging/                        data that tasks have written and no commit has appended
    recorder.json                   client ids of the recorder and its driver, for the successor
    reserve                         reserved space that a purge needs on a full disk
    consumers/<name>.json           lease: positions of a reader, which hold back the purge
    <id>/recording.json             descriptor: the catalogue's entry of one recording
    <id>/mark                       current position of a live recording
    <id>/<id>-<position>.rec        segment: raw frames from that position on
    <id>/<id>-<position>.idx        index: recording times and checksums of the frames

Segment files have the names and layout of Aeron Archive: a segment begins at the start of a term, and the
frame at position `p` has the file offset `p - base`. Source: AeronArchive, Archive.segmentFileName and
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
    """Return the name of the index of the segment that begins at `base_position`."""
    return f"{recording_id}-{base_position}.idx"


def parse_segment_file(name: str) -> int | None:
    """Return the base position in the name of a segment file, None for any other name."""
    match = _SEGMENT.fullmatch(name)
    return None if match is None else int(match[2])


def parse_recording_folder(name: str) -> int | None:
    """Return the recording id in the name of a recording's folder, None for any other name."""
    return int(name) if _RECORDING.fullmatch(name) else None


def segment_base_position(start_position: int, position: int, term_length: int, segment_length: int) -> int:
    """Return the base position of the segment that holds `position`.

    The first segment begins with the term of `start_position`; the file has a hole before that position.
    """
    first_base = start_position - start_position % term_length
    return first_base + (position - first_base) // segment_length * segment_length

"""`aeron-core recordings verify`: checks every frame and every checksum."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from aeron_core.archive.reading.address import is_address
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended, print_stderr
from aeron_core.cli.progress import byte_bar
from aeron_core.cli.records.selection import ArchiveUri, Checksum, RecordingIds, selected
from aeron_core.cli.text_table import counted
from aeron_core.errors import ConfigurationError, RecordingError
from aeron_core.recording.reading.verification import RecordingFault, VerifiedRecording, verify
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.acceptance import accept_damage

Accept = Annotated[
    bool,
    typer.Option(
        "--accept",
        help="First accept what is damaged: give valid frames the checksums of what they contain now. The old indexes "
        "are kept.",
    ),
]


def verify_recordings(
    uri: ArchiveUri,
    recording_ids: RecordingIds = None,
    accept: Accept = False,
    checksum: Checksum = None,
    json: Json = False,
) -> None:
    """Verify the frames and checksums of recordings.

    Reads each recording from end to end. Reports every fault with its position, and fails at the end if there is any.
    With --accept, readers no longer stop at damaged data that consists of valid frames; a recording that is not being
    recorded ends before the first invalid frame of its last file. No frame is changed.
    """
    if is_address(uri):
        raise ConfigurationError(
            f"{uri}: must be a folder or a URI of files: verify the folder of a running archive on its machine"
        )
    archive = Archive.open(uri, checksum=checksum)
    recordings = selected(archive, recording_ids)
    if accept:
        for recording in recordings:
            _accept(archive, recording)
    found: list[VerifiedRecording] = []
    sizes = {recording.recording_id: _size(recording) for recording in recordings}
    with byte_bar("verified", sum(sizes.values())) as advance:
        for recording in recordings:
            try:
                found.append(verify(archive.store, recording, time.time_ns(), advance))
            except RecordingError as error:
                fault = RecordingFault(recording.recording_id, 0, recording.described_in, str(error))
                found.append(VerifiedRecording(recording.recording_id, 0, 0, faults=[fault]))
    faults: list[object] = [*archive.faults(), *(fault for result in found for fault in result.faults)]
    if json:
        print_json([_document(result) for result in found])
    for result in found:
        if result.uncompared_checksum is not None:
            print_stderr(
                f"warning: recording {result.recording_id}: its frames have checksums, which were not compared: add "
                f"--checksum={result.uncompared_checksum}"
            )
        if result.unpublished_length:
            print_stderr(
                f"notice: recording {result.recording_id}: its recorder ended without publishing its last "
                f"{counted(result.unpublished_length, 'byte')}, from position {result.end} on: the next recorder keeps "
                "them, or cuts what the index does not cover if the machine has restarted"
            )
    for found_fault in faults:
        print_stderr(f"error: {found_fault}")
    length = sum(result.end - result.begin for result in found)
    frames = sum(result.frame_count for result in found)
    covered = sum(result.covered_length for result in found)
    print_stderr(
        f"verified {counted(len(found), 'recording')}, {counted(length, 'byte')}, {counted(frames, 'frame')}, "
        f"{counted(covered, 'byte')} covered by checksums: {counted(len(faults), 'fault')}"
    )
    if faults:
        print_stderr("restore the files with faults from a copy, or export other parts of their recordings")
        raise ended(EXIT_FAILURE)


def _accept(archive: Archive, recording: Recording) -> None:
    try:
        for text in accept_damage(archive.store, recording, time.time_ns()):
            print_stderr(text)
    except RecordingError as error:
        print_stderr(f"error: {error}")


def _size(recording: Recording) -> int:
    try:
        return recording.size()
    except RecordingError:
        return 0


def _document(result: VerifiedRecording) -> dict[str, object]:
    return {
        "recording_id": result.recording_id,
        "begin": result.begin,
        "end": result.end,
        "frames": result.frame_count,
        "check_sums": result.check_sum_count,
        "covered_bytes": result.covered_length,
        "uncompared_checksum": result.uncompared_checksum,
        "unpublished_bytes": result.unpublished_length,
        "faults": [
            {"position": fault.position, "file": fault.file, "text": fault.text} for fault in result.faults
        ],
    }

"""Arguments that select recordings."""

from __future__ import annotations

from typing import Annotated

import typer

from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage.archive import Archive, FrameChecksum
from aeron_core.recording.storage.recording import Recording

ArchiveUri = Annotated[
    str,
    typer.Argument(
        metavar="ARCHIVE", help="Archive: a directory, or a URI such as s3://… or aeron:archive?…"
    ),
]
RecordingId = Annotated[
    int, typer.Argument(metavar="RECORDING_ID", min=0, help="Recording id, as shown by `recordings list`.")
]
RecordingIds = Annotated[
    list[int] | None, typer.Argument(metavar="RECORDING_ID", min=0, help="Recording ids; default: all.")
]

NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Do not compare the data with the checksums of the index.")
]
Checksum = Annotated[
    FrameChecksum | None,
    typer.Option(
        metavar="CHECKSUM",
        help="Compare the checksums that an Aeron Archive has stored in all frames, which its files do not state: "
        "crc32 or crc32c.",
    ),
]


def check_verifies(checksum: FrameChecksum | None, *, no_verify: bool) -> None:
    """Raise ConfigurationError for a checksum that is not to be compared."""
    if checksum is not None and no_verify:
        raise ConfigurationError(f"--checksum={checksum} and --no-verify: only one of them is allowed")


def selected(archive: Archive, recording_ids: list[int] | None) -> list[Recording]:
    """Return the selected recordings, all by default; raise RecordingNotFoundError for an unknown id."""
    if not recording_ids:
        return archive.recordings()
    return [archive.recording(recording_id) for recording_id in recording_ids]

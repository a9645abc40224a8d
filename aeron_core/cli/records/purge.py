"""`aeron-core recordings purge`: deletes recordings, or their oldest segments."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from aeron_core.archive.reading.opening import open_archive
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.progress import share_bar
from aeron_core.cli.quantities import time_ns_of
from aeron_core.cli.records.selection import ArchiveUri, RecordingIds, selected
from aeron_core.cli.text_table import counted
from aeron_core.errors import ConfigurationError, RecordingError
from aeron_core.recording.retention.leases import needed_from, read_leases
from aeron_core.recording.retention.purge import finish_purges, purge_before, purge_recording
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.recording import Recording


def purge_recordings(  # noqa: PLR0913 - the options of the command
    uri: ArchiveUri,
    recording_ids: RecordingIds = None,
    before: Annotated[
        int | None,
        typer.Option(metavar="POSITION", min=0, help="Delete segments that end at or before this position."),
    ] = None,
    before_time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Like --before, by time: 2026-11-21T19:30Z, or 7d for seven days ago."
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Delete whole recordings, unless they are being recorded.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also delete data that consumers still need.")
    ] = False,
    json: Json = False,
) -> None:
    """Delete recordings, or their oldest segments.

    Without --force, fails and deletes nothing if the lease of a consumer needs any of the data. Only --all deletes the
    last segment of a recording.
    """
    given = {"--before": before is not None, "--before-time": before_time is not None, "--all": whole}
    if sum(given.values()) != 1:
        names = " and ".join(name for name, is_given in given.items() if is_given) or "no limit"
        raise ConfigurationError(f"{names} given: must be exactly one of {', '.join(given)}")
    if before is not None and len(recording_ids or []) != 1:
        raise ConfigurationError(
            f"--before with {len(recording_ids or [])} recording ids: must be exactly one, since positions differ "
            "between recordings"
        )
    archive = open_archive(uri)
    archive.check_is_own()
    finish_purges(archive.store)
    now_ns = time.time_ns()
    limits = {
        recording.recording_id: _limit(recording, before, before_time, now_ns)
        for recording in selected(archive, recording_ids)
    }
    if not force:
        _check_leases(archive, limits, now_ns)
    documents = _purged(archive, limits, now_ns, reports=not json)
    if json:
        print_json(documents)


def _purged(
    archive: Archive, limits: dict[int, int | None], now_ns: int, *, reports: bool
) -> list[dict[str, object]]:
    """Delete recordings before their limits, None for all; return a JSON document for each."""
    documents: list[dict[str, object]] = []
    with share_bar("purged", len(limits)) as show:
        for number, (recording_id, position) in enumerate(limits.items(), 1):
            if position is None:
                length = purge_recording(archive.store, recording_id, now_ns)
                start = None
            else:
                length = purge_before(archive.store, recording_id, position)
                start = archive.recording(recording_id).start_position
            documents.append({"recording_id": recording_id, "bytes": length, "start_position": start})
            if reports:
                rest = "none left" if start is None else f"it begins at {start}"
                print_stderr(f"recording {recording_id}: {counted(length, 'byte')} deleted, {rest}")
            show(number)
    return documents


def _limit(recording: Recording, before: int | None, before_time: str | None, now_ns: int) -> int | None:
    """Return the position before which to delete, None for all.

    Raises ConfigurationError for a malformed time, RecordingError if the recording cannot be read.
    """
    if before_time is not None:
        return recording.position_at(time_ns_of("--before-time", before_time, now_ns))
    return before


def _check_leases(archive: Archive, limits: dict[int, int | None], now_ns: int) -> None:
    leases = read_leases(archive.store)
    for recording_id, position in limits.items():
        needed = needed_from(leases, recording_id, now_ns)
        if needed is None:
            continue
        recording = archive.recording(recording_id)
        # Only whole segments are deleted: the one that contains `position` is kept from its base on.
        start = None if position is None else recording.segment_base(max(position, recording.start_position))
        if start is None or start > max(needed[0], recording.start_position):
            raise RecordingError(
                f"recording {recording_id}: consumer {needed[1]!r} needs it from position {needed[0]} on; use --force "
                "to delete it anyway"
            )

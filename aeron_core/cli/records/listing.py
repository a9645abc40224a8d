"""`aeron-core recordings list`: the recordings of an archive and their consumers."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from aeron_core.cli.options import Json, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended, print_stderr
from aeron_core.cli.quantities import time_text
from aeron_core.cli.records.selection import ArchivePlace
from aeron_core.errors import RecordingError
from aeron_core.recording.retention.leases import Lease, read_leases
from aeron_core.recording.retention.states import state_of
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.recording import Recording

_PIPE_WIDTH: Final = 240
_MEGABYTE: Final = 1_000_000


def list_recordings(
    place: ArchivePlace,
    consumers: Annotated[
        bool, typer.Option("--consumers", help="Also show the position of each consumer.")
    ] = False,
    json: Json = False,
) -> None:
    """List the recordings of an archive and their consumers."""
    archive = Archive.open(place)
    now_ns = time.time_ns()
    leases = read_leases(archive.store)
    documents, is_sound = [], True
    for recording in archive.recordings():
        try:
            documents.append(_document(recording, leases, now_ns))
        except RecordingError as error:
            is_sound = False
            print_stderr(f"error: {error}")
    if json:
        print_json(documents)
    else:
        console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
        console.print(_table(documents))
        if consumers:
            console.print(_consumers(archive, leases, now_ns))
    if not is_sound:
        raise ended(EXIT_FAILURE)


def _document(recording: Recording, leases: list[Lease], now_ns: int) -> dict[str, object]:
    descriptor, position = recording.descriptor, recording.position
    return {
        "recording_id": descriptor.recording_id,
        "state": state_of(recording, now_ns).value,
        "channel": descriptor.channel,
        "stream_id": descriptor.stream_id,
        "session_id": descriptor.session_id,
        "source_identity": descriptor.source_identity,
        "start_position": descriptor.start_position,
        "position": position,
        "stop_position": descriptor.stop_position,
        "bytes": position - descriptor.start_position,
        "segments": len(recording.segments()),
        "segment_length": descriptor.segment_length,
        "term_length": descriptor.term_length,
        "mtu_length": descriptor.mtu_length,
        "initial_term_id": descriptor.initial_term_id,
        "start_time": time_text(descriptor.start_time_ns),
        "stop_time": time_text(descriptor.stop_time_ns),
        "consumers": {
            lease.name: lease.positions[descriptor.recording_id]
            for lease in leases
            if descriptor.recording_id in lease.positions and lease.is_valid(now_ns)
        },
    }


def _table(documents: list[dict[str, object]]) -> Table:
    table = Table("id", "state", "channel", "stream", "session", "source", box=None, pad_edge=False)
    for name in ("start", "position", "MB"):
        table.add_column(name, justify="right")
    for name in ("since", "until", "needed from"):
        table.add_column(name)
    for document in documents:
        length = document["bytes"]
        assert isinstance(length, int)
        held = document["consumers"]
        assert isinstance(held, dict)
        table.add_row(
            *(
                str(document[name])
                for name in ("recording_id", "state", "channel", "stream_id", "session_id")
            ),
            str(document["source_identity"]),
            f"{document['start_position']:,}",
            f"{document['position']:,}",
            f"{length / _MEGABYTE:,.1f}",
            str(document["start_time"])[:19],
            str(document["stop_time"] or "")[:19],
            "  ".join(f"{name} {position:,}" for name, position in held.items()),
        )
    return table


def _consumers(archive: Archive, leases: list[Lease], now_ns: int) -> Table:
    """Return the position of each consumer, and the time of its last renewal."""
    table = Table("consumer", "renewed", "valid", "id", box=None, pad_edge=False)
    table.add_column("position", justify="right")
    table.add_column("bytes behind", justify="right")
    there = {recording.recording_id: recording for recording in archive.recordings()}
    for lease in leases:
        for recording_id, position in sorted(lease.positions.items()):
            recording = there.get(recording_id)
            behind = "gone" if recording is None else f"{max(recording.position - position, 0):,}"
            table.add_row(
                lease.name,
                str(time_text(lease.updated_ns))[:19],
                "yes" if lease.is_valid(now_ns) else "no",
                str(recording_id),
                f"{position:,}",
                behind,
            )
    return table

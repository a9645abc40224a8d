"""`aeron-core recordings list`: the recordings of an archive and their consumers."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from aeron_core.archive.reading.opening import open_archive
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended, print_stderr
from aeron_core.cli.progress import share_bar
from aeron_core.cli.quantities import time_text
from aeron_core.cli.records.selection import ArchiveUri
from aeron_core.cli.text_table import print_table
from aeron_core.errors import RecordingError
from aeron_core.recording.retention.leases import Lease, read_leases
from aeron_core.recording.retention.states import state_of
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.recording import Recording

_COLUMNS: Final = (
    *("id", "state", "channel", "stream", "session", "source"),
    *("start", "position", "MB", "since", "until", "needed from"),
)
#: Fields of the first columns.
_DESCRIPTION: Final = ("recording_id", "state", "channel", "stream_id", "session_id", "source_identity")
_MEGABYTE: Final = 1_000_000


def list_recordings(
    uri: ArchiveUri,
    consumers: Annotated[
        bool, typer.Option("--consumers", help="Also show the position of each consumer.")
    ] = False,
    json: Json = False,
) -> None:
    """List the recordings of an archive and their consumers."""
    archive = open_archive(uri)
    now_ns = time.time_ns()
    leases = read_leases(archive.store)
    documents, is_sound = [], True
    recordings = archive.recordings()
    with share_bar("read", len(recordings)) as show:
        for number, recording in enumerate(recordings, 1):
            try:
                documents.append(_document(recording, leases, now_ns))
            except RecordingError as error:
                is_sound = False
                print_stderr(f"error: {error}")
            show(number)
    for fault in archive.faults():
        is_sound = False
        print_stderr(f"error: {fault}")
    if json:
        print_json(documents)
    else:
        _print_recordings(documents)
        if consumers:
            _print_consumers(archive, leases, now_ns)
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


def _print_recordings(documents: list[dict[str, object]]) -> None:
    rows = []
    for document in documents:
        length = document["bytes"]
        assert isinstance(length, int)
        held = document["consumers"]
        assert isinstance(held, dict)
        rows.append(
            (
                *(str(document[name]) for name in _DESCRIPTION),
                f"{document['start_position']:,}",
                f"{document['position']:,}",
                f"{length / _MEGABYTE:,.1f}",
                str(document["start_time"])[:19],
                str(document["stop_time"] or "")[:19],
                "  ".join(f"{name} {position:,}" for name, position in held.items()),
            )
        )
    print_table(_COLUMNS, rows, right=("start", "position", "MB"))


def _print_consumers(archive: Archive, leases: list[Lease], now_ns: int) -> None:
    """Print the positions of each consumer, and the validity and last renewal of its lease."""
    header = ("consumer", "renewed", "valid", "id", "position", "bytes behind")
    rows = []
    there = {recording.recording_id: recording for recording in archive.recordings()}
    for lease in leases:
        for recording_id, position in sorted(lease.positions.items()):
            recording = there.get(recording_id)
            behind = "gone" if recording is None else f"{max(recording.position - position, 0):,}"
            rows.append(
                (
                    lease.name,
                    str(time_text(lease.updated_ns))[:19],
                    "yes" if lease.is_valid(now_ns) else "no",
                    str(recording_id),
                    f"{position:,}",
                    behind,
                )
            )
    print_table(header, rows, right=header[-2:])

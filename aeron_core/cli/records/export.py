"""`aeron-core recordings export`: writes the messages of a recording to a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.archive.reading.opening import open_archive
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.outcome import print_stderr, standard_output
from aeron_core.cli.progress import byte_bar
from aeron_core.cli.quantities import time_ns_of
from aeron_core.cli.records.selection import ArchiveUri, Checksum, NoVerify, RecordingId, check_verifies
from aeron_core.cli.text_table import counted
from aeron_core.errors import ConfigurationError
from aeron_core.recording.reading.export import ExportFormat, export
from aeron_core.recording.reading.messages import RecordedMessage, messages
from aeron_core.recording.storage.recording import Recording

Begin = Annotated[
    int | None,
    typer.Option(metavar="POSITION", min=0, help="Position of the first frame; default: the beginning."),
]
End = Annotated[
    int | None,
    typer.Option(metavar="POSITION", min=0, help="Position after the last frame; default: the end."),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Begin at this time: 2026-11-21T19:30Z, or 2h for two hours ago."),
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="End before this time.")]


def export_recording(  # noqa: PLR0913 - the options of the command
    uri: ArchiveUri,
    recording_id: RecordingId,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="File to write; default: the standard output."),
    ] = None,
    form: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Output format: lines, length-prefixed (int32, little-endian), arrow or parquet.",
        ),
    ] = ExportFormat.LINES,
    begin: Begin = None,
    end: End = None,
    since: Since = None,
    until: Until = None,
    no_verify: NoVerify = False,
    checksum: Checksum = None,
    json: Json = False,
) -> None:
    """Export the messages of a recording.

    Fails at data that does not have the checksum of the index, unless --no-verify. Fragmented messages are
    reassembled. Tables have the columns recording_id, session_id, stream_id, position (after the message),
    time (of the recording), reserved_value and payload. --json adds a summary.
    """
    check_verifies(checksum, no_verify=no_verify)
    recording = open_archive(uri, checksum=checksum).recording(recording_id)
    first, last = range_of(recording, begin, end, since, until)
    with ExitStack() as stack:
        file = standard_output() if output is None else stack.enter_context(output.open("wb"))
        advance = stack.enter_context(byte_bar("exported", last - first))
        found = messages(recording, first, last, verify=not no_verify)
        count = export(_counted(found, first, advance), recording.descriptor, file, form)
        file.flush()
    if json:
        document = {"recording_id": recording_id, "begin": first, "end": last, "messages": count}
        # Without a file, stdout carries the messages.
        print_json(document, to_stderr=output is None)
    else:
        print_stderr(
            f"exported {counted(count, 'message')} of recording {recording_id} from position {first} to {last}"
        )


def range_of(
    recording: Recording, begin: int | None, end: int | None, since: str | None, until: str | None
) -> tuple[int, int]:
    """Return the begin and end position of a range, each given as a position or a time; by default, all data.

    Raises ConfigurationError for a malformed time, if position and time are given for the same side, or if the end is
    before the begin; and RecordingError if the recording cannot be read.
    """
    for names, one, other in (("--begin and --since", begin, since), ("--end and --until", end, until)):
        if one is not None and other is not None:
            raise ConfigurationError(f"{names} are {one} and {other}: only one of them is allowed")
    given = [
        name
        for name, value in (("--begin", begin), ("--since", since), ("--end", end), ("--until", until))
        if value is not None
    ]
    now_ns = time.time_ns()
    if since is not None:
        begin = recording.position_at(time_ns_of("--since", since, now_ns))
    if until is not None:
        end = recording.position_at(time_ns_of("--until", until, now_ns))
    first = recording.start_position if begin is None else begin
    last = recording.position if end is None else end
    if first > last:
        raise ConfigurationError(
            f"range from position {first} to {last}: must end at or after its beginning; change {' or '.join(given)}"
        )
    return first, last


def _counted(
    found: Iterable[RecordedMessage], position: int, advance: Callable[[int], object]
) -> Iterator[RecordedMessage]:
    for message in found:
        advance(message.position - position)
        position = message.position
        yield message

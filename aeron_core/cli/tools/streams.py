"""`aeron-core streams`: shows the positions of each stream, from its publisher to its subscribers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

import typer

from aeron_core.cli.options import AeronDir, Json, directory_of, int32, positive, print_json
from aeron_core.cli.outcome import printable
from aeron_core.cli.text_table import BOLD, CYAN, DIM, YELLOW, counted, painted, share_text, table_lines
from aeron_core.cli.tools.live import Interval, Once, show
from aeron_core.concurrent.loss_report import read_loss_report
from aeron_core.errors import ProtocolError, StorageError
from aeron_core.observation.driver_files import DriverFiles, open_loss_report
from aeron_core.observation.streams import (
    ReceivedStream,
    SentStream,
    StreamSession,
    Subscriber,
    lag,
    streams_of,
)

#: Name, registration id, position, bytes behind, name of the position ahead.
_Row = tuple[str, int, int | None, int | None, str]

_COLUMNS = ("position", "registration", "bytes", "behind", "")

SessionOption = Annotated[
    int | None, typer.Option("--session", metavar="SESSION_ID", parser=int32, help="Show only this session.")
]
StreamOption = Annotated[
    int | None, typer.Option("--stream", metavar="STREAM_ID", parser=int32, help="Show only this stream.")
]


def streams(  # noqa: PLR0913 - the options of the command
    aeron_dir: AeronDir = None,
    session: SessionOption = None,
    stream: StreamOption = None,
    once: Once = False,
    interval: Interval = 1.0,
    json: Json = False,
) -> None:
    """Show the positions of each stream, and the lag of each party.

    Updates continuously on a terminal.
    """
    positive("--interval", interval)
    files = DriverFiles.open(directory_of(aeron_dir))
    if json:
        losses = losses_of(files)
        print_json(
            [
                {**document(found), "lost_bytes": losses[found.stream_id, found.session_id]}
                for found in selected(files, session, stream)
            ]
        )
        return
    show(lambda: _page(files, session, stream), interval, once=once)


def losses_of(files: DriverFiles) -> Counter[tuple[int, int]]:
    """Return the bytes in the loss report by stream id and session id; none if it cannot be read."""
    found: Counter[tuple[int, int]] = Counter()
    # Its file is missing or damaged: `aeron-core loss` reports that.
    with suppress(StorageError, ProtocolError):
        for entry in read_loss_report(open_loss_report(files.cnc.path.parent)):
            found[entry.stream_id, entry.session_id] += entry.total_bytes_lost
    return found


def selected(files: DriverFiles, session: int | None, stream: int | None) -> list[StreamSession]:
    """Return the streams of a session id and a stream id, each None for any."""
    return [
        found
        for found in streams_of(files.counters)
        if session in (None, found.session_id) and stream in (None, found.stream_id)
    ]


def document(stream: StreamSession) -> dict[str, object]:
    """Return a stream as a JSON document, with the lags that the table shows."""
    return {
        "stream_id": stream.stream_id,
        "session_id": stream.session_id,
        "publications": [asdict(publication) for publication in stream.publications.values()],
        "images": [asdict(image) for image in stream.images.values()],
        "lags": [
            {"name": name, "registration_id": identity, "bytes": behind, "behind": ahead}
            for name, identity, _, behind, ahead in _rows(stream)
            if behind is not None
        ],
    }


def _page(files: DriverFiles, session: int | None, stream: int | None) -> str:
    found = selected(files, session, stream)
    title = f"{time.strftime('%H:%M:%S')} - {counted(len(found), 'stream')} of {files.cnc.path.parent}"
    losses = losses_of(files)
    lines = (line for each in found for line in _lines(each, losses[each.stream_id, each.session_id]))
    return "\n".join([painted(title, BOLD), *lines])


def _lines(stream: StreamSession, lost: int) -> Iterator[str]:
    logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
    channels = dict.fromkeys(log.channel for log in logs if log.channel)
    identity = f"stream {stream.stream_id}  session {stream.session_id}  {'  '.join(channels)}"
    yield painted(printable(identity, kept=""), CYAN)
    rows = [
        (
            name,
            str(identity),
            "" if position is None else f"{position:,}",
            "" if behind is None else f"{behind:,}",
            ahead and f"behind {ahead}",
        )
        for name, identity, position, behind, ahead in _rows(stream)
    ]
    if lost:
        position = max((image.position or 0 for image in stream.images.values()), default=0)
        share = share_text(lost, position)
        rows.append(("lost", "", "", f"{lost:,}", share and f"{share} of rcv-pos"))
    yield from table_lines(
        _COLUMNS, rows, right=_COLUMNS[1:4], styles={"registration": DIM, "bytes": CYAN, "behind": YELLOW}
    )


def _rows(stream: StreamSession) -> Iterator[_Row]:
    for publication in stream.publications.values():
        yield from _sent_rows(publication)
    for image in stream.images.values():
        yield from _received_rows(image, stream.sent_position)


def _sent_rows(publication: SentStream) -> Iterator[_Row]:
    identity = publication.registration_id
    yield "pub-lmt", identity, publication.limit, None, ""
    yield "pub-pos", identity, publication.position, None, ""
    if publication.sender_limit is not None:
        yield "snd-lmt", identity, publication.sender_limit, None, ""
    if publication.sender_position is not None:
        behind = lag(publication.position, publication.sender_position)
        yield "snd-pos", identity, publication.sender_position, behind, "pub-pos"
    yield from _subscriber_rows(publication.subscribers, publication.position, "pub-pos")


def _received_rows(image: ReceivedStream, sent: int | None) -> Iterator[_Row]:
    identity = image.registration_id
    behind = lag(sent, image.high_water_mark)
    yield "rcv-hwm", identity, image.high_water_mark, behind, "snd-pos" if behind is not None else ""
    yield "rcv-pos", identity, image.position, lag(image.high_water_mark, image.position), "rcv-hwm"
    yield from _subscriber_rows(image.subscribers, image.position, "rcv-pos")


def _subscriber_rows(subscribers: list[Subscriber], source: int | None, name: str) -> Iterator[_Row]:
    for subscriber in subscribers:
        behind = lag(source, subscriber.position)
        yield "sub-pos", subscriber.registration_id, subscriber.position, behind, name

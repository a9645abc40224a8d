"""`aeron-core backlog`: unprocessed bytes of each party of a stream, and its window."""

from __future__ import annotations

import time

from aeron_core.cli.options import AeronDir, Json, directory_of, positive, print_json
from aeron_core.cli.text_table import BOLD, CYAN, DIM, YELLOW, painted, table_lines
from aeron_core.cli.tools.live import Interval, Once, show
from aeron_core.cli.tools.streams import SessionOption, StreamOption, selected
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.observation.streams import StreamSession, lag

_COLUMNS = ("role", "registration", "position", "backlog", "window", "channel")


def backlog(  # noqa: PLR0913 - the options of the command
    aeron_dir: AeronDir = None,
    session: SessionOption = None,
    stream: StreamOption = None,
    once: Once = False,
    interval: Interval = 1.0,
    json: Json = False,
) -> None:
    """Show the unprocessed bytes of each sender, receiver and subscriber.

    The window of a publisher is what it may offer before back pressure; that of a sender is what flow control
    allows it to send. Updates continuously on a terminal.
    """
    positive("--interval", interval)
    files = DriverFiles.open(directory_of(aeron_dir))
    if json:
        print_json([_document(found) for found in selected(files, session, stream)])
        return
    show(lambda: _page(files, session, stream), interval, once=once)


def _document(stream: StreamSession) -> dict[str, object]:
    return {
        "stream_id": stream.stream_id,
        "session_id": stream.session_id,
        "parties": [dict(zip(_COLUMNS, row, strict=True)) for row in _rows(stream)],
    }


def _rows(stream: StreamSession) -> list[tuple[str, int, int | None, int | None, int | None, str]]:
    rows: list[tuple[str, int, int | None, int | None, int | None, str]] = []
    for sent in stream.publications.values():
        window = lag(sent.limit, sent.position)
        rows.append(("publisher", sent.registration_id, sent.position, None, window, sent.channel))
        if sent.sender_position is not None:
            behind = lag(sent.position, sent.sender_position)
            window = lag(sent.sender_limit, sent.sender_position)
            rows.append(("sender", sent.registration_id, sent.sender_position, behind, window, sent.channel))
        for reader in sent.subscribers:
            behind = lag(sent.position, reader.position)
            rows.append(("subscriber", reader.registration_id, reader.position, behind, None, reader.channel))
    for image in stream.images.values():
        behind = lag(image.high_water_mark, image.position)
        rows.append(("receiver", image.registration_id, image.position, behind, None, image.channel))
        for reader in image.subscribers:
            behind = lag(image.high_water_mark, reader.position)
            rows.append(("subscriber", reader.registration_id, reader.position, behind, None, reader.channel))
    return rows


def _page(files: DriverFiles, session: int | None, stream: int | None) -> str:
    rows = [
        (
            str(found.stream_id),
            str(found.session_id),
            row[0],
            str(row[1]),
            *("" if value is None else f"{value:,}" for value in row[2:5]),
            row[5],
        )
        for found in selected(files, session, stream)
        for row in _rows(found)
    ]
    header = ("stream", "session", *_COLUMNS)
    title = f"{time.strftime('%H:%M:%S')} - bytes behind, of {files.cnc.path.parent}"
    right = [name for name in header if name not in ("role", "channel")]
    styles = {"registration": DIM, "position": CYAN, "backlog": YELLOW}
    return "\n".join([painted(title, BOLD), *table_lines(header, rows, right, styles)])

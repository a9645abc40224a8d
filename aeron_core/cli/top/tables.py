"""Tables of the view: rows of streams, drivers and errors, sorted and filtered.

Not here: what limits a stream and how fast it is (`aeron_core.observation`), and the widgets (`app`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from aeron_core.cli.outcome import printable
from aeron_core.cli.text_table import share_text
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.concurrent.error_report import date_of
from aeron_core.frozen import frozen
from aeron_core.observation.limitation import Limitation, Party, size_text
from aeron_core.observation.streams import ReceivedStream, SentStream, StreamSession, lag

#: Shown for what is not known.
UNKNOWN: Final = "-"
_NS_PER_MS: Final = 1_000_000
_LimitKey = tuple[int, int, bool, int]


@frozen()
class ViewCell:
    """A value of a table: its text, what it is sorted by, and whether it is a number or needs attention."""

    text: str
    order: float | str | None = None  # None is last
    is_number: bool = False
    is_alert: bool = False


@frozen()
class ViewRow:
    """A row of a table; `key` identifies it also when it has moved or changed."""

    key: tuple[object, ...]
    cells: tuple[ViewCell, ...]
    driver: ObservedDriver
    text: str = ""  # more text that the filter searches

    def matches(self, terms: Iterable[str]) -> bool:
        """Return whether each of the terms, in lower case, is somewhere in the row."""
        content = " ".join([*(each.text for each in self.cells), self.text]).lower()
        return all(term in content for term in terms)


@frozen()
class TableKind:
    """One table: its name, its columns, and the function that returns its rows."""

    name: str
    columns: tuple[str, ...]
    rows: Callable[[Moment], list[ViewRow]]


def arranged(rows: Iterable[ViewRow], column: int, *, is_reversed: bool, terms: str = "") -> list[ViewRow]:
    """Return the rows that have all blank-separated terms, sorted by a column; what is not known is last."""
    found = [row for row in rows if row.matches(terms.lower().split())]

    def order(row: ViewRow) -> tuple[bool, float | str]:
        value = row.cells[column].order
        return isinstance(value, str), value if value is not None else ""

    known = [row for row in found if row.cells[column].order is not None]
    unknown = [row for row in found if row.cells[column].order is None]
    return [*sorted(known, key=order, reverse=is_reversed), *unknown]


def stream_rows(moment: Moment) -> list[ViewRow]:
    """Return a row for each log: each publication and each image of each driver."""
    found: list[ViewRow] = []
    for driver, limits in _limits_by_driver(moment):
        if driver.snapshot is None:
            continue
        for stream in driver.snapshot.streams:
            logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
            found += [_stream_row(driver, stream, log, limits.get(_key_of_log(stream, log))) for log in logs]
    return found


def holding_back(moment: Moment) -> list[str]:
    """Return a sentence for each party that holds a stream back, farthest behind first, each party once."""
    found: dict[tuple[object, ...], tuple[ObservedDriver, Limitation]] = {}
    for driver, limit in moment.limitations:
        if not is_limited(limit) or driver.status is not DriverStatus.ALIVE:
            continue
        reader = None if limit.subscriber is None else limit.subscriber.registration_id
        place = None if limit.driver is None else limit.driver.aeron_dir
        key = (limit.stream_id, limit.session_id, limit.party, place, reader)
        before = found.get(key)
        # The log of the subscriber itself shows whether it polls.
        if before is None or (before[1].is_polling is None and limit.is_polling is not None):
            found[key] = (driver, limit)
    ordered = sorted(found.values(), key=lambda each: each[1].behind or 0, reverse=True)
    return [printable(limit.sentence, kept="") for _, limit in ordered]


def is_limited(limit: Limitation) -> bool:
    """Return whether a party holds a stream back that has subscribers."""
    return limit.party not in (Party.NONE, Party.NOT_CONNECTED)


def rate_text(rate: float | None) -> str:
    """Return bytes per second as text."""
    return UNKNOWN if rate is None else f"{size_text(max(round(rate), 0))}/s"


def size_cell(length: int | None, *, is_alert: bool = False) -> ViewCell:
    """Return a number of bytes with a unit; nothing for 0."""
    if length is None:
        return ViewCell(UNKNOWN, None, is_number=True)
    return ViewCell(
        size_text(length) if length else "0", length, is_number=True, is_alert=is_alert and length > 0
    )


def _lost_cell(lost: int | None, position: int | None) -> ViewCell:
    cell = size_cell(lost, is_alert=True)
    share = share_text(lost or 0, position)
    return replace(cell, text=f"{cell.text}, {share}") if share else cell


def position_cell(position: int | None) -> ViewCell:
    """Return a position in bytes, with all its digits."""
    return ViewCell(UNKNOWN if position is None else f"{position:,}", position, is_number=True)


def _limits_by_driver(moment: Moment) -> list[tuple[ObservedDriver, dict[_LimitKey, Limitation]]]:
    found: dict[int, dict[_LimitKey, Limitation]] = {}
    for driver, limit in moment.limitations:
        key = (limit.stream_id, limit.session_id, limit.kind == "image", limit.registration_id)
        found.setdefault(id(driver), {})[key] = limit
    return [(driver, found.get(id(driver), {})) for driver in moment.drivers]


def _key_of_log(stream: StreamSession, log: SentStream | ReceivedStream) -> _LimitKey:
    return stream.stream_id, stream.session_id, isinstance(log, ReceivedStream), log.registration_id


def _stream_row(
    driver: ObservedDriver, stream: StreamSession, log: SentStream | ReceivedStream, limit: Limitation | None
) -> ViewRow:
    rates, snapshot = driver.rates, driver.snapshot
    rate = events = lost = None
    if isinstance(log, SentStream):
        positions = [log.position, log.sender_position, None]
        if rates is not None:
            rate, events = rates.published(stream, log), rates.back_pressure_events(stream, log)
    else:
        positions = [None, stream.sent_position, log.position]
        rate = None if rates is None else rates.received(stream, log)
        if snapshot is not None:
            lost = sum(entry.total_bytes_lost for entry in snapshot.losses_of(stream))
    slowest = log.slowest
    cells = (
        ViewCell(str(stream.stream_id), stream.stream_id, is_number=True),
        ViewCell(str(log.kind), str(log.kind)),
        ViewCell(rate_text(rate), rate, is_number=True),
        size_cell(_behind(log, limit)),
        limit_cell(limit),
        ViewCell(UNKNOWN if events is None else f"{events:.0f}/s", events, is_number=True),
        _lost_cell(lost, log.position),
        *map(position_cell, positions),
        position_cell(None if slowest is None else slowest.position),
        ViewCell(str(stream.session_id), stream.session_id, is_number=True),
        _driver_cell(driver),
        _text_cell(log.channel),
    )
    key = (str(driver.state.aeron_dir), *_key_of_log(stream, log))
    return ViewRow(key, cells, driver, "" if limit is None else limit.sentence)


def _behind(log: SentStream | ReceivedStream, limit: Limitation | None) -> int | None:
    """Return the bytes that the limiting party is behind, else those of the party of this log that is most behind."""
    if limit is not None and limit.behind is not None and is_limited(limit):
        return limit.behind
    slowest = log.slowest
    read = lag(log.position, None if slowest is None else slowest.position)
    other = log.unsent if isinstance(log, SentStream) else lag(log.high_water_mark, log.position)
    return max((each for each in (read, other) if each is not None), default=None)


def limit_cell(limit: Limitation | None) -> ViewCell:
    """Return what limits a log, in a few terms."""
    if limit is None or limit.party is Party.NONE:
        return ViewCell(UNKNOWN, None)
    text = str(limit.party).replace("-", " ")
    if limit.subscriber is not None:
        owner = f", {limit.client.description}" if limit.client is not None else ""
        text = f"{text} {limit.subscriber.registration_id}{owner}"
    elif limit.driver is not None:
        text = f"{text}, {limit.driver_text}"
    elif limit.endpoint:
        text = f"{text} at {limit.endpoint}"
    return ViewCell(printable(text, kept=""), text, is_alert=is_limited(limit))


def _driver_cell(driver: ObservedDriver) -> ViewCell:
    name = printable(driver.state.aeron_dir.name or str(driver.state.aeron_dir), kept="")
    is_alive = driver.status is DriverStatus.ALIVE
    return ViewCell(name if is_alive else f"{name} ({driver.status})", name, is_alert=not is_alive)


def _text_cell(text: str) -> ViewCell:
    return ViewCell(printable(text, kept=""), text)


def driver_rows(moment: Moment) -> list[ViewRow]:
    """Return a row for each driver, also for those that are gone or not readable."""
    return [_driver_row(driver) for driver in moment.drivers]


def _driver_row(driver: ObservedDriver) -> ViewRow:
    state, snapshot = driver.state, driver.snapshot
    age = state.heartbeat_age_ms
    streams = clients = errors = lost = None
    if snapshot is not None:
        streams, clients, errors = len(snapshot.streams), len(snapshot.clients), len(snapshot.errors)
        lost = sum(entry.total_bytes_lost for entry in snapshot.losses)
    version, _, _ = state.software.removeprefix("version=").partition(" ")
    cells = (
        _text_cell(str(state.aeron_dir)),
        ViewCell(str(driver.status), str(driver.status), is_alert=driver.status is not DriverStatus.ALIVE),
        ViewCell(UNKNOWN if state.pid is None else str(state.pid), state.pid, is_number=True),
        ViewCell(UNKNOWN if age is None else f"{age / 1000:.1f} s", age, is_number=True),
        _count_cell(streams),
        _count_cell(clients),
        _count_cell(errors, is_alert=True),
        size_cell(lost, is_alert=True),
        _text_cell(version or state.cnc_version or UNKNOWN),
        _text_cell("; ".join([state.problem, *(snapshot.problems if snapshot else ())]).strip("; ")),
    )
    return ViewRow((str(state.aeron_dir),), cells, driver)


def _count_cell(count: int | None, *, is_alert: bool = False) -> ViewCell:
    text = UNKNOWN if count is None else f"{count:,}"
    return ViewCell(text, count, is_number=True, is_alert=is_alert and bool(count))


def error_rows(moment: Moment) -> list[ViewRow]:
    """Return a row for each distinct error of each driver, and for each part that could not be read.

    That a driver is gone is no error: the table of drivers shows it.
    """
    found = []
    for driver in moment.drivers:
        name = str(driver.state.aeron_dir)
        problem = "" if driver.status is DriverStatus.GONE else driver.state.problem
        problems = [problem, *(driver.snapshot.problems if driver.snapshot else ())]
        for text in filter(None, problems):
            cells = (
                ViewCell(date_of(moment.time_ns // _NS_PER_MS)[:19], moment.time_ns // _NS_PER_MS),
                _count_cell(1),
                _driver_cell(driver),
                _text_cell(f"not readable: {text}"),
            )
            found.append(ViewRow((name, text), cells, driver))
        for error in driver.snapshot.errors if driver.snapshot else ():
            cells = (
                ViewCell(date_of(error.last_observation_ms)[:19], error.last_observation_ms),
                _count_cell(error.observation_count),
                _driver_cell(driver),
                _text_cell(" ".join(error.line.split())),
            )
            found.append(ViewRow((name, error.first_observation_ms, error.text), cells, driver))
    return found


TABLES: Final[Sequence[TableKind]] = (
    TableKind(
        "streams",
        (
            *("stream", "kind", "rate", "behind", "limited by", "stopped", "lost", "publisher", "sender"),
            *("receiver", "subscriber", "session", "driver", "channel"),
        ),
        stream_rows,
    ),
    TableKind(
        "drivers",
        (
            *("directory", "state", "process", "heartbeat", "streams", "clients", "errors", "lost"),
            *("version", "problem"),
        ),
        driver_rows,
    ),
    TableKind("errors", ("last", "count", "driver", "error"), error_rows),
)

"""One stream in detail: all parties of all drivers that have the stream, from the publisher to the subscribers.

Not here: what limits a stream and how fast it is (`aeron_core.observation`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from aeron_core.cli.outcome import printable
from aeron_core.cli.text_table import counted
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.cli.top.tables import UNKNOWN, is_limited, rate_text
from aeron_core.concurrent.error_report import date_of
from aeron_core.frozen import frozen
from aeron_core.observation.limitation import Limitation, Party, size_text
from aeron_core.observation.streams import ReceivedStream, SentStream, StreamSession, lag

#: Styles of terminals that are legible on light and dark backgrounds.
ALERT: Final = "bold red"
HEADING: Final = "bold"


@frozen()
class PartyRow:
    """One party of a stream: its name, position in bytes, rate in bytes per second, bytes behind, and owner."""

    name: str
    position: int | None
    rate: float | None = None
    behind: int | None = None
    owner: str = ""
    is_limiting: bool = False


def parties_of(
    driver: ObservedDriver, stream: StreamSession, log: SentStream | ReceivedStream, limit: Limitation | None
) -> Iterator[PartyRow]:
    """Yield the parties of one log, in the direction of the data."""
    rates = driver.rates
    if isinstance(log, SentStream):
        yield PartyRow("publisher limit", log.limit)
        yield PartyRow(
            "publisher",
            log.position,
            None if rates is None else rates.published(stream, log),
            None,
            _client(driver, log.client_id),
        )
        if log.sender_limit is not None:
            yield PartyRow("sender limit", log.sender_limit)
        if log.sender_position is not None:
            name = "peer" if log.kind == "connection" else "sender"
            yield PartyRow(
                name, log.sender_position, None if rates is None else rates.sent(stream, log), log.unsent
            )
    else:
        behind = lag(stream.sent_position, log.high_water_mark)
        yield PartyRow("receiver, with gaps", log.high_water_mark, None, behind)
        gap = lag(log.high_water_mark, log.position)
        yield PartyRow(
            "receiver",
            log.position,
            None if rates is None else rates.received(stream, log),
            gap,
            is_limiting=limit is not None and limit.party is Party.LOSS,
        )
    for each in log.subscribers:
        yield PartyRow(
            f"{'spy' if each.kind == 'spy' else 'subscriber'} {each.registration_id}",
            each.position,
            None if rates is None else rates.consumed(stream, log, each),
            lag(log.position, each.position),
            _client(driver, each.client_id),
            limit is not None and limit.subscriber is not None
            and limit.subscriber.registration_id == each.registration_id,
        )  # fmt: skip


def stream_detail(moment: Moment, stream_id: int, session_id: int) -> RenderableType:
    """Return all about a stream: sentences, a table for each log, and losses."""
    parts: list[RenderableType] = [Text(f"Stream {stream_id}, session {session_id}", HEADING)]
    for driver in moment.drivers:
        stream = None if driver.snapshot is None else driver.snapshot.stream(stream_id, session_id)
        if stream is None:
            continue
        limits = {
            (each.kind == "image", each.registration_id): each
            for owner, each in moment.limitations
            if owner is driver and (each.stream_id, each.session_id) == (stream_id, session_id)
        }
        logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
        for log in logs:
            limit = limits.get((isinstance(log, ReceivedStream), log.registration_id))
            parts += [Text(""), *_log_parts(driver, stream, log, limit)]
        parts += _losses(driver, stream)
    if len(parts) == 1:
        parts.append(Text("The stream has ended, or its driver is gone.", ALERT))
    return Group(*parts)


def _log_parts(
    driver: ObservedDriver, stream: StreamSession, log: SentStream | ReceivedStream, limit: Limitation | None
) -> Iterator[RenderableType]:
    what = "image" if isinstance(log, ReceivedStream) else f"publication ({log.kind})"
    yield _text(f"{what} {log.registration_id} of driver {driver.state.aeron_dir}", HEADING)
    if driver.status is not DriverStatus.ALIVE:
        yield _text(f"the driver is {driver.status}: these are its last values", ALERT)
    if log.channel:
        yield _text(log.channel)
    if limit is not None:
        yield _text(limit.sentence, ALERT if is_limited(limit) else "")
    table = Table(box=None, pad_edge=False, header_style=HEADING)
    for name in ("party", "position", "rate", "behind", "owner"):
        is_right = name not in ("party", "owner")
        table.add_column(name, justify="right" if is_right else "left", overflow="fold")
    for row in parties_of(driver, stream, log, limit):
        table.add_row(
            _text(f"{row.name} *" if row.is_limiting else row.name),
            _text(UNKNOWN if row.position is None else f"{row.position:,}"),
            _text(rate_text(row.rate) if row.rate is not None else ""),
            _text("" if row.behind is None else size_text(row.behind)),
            _text(row.owner),
            style=ALERT if row.is_limiting else "",
        )
    yield table
    yield _text(_parameters(driver, log), "dim")


def _parameters(driver: ObservedDriver, log: SentStream | ReceivedStream) -> str:
    found = []
    if isinstance(log, SentStream):
        found += [
            _named("back-pressure events", log.back_pressure_events),
            _named("NAKs received", log.naks_received),
            _named("receivers", log.receivers),
        ]
    else:
        found += [_named("NAKs sent", log.naks_sent)]
    parameters = None if driver.snapshot is None else driver.snapshot.logs.get(log.registration_id)
    if parameters is not None:
        found += [
            f"term {counted(parameters.term_length, 'byte')}",
            f"MTU {counted(parameters.mtu, 'byte')}",
            _named("publisher window", parameters.publisher_window),
            _named("receiver window", parameters.receiver_window),
        ]
    return ", ".join(filter(None, found))


def _named(name: str, number: int | None) -> str:
    return "" if number is None else f"{name} {number:,}"


def _losses(driver: ObservedDriver, stream: StreamSession) -> Iterator[RenderableType]:
    if driver.snapshot is None:
        return
    for entry in driver.snapshot.losses_of(stream):
        first, last = date_of(entry.first_observation_ms)[:19], date_of(entry.last_observation_ms)[:19]
        yield _text(
            f"lost from {entry.source}: {size_text(entry.total_bytes_lost)} in {entry.observation_count:,} "
            f"losses, {first} to {last}",
            ALERT,
        )


def _client(driver: ObservedDriver, client_id: int) -> str:
    if client_id < 0 or driver.snapshot is None:
        return ""
    client = driver.snapshot.clients.get(client_id)
    return f"client {client_id}" if client is None else client.description


def _text(text: str, style: str = "") -> Text:
    return Text(printable(text, kept=""), style)

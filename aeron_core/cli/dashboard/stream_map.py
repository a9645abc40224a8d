"""Map of streams: publishers, drivers, channels, drivers and subscribers, with the streams between them.

    publisher -> driver -> channel -> driver -> subscriber
    publisher -> driver ----------------------> subscriber    of IPC, and spies

A publication and an image belong together if they have the same stream and session, in any of the drivers.
Invariant: the number of nodes is bounded; `hidden` counts the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aeron_core.cli.dashboard.documents import Json, clipped, rounded
from aeron_core.cli.text_table import counted
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.cli.top.tables import is_limited, rate_text
from aeron_core.observation.limitation import Limitation, Party
from aeron_core.observation.streams import ReceivedStream, SentStream, StreamKind, StreamSession, Subscriber

#: Nodes of a column, and streams that the text of a node names. Invented.
MAX_NODES: Final = 24
_MAX_NAMED: Final = 6
_MAX_LABEL: Final = 80
PUBLISHERS, SENDING, CHANNELS, RECEIVING, SUBSCRIBERS = range(5)
_TITLES: Final = ("publishers", "drivers, sending", "channels", "drivers, receiving", "subscribers")

NodeKey = tuple[object, ...]
StreamKey = tuple[int, int]


@dataclass(slots=True)
class _Node:
    """A node, with the streams that pass through it."""

    column: int
    label: str
    is_alert: bool = False
    detail: str = ""
    streams: dict[StreamKey, float] = field(default_factory=dict)  # bytes per second


@dataclass(slots=True)
class _Edge:
    """Streams from one node to another."""

    rates: dict[StreamKey, float] = field(default_factory=dict)  # bytes per second
    is_alert: bool = False


def map_of(moment: Moment, names: Mapping[Path, str]) -> Json:
    """Return the nodes, column by column, and the edges between them."""
    return _StreamMap(moment, names).document()


class _StreamMap:
    def __init__(self, moment: Moment, names: Mapping[Path, str]) -> None:
        self._names = names
        self._nodes: dict[NodeKey, _Node] = {}
        self._edges: dict[tuple[NodeKey, NodeKey], _Edge] = {}
        limits = {
            (
                id(driver),
                limit.stream_id,
                limit.session_id,
                limit.kind is StreamKind.IMAGE,
                limit.registration_id,
            ): limit
            for driver, limit in moment.limitations
        }
        #: Streams with the directory of the driver that loses their data or whose receiver's window is used.
        self._culprits = {
            (limit.stream_id, limit.session_id, limit.driver.aeron_dir)
            for _, limit in moment.limitations
            if limit.driver is not None and limit.party in (Party.LOSS, Party.RECEIVER)
        }
        streams = [
            (driver, stream)
            for driver in moment.drivers
            for stream in (driver.snapshot.streams if driver.snapshot else ())
        ]
        #: Channels of streams that a driver here sends.
        self._channels: dict[StreamKey, str] = {
            (stream.stream_id, stream.session_id): sent.channel
            for _, stream in streams
            for sent in stream.publications.values()
            if sent.kind is not StreamKind.IPC
        }
        for driver, stream in streams:
            for sent in stream.publications.values():
                limit = limits.get(
                    (id(driver), stream.stream_id, stream.session_id, False, sent.registration_id)
                )
                self._add_sent(driver, stream, sent, limit)
            for image in stream.images.values():
                limit = limits.get(
                    (id(driver), stream.stream_id, stream.session_id, True, image.registration_id)
                )
                self._add_received(driver, stream, image, limit)

    def _add_sent(
        self, driver: ObservedDriver, stream: StreamSession, sent: SentStream, limit: Limitation | None
    ) -> None:
        key, rates = (stream.stream_id, stream.session_id), driver.rates
        rate = (None if rates is None else rates.published(stream, sent)) or 0.0
        party = _party_of(limit)
        sending = self._driver(SENDING, driver)
        self._connect(self._client(PUBLISHERS, driver, sent.client_id), sending, key, rate)
        if sent.kind is not StreamKind.IPC:
            # Otherwise it is the line to the receiving driver.
            is_unknown = party is Party.RECEIVER and limit is not None and limit.driver is None
            is_alert = party in (Party.SENDER, Party.PEER) or is_unknown
            self._connect(sending, self._channel(sent.channel), key, rate, is_alert=is_alert)
        self._add_subscribers(driver, stream, sent, sending, limit)

    def _add_received(
        self, driver: ObservedDriver, stream: StreamSession, image: ReceivedStream, limit: Limitation | None
    ) -> None:
        key, rates = (stream.stream_id, stream.session_id), driver.rates
        rate = (None if rates is None else rates.received(stream, image)) or 0.0
        receiving = self._driver(RECEIVING, driver)
        channel = self._channel(self._channels.get(key, image.channel))
        is_culprit = (*key, driver.state.aeron_dir) in self._culprits
        self._connect(channel, receiving, key, rate, is_alert=is_culprit)
        self._nodes[receiving].is_alert |= is_culprit
        self._add_subscribers(driver, stream, image, receiving, limit)

    def _add_subscribers(
        self,
        driver: ObservedDriver,
        stream: StreamSession,
        log: SentStream | ReceivedStream,
        source: NodeKey,
        limit: Limitation | None,
    ) -> None:
        for each in log.subscribers:
            rate = (None if driver.rates is None else driver.rates.consumed(stream, log, each)) or 0.0
            node = self._client(SUBSCRIBERS, driver, each.client_id)
            is_alert = _is_culprit(limit, each)
            self._connect(source, node, (stream.stream_id, stream.session_id), rate, is_alert=is_alert)
            self._nodes[node].is_alert |= is_alert

    def _driver(self, column: int, driver: ObservedDriver) -> NodeKey:
        path = driver.state.aeron_dir
        is_alive = driver.status is DriverStatus.ALIVE
        detail = "" if is_alive else str(driver.status)
        return self._node((column, path), column, self._names[path], detail=detail, is_alert=not is_alive)

    def _channel(self, channel: str) -> NodeKey:
        return self._node((CHANNELS, channel), CHANNELS, channel or "unknown channel")

    def _client(self, column: int, driver: ObservedDriver, client_id: int) -> NodeKey:
        client = None if driver.snapshot is None else driver.snapshot.clients.get(client_id)
        if client is not None:
            label = client.description
        else:
            label = "unknown client" if client_id < 0 else f"client {client_id}"
        return self._node((column, driver.state.aeron_dir, client_id), column, label)

    def _node(
        self, key: NodeKey, column: int, label: str, *, detail: str = "", is_alert: bool = False
    ) -> NodeKey:
        if key not in self._nodes:
            self._nodes[key] = _Node(column, label, is_alert, detail)
        return key

    def _connect(
        self, source: NodeKey, target: NodeKey, stream: StreamKey, rate: float, *, is_alert: bool = False
    ) -> None:
        edge = self._edges.setdefault((source, target), _Edge())
        # A counter that was set back is no negative rate.
        edge.rates[stream] = edge.rates.get(stream, 0.0) + max(rate, 0.0)
        edge.is_alert |= is_alert
        for key in (source, target):
            streams = self._nodes[key].streams
            # What enters a driver leaves it again, so the larger one is its rate.
            streams[stream] = max(streams.get(stream, 0.0), edge.rates[stream])

    def document(self) -> Json:
        columns: list[list[NodeKey]] = [[] for _ in _TITLES]
        for key, node in self._nodes.items():
            columns[node.column].append(key)
        for column in columns:
            column.sort(key=lambda key: not self._nodes[key].is_alert)
        kept = [column[:MAX_NODES] for column in columns]
        grid = {key: (number, row) for number, column in enumerate(kept) for row, key in enumerate(column)}
        return {
            "columns": [
                {"title": title, "nodes": [_node_document(self._nodes[key]) for key in column]}
                for title, column in zip(_TITLES, kept, strict=True)
            ],
            "edges": [
                {
                    "from": grid[source],
                    "to": grid[target],
                    "rate": rounded(sum(edge.rates.values())),
                    "alert": edge.is_alert,
                    "text": clipped(_streams_text(edge.rates)),
                }
                for (source, target), edge in self._edges.items()
                if source in grid and target in grid
            ],
            "hidden": sum(map(len, columns)) - len(grid),
        }


def _node_document(node: _Node) -> Json:
    return {
        "label": clipped(_short(node.label) if node.column == CHANNELS else node.label, _MAX_LABEL),
        "full": clipped(node.label),
        "detail": clipped(node.detail or _streams_text(node.streams), _MAX_LABEL),
        "alert": node.is_alert,
    }


def _short(channel: str) -> str:
    """Return the medium and the address of a channel; all of it if it has no address."""
    medium, _, parameters = channel.removeprefix("aeron:").partition("?")
    named = dict(each.split("=", 1) for each in parameters.split("|") if "=" in each)
    address = named.get("endpoint") or named.get("control")
    return f"{medium} {address}" if address else channel


def _streams_text(rates: Mapping[StreamKey, float]) -> str:
    ids = list(dict.fromkeys(stream_id for stream_id, _ in rates))
    named = f"stream {_listed(ids)}" if len(ids) <= _MAX_NAMED else counted(len(ids), "stream")
    return f"{rate_text(sum(rates.values()))}, {named}"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _party_of(limit: Limitation | None) -> Party:
    return limit.party if limit is not None and is_limited(limit) else Party.NONE


def _is_culprit(limit: Limitation | None, subscriber: Subscriber) -> bool:
    return (
        limit is not None
        and limit.subscriber is not None
        and limit.subscriber.registration_id == subscriber.registration_id
    )

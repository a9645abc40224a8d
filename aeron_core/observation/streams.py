"""Streams of any driver, with the positions of all parties, from its counters.

Not here: their display, and what limits them (`limits`). The counters are read one after the other, so a position may
appear ahead of one that it follows; such a lag counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner, owner_of
from aeron_core.concurrent.counters import CounterRecord

_SPY_PREFIX: Final = "aeron-spy:"


class StreamKind(StrEnum):
    """What one log of a stream is, or one subscriber of it."""

    IPC = "ipc"  # a publication that its subscribers read in shared memory, or such a subscriber
    NETWORK = "network"  # a publication that a sender sends in datagrams
    CONNECTION = "connection"  # a publication over a connection, whose peer confirms what it received
    IMAGE = "image"  # what is received of a stream, or a subscriber of an image
    SPY = "spy"  # a subscriber that reads the log of a network publication


@dataclass(slots=True)
class ReceivedStream:
    """Receive side of a stream in one driver: an image, with the subscribers that read it.

    A position, in bytes, is None if the driver has no counter for it. `high_water_mark` includes gaps, `position` ends
    before the first one. `window` is the size that the congestion control publishes (CUBIC), in bytes.
    """

    registration_id: int  # of the image
    channel: str  # channel of the subscription
    high_water_mark: int | None = None  # highest position received, gaps included
    position: int | None = None  # position up to which all was received
    naks_sent: int | None = None  # requests for lost data
    window: int | None = None  # window of CUBIC
    subscribers: list[Subscriber] = field(default_factory=list)  # subscribers of the image

    @property
    def kind(self) -> StreamKind:
        """Always IMAGE."""
        return StreamKind.IMAGE

    @property
    def slowest(self) -> Subscriber | None:
        """The subscriber that has read least, None without subscribers."""
        return _slowest(self.subscribers)


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Position of one subscription in one log; `client_id` is -1 if the driver does not store the client."""

    registration_id: int  # of the subscription
    channel: str  # channel of the subscription
    position: int  # position up to which it has read
    client_id: int = types.DRIVER_OWNER_ID  # client of the subscription
    counter_id: int = -1  # counter with the position
    kind: StreamKind = StreamKind.IMAGE  # IPC, IMAGE or SPY


@dataclass(slots=True)
class SentStream:
    """Send side of a stream in one driver: the log that publishers write to.

    A position, in bytes, is None if the driver has no counter for it. Publishers may offer up to `limit`, the sender
    may send up to `sender_limit`. `receivers` are those that flow control tracks, None for a strategy without such a
    counter. `client_id` is that of the client that owns the counters, -1 for the driver.
    `subscribers` read the publisher's own log: those of IPC, and spies.
    """

    registration_id: int  # of the first publication of this log
    channel: str  # channel of the publication
    position: int | None = None  # position up to which publishers have offered
    limit: int | None = None  # position up to which they may offer
    sender_position: int | None = None  # position up to which was sent, or a peer has confirmed
    sender_limit: int | None = None  # position up to which flow control allows sending
    back_pressure_events: int | None = None  # how often flow control stopped the sender
    naks_received: int | None = None  # requests for lost data
    receivers: int | None = None  # receivers that flow control tracks
    client_id: int = types.DRIVER_OWNER_ID  # client of the publication
    subscribers: list[Subscriber] = field(default_factory=list)  # of IPC, and spies

    @property
    def kind(self) -> StreamKind:
        """IPC, NETWORK or CONNECTION."""
        if self.sender_position is None:
            return StreamKind.IPC
        # Of the media, only UDP sends datagrams. A damaged key has no channel.
        is_udp = not self.channel or self.channel.startswith("aeron:udp")
        return StreamKind.NETWORK if is_udp else StreamKind.CONNECTION

    @property
    def publisher_window(self) -> int | None:
        """What publishers may still offer before back pressure, in bytes; None if unknown."""
        return lag(self.limit, self.position)

    @property
    def sender_window(self) -> int | None:
        """What flow control still allows the sender to send, in bytes; None if unknown or without a sender."""
        return lag(self.sender_limit, self.sender_position)

    @property
    def unsent(self) -> int | None:
        """Bytes that were published and not sent, or not confirmed by the peer of a connection; None if unknown."""
        return lag(self.position, self.sender_position)

    @property
    def slowest(self) -> Subscriber | None:
        """The subscriber of this log that has read least, None without subscribers."""
        return _slowest(self.subscribers)


@dataclass(slots=True)
class StreamSession:
    """One session of one stream in one driver: its publications and images, by registration id."""

    session_id: int  # id of the session
    stream_id: int  # id of the stream
    publications: dict[int, SentStream] = field(default_factory=dict)  # by registration id
    images: dict[int, ReceivedStream] = field(default_factory=dict)  # by registration id

    @property
    def sent_position(self) -> int | None:
        """Sender position of the only publication of this driver; None if there are several, or none with a sender."""
        if len(self.publications) != 1:
            return None
        (publication,) = self.publications.values()
        return publication.sender_position


_SENT = {
    types.PUBLISHER_POSITION: "position",
    types.PUBLISHER_LIMIT: "limit",
    types.SENDER_POSITION: "sender_position",
    types.SENDER_LIMIT: "sender_limit",
    types.SENDER_BPE: "back_pressure_events",
    types.SENDER_NAKS_RECEIVED: "naks_received",
    types.FLOW_CONTROL_RECEIVERS: "receivers",
}
_RECEIVED = {
    types.RECEIVER_HWM: "high_water_mark",
    types.RECEIVER_POSITION: "position",
    types.RECEIVER_NAKS_SENT: "naks_sent",
}
#: Label of the counter of an image with the window of CUBIC. Source: aeron_congestion_control.c.
_WINDOW_NAME: Final = "rcv-cc-cubic-wnd"


def lag(ahead: int | None, behind: int | None) -> int | None:
    """Return the bytes between two positions, at least 0; None if either is unknown."""
    return None if ahead is None or behind is None else max(ahead - behind, 0)


def streams_of(records: Iterable[CounterRecord]) -> list[StreamSession]:
    """Return the streams, sorted by stream id and session id."""
    streams: dict[tuple[int, int], StreamSession] = {}
    readers: list[tuple[StreamSession, CounterRecord, CounterOwner]] = []
    for record, owner in _owned(records):
        stream = streams.setdefault(
            (owner.stream_id, owner.session_id), StreamSession(owner.session_id, owner.stream_id)
        )
        identity = owner.registration_id
        if record.type_id in _SENT:
            publication = stream.publications.setdefault(identity, SentStream(identity, owner.channel))
            setattr(publication, _SENT[record.type_id], record.value)
            if record.type_id == types.PUBLISHER_POSITION:
                publication.client_id = owner.client_id
        elif record.type_id in _RECEIVED or record.type_id == types.PER_IMAGE:
            image = stream.images.setdefault(identity, ReceivedStream(identity, owner.channel))
            setattr(image, _RECEIVED.get(record.type_id, "window"), record.value)
        else:
            readers.append((stream, record, owner))
    for stream, record, owner in readers:
        log = _read_log(stream, record.reference_id)
        log.subscribers.append(
            Subscriber(
                owner.registration_id,
                owner.channel,
                record.value,
                owner.client_id,
                record.id,
                _kind_of_subscriber(log, owner.channel),
            )
        )
    return [streams[key] for key in sorted(streams)]


def _kind_of_subscriber(log: SentStream | ReceivedStream, channel: str) -> StreamKind:
    if isinstance(log, ReceivedStream):
        return StreamKind.IMAGE
    is_spy = channel.startswith(_SPY_PREFIX) or log.kind is not StreamKind.IPC
    return StreamKind.SPY if is_spy else StreamKind.IPC


def _slowest(subscribers: Iterable[Subscriber]) -> Subscriber | None:
    return min(subscribers, key=lambda each: each.position, default=None)


def _owned(records: Iterable[CounterRecord]) -> Iterator[tuple[CounterRecord, CounterOwner]]:
    for record in records:
        if (
            record.type_id in _SENT
            or record.type_id in _RECEIVED
            or record.type_id == types.SUBSCRIBER_POSITION
            or (record.type_id == types.PER_IMAGE and record.label.startswith(_WINDOW_NAME))
        ):
            owner = owner_of(record)
            if owner is not None:
                yield record, owner


def _read_log(stream: StreamSession, reference_id: int) -> SentStream | ReceivedStream:
    """Return the log with the registration id `reference_id`; add an image if it is unknown."""
    if reference_id in stream.publications:
        return stream.publications[reference_id]
    if reference_id in stream.images:
        return stream.images[reference_id]
    # Older drivers do not write the reference: use the only log if there is one.
    logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
    if len(logs) == 1:
        return logs[0]
    return stream.images.setdefault(reference_id, ReceivedStream(reference_id, ""))

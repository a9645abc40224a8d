"""Streams of any driver, with the positions of all parties, from its counters.

Not here: their display. The counters are read one after the other, so a position may appear ahead of one that it
follows; such a lag counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner, owner_of
from aeron_core.concurrent.counters import CounterRecord


@dataclass(slots=True)
class ReceivedStream:
    """Receive side of a stream in one driver; a position is None if the driver has no counter for it."""

    registration_id: int
    channel: str
    high_water_mark: int | None = None
    position: int | None = None
    naks_sent: int | None = None
    subscribers: list[Subscriber] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Position of one subscription."""

    registration_id: int
    channel: str
    position: int


@dataclass(slots=True)
class SentStream:
    """Send side of a stream in one driver; a position is None if the driver has no counter for it.

    `subscribers` read the publisher's own log: those of IPC, and spies.
    """

    registration_id: int
    channel: str
    position: int | None = None
    limit: int | None = None
    sender_position: int | None = None
    sender_limit: int | None = None
    back_pressure_events: int | None = None
    naks_received: int | None = None
    subscribers: list[Subscriber] = field(default_factory=list)


@dataclass(slots=True)
class StreamSession:
    """One session of one stream in one driver."""

    session_id: int
    stream_id: int
    publications: dict[int, SentStream] = field(default_factory=dict)
    images: dict[int, ReceivedStream] = field(default_factory=dict)

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
}
_RECEIVED = {
    types.RECEIVER_HWM: "high_water_mark",
    types.RECEIVER_POSITION: "position",
    types.RECEIVER_NAKS_SENT: "naks_sent",
}


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
        elif record.type_id in _RECEIVED:
            image = stream.images.setdefault(identity, ReceivedStream(identity, owner.channel))
            setattr(image, _RECEIVED[record.type_id], record.value)
        else:
            readers.append((stream, record, owner))
    for stream, record, owner in readers:
        subscriber = Subscriber(owner.registration_id, owner.channel, record.value)
        _read_by(stream, record.reference_id).append(subscriber)
    return [streams[key] for key in sorted(streams)]


def _owned(records: Iterable[CounterRecord]) -> Iterator[tuple[CounterRecord, CounterOwner]]:
    for record in records:
        if (
            record.type_id in _SENT
            or record.type_id in _RECEIVED
            or record.type_id == types.SUBSCRIBER_POSITION
        ):
            owner = owner_of(record)
            if owner is not None:
                yield record, owner


def _read_by(stream: StreamSession, reference_id: int) -> list[Subscriber]:
    """Return the subscribers of the log with the registration id `reference_id`; add an image if it is unknown."""
    if reference_id in stream.publications:
        return stream.publications[reference_id].subscribers
    if reference_id in stream.images:
        return stream.images[reference_id].subscribers
    # Older drivers do not write the reference: use the only log if there is one.
    logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
    if len(logs) == 1:
        return logs[0].subscribers
    return stream.images.setdefault(reference_id, ReceivedStream(reference_id, "")).subscribers

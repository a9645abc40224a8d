"""Rates between two snapshots of one driver.

Aeron counts bytes, not messages: message rates exist only for counters of media that count events, such as
`lumberjack-events`, as the rate of that counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aeron_core.concurrent.counters import CounterRecord
from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.observation.snapshots import DriverSnapshot
from aeron_core.observation.streams import ReceivedStream, SentStream, StreamSession, Subscriber

_NS_PER_S: Final = 1_000_000_000


@frozen()
class CounterRates:
    """How fast each counter changed, by counter id, per second: bytes for positions, events for counts.

    `seconds` is the time between both snapshots. A counter that only one of them has, or whose id was reused, has no
    rate.
    """

    seconds: float  # between both snapshots
    per_second: Mapping[int, float]  # change of each counter, by its id
    _positions: Mapping[tuple[object, ...], float]

    def published(self, stream: StreamSession, log: SentStream) -> float | None:
        """Return the bytes per second that publishers appended to a log; None if unknown."""
        return self._of(stream, log, "position")

    def sent(self, stream: StreamSession, log: SentStream) -> float | None:
        """Return the bytes per second that the sender sent, or that the peer of a connection confirmed."""
        return self._of(stream, log, "sender_position")

    def received(self, stream: StreamSession, log: ReceivedStream) -> float | None:
        """Return the bytes per second that an image received without gaps."""
        return self._of(stream, log, "position")

    def consumed(
        self, stream: StreamSession, log: SentStream | ReceivedStream, subscriber: Subscriber
    ) -> float | None:
        """Return the bytes per second that a subscriber read from a log."""
        return self._positions.get((*_key(stream, log), "subscriber", subscriber.registration_id))

    def back_pressure_events(self, stream: StreamSession, log: SentStream) -> float | None:
        """Return how often per second flow control stopped the sender."""
        return self._of(stream, log, "back_pressure_events")

    def _of(self, stream: StreamSession, log: SentStream | ReceivedStream, name: str) -> float | None:
        return self._positions.get((*_key(stream, log), name))


def rates_between(first: DriverSnapshot, second: DriverSnapshot) -> CounterRates:
    """Return the rates from `first` to `second`; no counter has one if the driver was restarted in between.

    Raises ConfigurationError unless `second` was taken after `first`.
    """
    elapsed_ns = second.monotonic_ns - first.monotonic_ns
    if elapsed_ns <= 0:
        raise ConfigurationError(
            f"the second snapshot was taken {-elapsed_ns} ns before the first: must be later; exchange them"
        )
    seconds = elapsed_ns / _NS_PER_S
    if not first.is_same_driver(second):
        return CounterRates(seconds, {}, {})
    before = {record.id: record for record in first.counters}
    per_second = {
        record.id: (record.value - before[record.id].value) / seconds
        for record in second.counters
        if record.id in before and _identity(record) == _identity(before[record.id])
    }
    earlier = _values_of(first)
    positions = {
        key: (value - earlier[key]) / seconds for key, value in _values_of(second).items() if key in earlier
    }
    return CounterRates(seconds, per_second, positions)


def _identity(record: CounterRecord) -> tuple[object, ...]:
    return record.type_id, record.registration_id, record.key


def _key(stream: StreamSession, log: SentStream | ReceivedStream) -> tuple[object, ...]:
    return stream.stream_id, stream.session_id, type(log), log.registration_id


def _values_of(snapshot: DriverSnapshot) -> dict[tuple[object, ...], int]:
    """Return the positions and counts of all logs and subscribers."""
    found: dict[tuple[object, ...], int | None] = {}
    for stream in snapshot.streams:
        for sent in stream.publications.values():
            for name in ("position", "sender_position", "back_pressure_events"):
                found[(*_key(stream, sent), name)] = getattr(sent, name)
        for image in stream.images.values():
            found[(*_key(stream, image), "position")] = image.position
        logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
        for log in logs:
            for subscriber in log.subscribers:
                found[(*_key(stream, log), "subscriber", subscriber.registration_id)] = subscriber.position
    return {key: value for key, value in found.items() if value is not None}

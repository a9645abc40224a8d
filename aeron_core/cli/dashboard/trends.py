"""Values of streams over time, for plots: of all streams, of one driver, and of one stream.

A sample has a value for each of `NAMES`, None if it is not known:

    published, received, read   bytes per second
    unsent                      bytes that publishers have offered and the sender has not sent
    in_flight                   bytes that were sent and have not arrived; only if both drivers are observed
    unread                      bytes that the slowest subscriber has not read
    lost                        bytes per second in the loss report
    naks_sent, naks_received    per second
    stops                       how often per second flow control has stopped a sender
    rtt                         round trip in nanoseconds, of images with CUBIC

Rates are sums over streams; lags and round trips are those of the worst stream.
Invariant: memory is bounded by `MAX_SCOPES` and the capacity.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from aeron_core.cli.top.sources import Moment, ObservedDriver
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import owner_of
from aeron_core.observation.snapshots import DriverSnapshot
from aeron_core.observation.streams import ReceivedStream, SentStream, StreamSession, lag

NAMES: Final = (
    *("published", "received", "read", "unsent", "in_flight", "unread"),
    *("lost", "naks_sent", "naks_received", "stops", "rtt", "one_way"),
)
#: Scope of all streams.
ALL: Final = ""
#: Most scopes with samples. Invented: with 300 samples each, about 30 MB.
MAX_SCOPES: Final = 512

_WORST: Final = frozenset({"unsent", "in_flight", "unread", "rtt", "one_way"})
_RATES: Final = {
    types.PUBLISHER_POSITION: "published",
    types.RECEIVER_POSITION: "received",
    types.SUBSCRIBER_POSITION: "read",
    types.RECEIVER_NAKS_SENT: "naks_sent",
    types.SENDER_NAKS_RECEIVED: "naks_received",
    types.SENDER_BPE: "stops",
}
#: Values in ns, by the beginning of the labels of counters of an image: the round trip of CUBIC, and the latency that
#: `one_way_latency_interval_ns` measures. Source of the first: aeron_congestion_control.c.
_TIMES: Final = {"rcv-cc-cubic-rtt": "rtt", "rcv-owl-latency": "one_way"}

Sample = dict[str, float]
_NAN: Final = float("nan")
StreamKey = tuple[int, int]


def scope_of_stream(stream_id: int, session_id: int) -> str:
    """Return the scope of a stream."""
    return f"stream {stream_id} {session_id}"


def scope_of_driver(driver: ObservedDriver) -> str:
    """Return the scope of a driver."""
    return f"driver {driver.state.aeron_dir}"


class Trends:
    """The last `capacity` samples of each scope. One thread at a time."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._times_ns: deque[int] = deque(maxlen=capacity)
        self._number = 0
        #: Number of the moment, and the values in the order of `NAMES`, NaN if they are not known.
        self._samples: dict[str, deque[tuple[int, array[float]]]] = {}

    def add(self, moment: Moment) -> None:
        """Add the samples of a moment."""
        self._number += 1
        self._times_ns.append(moment.time_ns)
        scopes: dict[str, Sample] = {ALL: {}}
        for driver, key, values in _values(moment):
            for scope in (ALL, scope_of_driver(driver), scope_of_stream(*key)):
                _merge(scopes.setdefault(scope, {}), values)
        oldest = self._number - self._capacity
        for scope in [name for name, kept in self._samples.items() if kept[-1][0] <= oldest]:
            del self._samples[scope]
        for scope, sample in scopes.items():
            if scope in self._samples or len(self._samples) < MAX_SCOPES:
                kept = self._samples.setdefault(scope, deque(maxlen=self._capacity))
                kept.append((self._number, array("d", (sample.get(name, _NAN) for name in NAMES))))

    @property
    def times_ns(self) -> list[int]:
        """Times of the samples since the epoch, the oldest first."""
        return list(self._times_ns)

    def has(self, scope: str) -> bool:
        """Return whether there are samples of a scope."""
        return scope in self._samples

    def values(self, scope: str, name: str, last: int | None = None) -> list[float | None]:
        """Return a value of a scope at each of `times_ns`, or at the last ones; None where there is none."""
        count = len(self._times_ns) if last is None else min(last, len(self._times_ns))
        found: list[float | None] = [None] * count
        first, index = self._number - count + 1, NAMES.index(name)
        for number, sample in reversed(self._samples.get(scope, ())):
            if number < first:
                break
            value = sample[index]
            # NaN differs from itself.
            found[number - first] = value if value == value else None  # noqa: PLR0124
        return found


def _values(moment: Moment) -> Iterator[tuple[ObservedDriver, StreamKey, Sample]]:
    sent = _sent_positions(moment)
    for driver in moment.drivers:
        if driver.snapshot is None:
            continue
        found: dict[StreamKey, Sample] = {}
        for stream in driver.snapshot.streams:
            key = (stream.stream_id, stream.session_id)
            _merge(found.setdefault(key, {}), _lags(stream, sent.get(key)))
        _add_counters(driver, found)
        _add_losses(driver, found)
        for key, sample in found.items():
            yield driver, key, sample


def _add_losses(driver: ObservedDriver, found: dict[StreamKey, Sample]) -> None:
    if driver.snapshot is None or driver.previous is None or driver.rates is None:
        return
    before, now = _losses_of(driver.previous), _losses_of(driver.snapshot)
    for key, sample in found.items():
        # A stream without a loss so far has no entry.
        sample["lost"] = max(now[key] - before[key], 0) / driver.rates.seconds


def _losses_of(snapshot: DriverSnapshot) -> Counter[StreamKey]:
    totals: Counter[StreamKey] = Counter()
    for entry in snapshot.losses:
        totals[entry.stream_id, entry.session_id] += entry.total_bytes_lost
    return totals


def _merge(into: Sample, values: Sample) -> None:
    for name, value in values.items():
        before = into.get(name)
        if before is None:
            into[name] = value
        else:
            into[name] = max(before, value) if name in _WORST else before + value


def _sent_positions(moment: Moment) -> dict[StreamKey, int]:
    return {
        (stream.stream_id, stream.session_id): stream.sent_position
        for driver in moment.drivers
        for stream in (driver.snapshot.streams if driver.snapshot else ())
        if stream.sent_position is not None
    }


def _lags(stream: StreamSession, sent_position: int | None) -> Sample:
    found: dict[str, list[int | None]] = {
        "unsent": [each.unsent for each in stream.publications.values()],
        "in_flight": [lag(sent_position, each.high_water_mark) for each in stream.images.values()],
    }
    logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
    found["unread"] = [lag(log.position, log.slowest.position) for log in logs if log.slowest is not None]
    known = {name: [each for each in lags if each is not None] for name, lags in found.items()}
    return {name: float(max(lags)) for name, lags in known.items() if lags}


def _add_counters(driver: ObservedDriver, found: dict[StreamKey, Sample]) -> None:
    assert driver.snapshot is not None
    rates = {} if driver.rates is None else driver.rates.per_second
    for record in driver.snapshot.counters:
        name = _RATES.get(record.type_id)
        value = rates.get(record.id)
        if record.type_id == types.PER_IMAGE:
            name = _TIMES.get(record.label.partition(":")[0])
            # A time is 0 until it was measured, and anything in a damaged counter.
            value = float(record.value) if record.value > 0 else None
        owner = owner_of(record) if name is not None and value is not None else None
        if owner is None or name is None or value is None:
            continue
        sample = found.setdefault((owner.stream_id, owner.session_id), {})
        # A counter that a restarted party sets back is no negative rate.
        _merge(sample, {name: max(value, 0.0)})

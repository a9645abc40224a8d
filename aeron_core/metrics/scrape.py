"""Counters of a driver from its metrics in Prometheus's text format: the inverse of `samples`.

Metrics have neither ids of counters nor references between them: ids are derived from the labels, and a subscriber
refers to the image of its session, or to its publication. Metrics have no errors and losses of the driver.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from aeron_core._native import wire
from aeron_core.concurrent.counter_types import (
    PROTECTION,
    PUBLISHER_LIMIT,
    RECEIVER_POSITION,
    REFUSALS,
    SECURITY_NAME,
    SECURITY_REFUSED_NAME,
    SUBSCRIBER_POSITION,
    SYSTEM,
    CounterOwner,
    channel_key,
)
from aeron_core.concurrent.counters import NOT_FREE_TO_REUSE, CounterRecord
from aeron_core.errors import ProtocolError
from aeron_core.frozen import frozen
from aeron_core.metrics.samples import (
    HEARTBEAT_AGE,
    INFO,
    REFUSED_CONNECTIONS,
    SECURITY_EVENTS,
    SECURITY_REFUSED,
    STREAM_METRICS,
    SYSTEM_METRICS,
)
from aeron_core.observation.driver_files import DRIVER_TIMEOUT_MS
from aeron_core.observation.drivers import DriverState

_PREFIX: Final = "aeron_"
#: Samples of a text that are read. Invented.
MAX_SAMPLES: Final = 100_000
#: Characters of a line. Invented: the time of the parser grows with the square of them, 16 Ki take some milliseconds.
MAX_LINE_LENGTH: Final = 16 * 1024
_INT64: Final = 1 << 63
_MAX_DIGITS: Final = 18
_TYPES: Final = {f"{_PREFIX}{metric.name}": type_id for type_id, metric in STREAM_METRICS.items()}
_SYSTEM_IDS: Final = {f"{_PREFIX}{metric.name}": number for number, metric in enumerate(SYSTEM_METRICS)}
#: Type, start of the label, and label of the metric that continues it, of counters of channel endpoints. Which of the
#: refusals of a protector have the type REFUSALS is not in the metrics.
_OF_ENDPOINTS: Final = {
    f"{_PREFIX}{metric.name}": (type_id, prefix, metric.labels[0])
    for metric, type_id, prefix in (
        (SECURITY_REFUSED, PROTECTION, SECURITY_REFUSED_NAME),
        (SECURITY_EVENTS, PROTECTION, SECURITY_NAME),
        (REFUSED_CONNECTIONS, REFUSALS, ""),
    )
}
_HEARTBEAT: Final = f"{_PREFIX}{HEARTBEAT_AGE.name}"
_INFO: Final = f"{_PREFIX}{INFO.name}"
_LAG: Final = f"{_PREFIX}query_lag_bytes"
_AGE: Final = f"{_PREFIX}query_lag_seconds"


@frozen()
class ScrapedLag:
    """What a Spark query has not read of one stream; `seconds`: age of the oldest message, None if unknown."""

    query: str
    channel: str
    stream_id: str
    session_id: str
    recording_id: str
    bytes: int
    seconds: float | None = None


@frozen()
class ScrapedMetrics:
    """A text of metrics: the state and the counters of a driver, none if it has no driver, and lags of queries.

    `home`: the directory of the driver on its host, None if the metrics do not have it.
    """

    state: DriverState
    counters: tuple[CounterRecord, ...]
    queries: tuple[ScrapedLag, ...]
    home: Path | None = None


def scraped(text: str, name: str) -> ScrapedMetrics:
    """Return what a text of metrics contains; `name` stands for the directory of the driver.

    Raises ProtocolError if it is not in the text format, or if a line of it is too long.
    """
    longest = max(map(len, text.split("\n")))
    if longest > MAX_LINE_LENGTH:
        raise ProtocolError(
            f"a line of the metrics has {longest} characters: must have at most {MAX_LINE_LENGTH}"
        )
    try:
        found = list(islice(_samples(text), MAX_SAMPLES))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ProtocolError(f"no metrics in Prometheus's text format: {str(error)[:200]}") from error
    heartbeat_s = next((value for metric, _, value in found if metric == _HEARTBEAT), None)
    age_ms = None if heartbeat_s is None else int(heartbeat_s * 1000)
    identities = (_identity(labels) for metric, labels, _ in found if metric == _INFO)
    home, pid, start_ms = next(filter(None, identities), (None, None, None))
    state = DriverState(
        Path(name),
        is_alive=age_ms is not None and age_ms <= DRIVER_TIMEOUT_MS,
        pid=pid,
        start_timestamp_ms=start_ms,
        heartbeat_age_ms=age_ms,
    )
    records = [_record_of(metric, labels, int(value)) for metric, labels, value in found]
    counters = tuple(_referring([each for each in records if each]))
    return ScrapedMetrics(state, counters, tuple(_lags(found)), home)


def _identity(labels: Mapping[str, str]) -> tuple[Path, int, int] | None:
    """Return the directory, process id and start of a driver, None if the labels are not those of an identity."""
    pid, start_ms = labels.get("process", ""), labels.get("start_ms", "")
    if not all(each.isdecimal() and len(each) <= _MAX_DIGITS for each in (pid, start_ms)):
        return None
    return Path(labels.get("aeron_dir", "")), int(pid), int(start_ms)


def is_set_back(before: Iterable[CounterRecord], now: Iterable[CounterRecord]) -> bool:
    """Return whether a counter that only grows has decreased: metrics do not show otherwise that a driver restarted."""
    values = {each.id: each.value for each in before}
    return any(each.value < values.get(each.id, each.value) and _grows(each) for each in now)


def _grows(record: CounterRecord) -> bool:
    if record.type_id == SYSTEM:
        return record.id in range(len(SYSTEM_METRICS)) and SYSTEM_METRICS[record.id].grows
    if record.type_id in (PROTECTION, REFUSALS):
        return True
    metric = STREAM_METRICS.get(record.type_id)
    return metric is not None and metric.grows


def _samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith(_PREFIX) and math.isfinite(sample.value) and abs(sample.value) < _INT64:
                yield sample.name.removesuffix("_total"), sample.labels, sample.value


def _record_of(metric: str, labels: Mapping[str, str], value: int) -> CounterRecord | None:
    """Return the counter of a sample, None if the sample is not a counter, or its labels are not those of one."""
    if metric in _SYSTEM_IDS:
        number = _SYSTEM_IDS[metric]
        return _record(number, SYSTEM, b"", metric, value)
    try:
        if metric in _TYPES:
            registration_id, session_id, stream_id = (
                int(labels[name]) for name in ("registration_id", "session_id", "stream_id")
            )
            owner = CounterOwner(registration_id, session_id, stream_id, labels["channel"])
            key = owner.key()
            return _record(
                _id_of(metric, key), _TYPES[metric], key, owner.label(metric), value, registration_id
            )
        if metric in _OF_ENDPOINTS:
            type_id, prefix, name = _OF_ENDPOINTS[metric]
            label, key = f"{prefix}{labels[name]}: {labels['channel']}", channel_key(labels["channel"])
            registration_id = int(labels["registration_id"])
            identity = f"{label} {registration_id}".encode(errors="replace")
            return _record(_id_of(metric, identity), type_id, key, label, value, registration_id)
        if metric == f"{_PREFIX}counter":
            return _record(int(labels["id"]), int(labels["type_id"]), b"", labels["label"], value)
    except (KeyError, ValueError, OverflowError):
        pass
    return None


def _id_of(metric: str, key: bytes) -> int:
    # Above all ids of counters that a driver allocates.
    return (1 << 30) + (zlib.crc32(metric.encode() + key) & 0x3FFFFFFF)


def _record(  # noqa: PLR0913 - fields of a counter
    counter_id: int, type_id: int, key: bytes, label: str, value: int, registration_id: int = 0
) -> CounterRecord:
    return CounterRecord(
        counter_id,
        wire.COUNTER_STATE_ALLOCATED,
        type_id,
        NOT_FREE_TO_REUSE,
        key.ljust(wire.COUNTER_KEY_MAX_LENGTH, b"\0"),
        label,
        value,
        registration_id,
        -1,
        0,
    )


def _referring(records: list[CounterRecord]) -> Iterator[CounterRecord]:
    """Yield the counters, those of subscribers with a reference to the image of their session, else its publication."""
    logs: dict[bytes, int] = {}
    for type_id in (PUBLISHER_LIMIT, RECEIVER_POSITION):
        logs |= {_session_of(each): each.registration_id for each in records if each.type_id == type_id}
    for each in records:
        is_reader = each.type_id == SUBSCRIBER_POSITION
        yield replace(each, reference_id=logs.get(_session_of(each), 0)) if is_reader else each


def _session_of(record: CounterRecord) -> bytes:
    """Return session id and stream id, as the key has them."""
    return record.key[8:16]


def _lags(found: list[tuple[str, Mapping[str, str], float]]) -> Iterator[ScrapedLag]:
    ages = {tuple(labels.items()): value for metric, labels, value in found if metric == _AGE}
    for metric, labels, value in found:
        if metric == _LAG:
            texts = (
                labels.get(name, "")
                for name in ("query", "channel", "stream_id", "session_id", "recording_id")
            )
            query, channel, stream_id, session_id, recording_id = texts
            yield ScrapedLag(
                query,
                channel,
                stream_id,
                session_id,
                recording_id,
                int(value),
                ages.get(tuple(labels.items())),
            )

"""Metrics of a driver and their values: system counters by name, others with their stream, their channel or their id.

Not here: how a monitoring system names and receives them (prometheus, opentelemetry).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import owner_of
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.frozen import frozen
from aeron_core.observation.driver_files import DriverFiles


@frozen(slots=True)
class Metric:
    """A metric: `name` in words joined by `_`, without a prefix; `grows` if its values never decrease.

    `unit` is a code of UCUM, as in OpenTelemetry: `By` for bytes, `s` for seconds, `1` for a number of anything else.
    """

    name: str
    help: str
    grows: bool
    labels: tuple[str, ...] = ()
    unit: str = "1"


@frozen(slots=True)
class Sample:
    """A value of a metric, with a value for each of its labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


Samples = Callable[[], Iterable[Sample]]

#: System counters that may decrease, or that are not counts.
_SYSTEM_GAUGES: Final = frozenset(
    {
        "controllable_idle_strategy",
        "conductor_max_cycle_time",
        "sender_max_cycle_time",
        "receiver_max_cycle_time",
        "name_resolver_max_time",
        "aeron_version",
        "bytes_currently_mapped",
        "control_protocol_version",
    }
)


def _system_metric(name: str, label: str) -> Metric:
    # The label without the explanation of its value: up to a colon, or "i.e.".
    text = re.split(r": |, i\.e\.", label)[0]
    return Metric(f"driver_{name}", f"{text}.", name not in _SYSTEM_GAUGES)


#: Metrics of the system counters by counter id.
SYSTEM_METRICS: Final = tuple(_system_metric(name, label) for name, label in labelled(SystemCounterLabels()))
_STREAM_LABELS: Final = ("stream_id", "session_id", "registration_id", "channel")


def _stream_metric(name: str, text: str, *, grows: bool, unit: str = "By") -> Metric:
    return Metric(name, text, grows, _STREAM_LABELS, unit)


#: Metrics of the counters of streams by counter type.
STREAM_METRICS: Final = {
    types.PUBLISHER_LIMIT: _stream_metric(
        "publisher_limit_bytes", "Position up to which publishers may offer.", grows=False
    ),
    types.PUBLISHER_POSITION: _stream_metric(
        "publisher_position_bytes", "Position that publishers have reached.", grows=True
    ),
    types.SENDER_POSITION: _stream_metric(
        "sender_position_bytes", "Position up to which the sender has sent.", grows=True
    ),
    types.SENDER_LIMIT: _stream_metric(
        "sender_limit_bytes", "Position up to which flow control allows sending.", grows=False
    ),
    types.SENDER_BPE: _stream_metric(
        "sender_back_pressure_events", "Times that flow control has stopped the sender.", grows=True, unit="1"
    ),
    types.SENDER_NAKS_RECEIVED: _stream_metric(
        "sender_naks_received", "NAKs that the publication has received.", grows=True, unit="1"
    ),
    types.RECEIVER_HWM: _stream_metric(
        "receiver_high_water_mark_bytes", "Highest position received, gaps or not.", grows=True
    ),
    types.RECEIVER_POSITION: _stream_metric(
        "receiver_position_bytes", "Position up to which all data was received.", grows=True
    ),
    types.RECEIVER_NAKS_SENT: _stream_metric(
        "receiver_naks_sent", "NAKs that the image has sent.", grows=True, unit="1"
    ),
    types.SUBSCRIBER_POSITION: _stream_metric(
        "subscriber_position_bytes", "Position up to which the subscriber has read.", grows=True
    ),
}
_ENDPOINT_LABELS: Final = ("channel", "registration_id")
#: Datagrams that the protector of an endpoint did not open, and what else it counts; `name` as in its SPI.
SECURITY_REFUSED: Final = Metric(
    "security_refused_datagrams",
    "Datagrams that a secured channel has refused.",
    grows=True,
    labels=("reason", *_ENDPOINT_LABELS),
)
SECURITY_EVENTS: Final = Metric(
    "security_events",
    "What a secured channel has done: datagrams sealed and opened, handshakes, changes of keys.",
    grows=True,
    labels=("name", *_ENDPOINT_LABELS),
)
REFUSED_CONNECTIONS: Final = Metric(
    "refused_connections",
    "Connections that a channel endpoint or its peer has refused.",
    grows=True,
    labels=("name", *_ENDPOINT_LABELS),
)
#: Metrics of counters of channel endpoints.
ENDPOINT_METRICS: Final = (SECURITY_REFUSED, SECURITY_EVENTS, REFUSED_CONNECTIONS)
_COUNTER: Final = Metric(
    "counter", "Any other counter, by id.", grows=False, labels=("id", "type_id", "label")
)
HEARTBEAT_AGE: Final = Metric(
    "driver_heartbeat_age_seconds", "Time since the last heartbeat of the driver.", grows=False, unit="s"
)
#: What distinguishes a run of a driver from all others: a dashboard that reads it twice shows it once.
INFO: Final = Metric(
    "driver_info",
    "1, with the directory of the driver, its process id, and its start in ms since the epoch.",
    grows=False,
    labels=("aeron_dir", "process", "start_ms"),
)
_FREE: Final = Metric(
    "directory_free_bytes", "Free space in the file system of the driver's directory.", grows=False, unit="By"
)
_SIZE: Final = Metric(
    "directory_size_bytes", "Size of the file system of the driver's directory.", grows=False, unit="By"
)
#: All metrics. Those of the driver itself first.
METRICS: Final = (
    INFO,
    HEARTBEAT_AGE,
    _FREE,
    _SIZE,
    *SYSTEM_METRICS,
    *STREAM_METRICS.values(),
    *ENDPOINT_METRICS,
    _COUNTER,
)


def counter_samples(records: Iterable[CounterRecord]) -> Iterator[Sample]:
    """Yield one sample for each counter."""
    of_endpoints: set[tuple[str, ...]] = set()
    for record in records:
        owner = owner_of(record) if record.type_id in STREAM_METRICS else None
        if record.type_id == types.SYSTEM and record.id < len(SYSTEM_METRICS):
            yield Sample(SYSTEM_METRICS[record.id], (), record.value)
        elif owner is not None:
            labels = (owner.stream_id, owner.session_id, owner.registration_id)
            yield Sample(STREAM_METRICS[record.type_id], (*map(str, labels), owner.channel), record.value)
        else:
            sample = _endpoint_sample(record)
            # A client may allocate a counter with the type and the label of another one. Prometheus refuses two series
            # with the same labels.
            if sample is not None and (key := (sample.metric.name, *sample.labels)) not in of_endpoints:
                of_endpoints.add(key)
                yield sample
            else:
                yield Sample(_COUNTER, (str(record.id), str(record.type_id), record.label), record.value)


def _endpoint_sample(record: CounterRecord) -> Sample | None:
    """Return the sample of a counter of a protector or of refusals; None if it is another one.

    Names are constants of media and protectors and channels those of local clients: no label is what a peer has sent.
    """
    name, colon, channel = record.label.partition(": ")
    if not colon or record.type_id not in (types.PROTECTION, types.REFUSALS):
        return None
    if name.startswith(types.SECURITY_REFUSED_NAME):
        metric, name = SECURITY_REFUSED, name.removeprefix(types.SECURITY_REFUSED_NAME)
    elif record.type_id == types.PROTECTION:
        metric, name = SECURITY_EVENTS, name.removeprefix(types.SECURITY_NAME)
    else:
        metric = REFUSED_CONNECTIONS
    return Sample(metric, (name, channel, str(record.registration_id)), record.value)


def driver_samples(files: DriverFiles, records: Iterable[CounterRecord] | None = None) -> Iterator[Sample]:
    """Yield the samples of a driver: identity, heartbeat, space for its files, and `records`, by default all counters.

    The heartbeat is left out after the driver has ended, the space after its directory was deleted.
    """
    cnc = files.cnc
    # A directory may have any name that a file system allows; a metric has UTF-8.
    aeron_dir = str(cnc.path.parent).encode(errors="replace").decode()
    yield Sample(INFO, (aeron_dir, str(cnc.pid), str(cnc.start_timestamp_ms)), 1)
    age_ms = files.heartbeat_age_ms
    if age_ms is not None:
        yield Sample(HEARTBEAT_AGE, (), age_ms / 1000)
    try:
        space = os.statvfs(files.cnc.path.parent)
    except OSError:
        pass
    else:
        yield Sample(_FREE, (), space.f_bavail * space.f_frsize)
        yield Sample(_SIZE, (), space.f_blocks * space.f_frsize)
    yield from counter_samples(files.counters if records is None else records)

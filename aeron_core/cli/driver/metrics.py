"""Counters of a driver as Prometheus metrics: system counters by name, stream counters with labels, others by id.

Not here: the text format (prometheus_client) and HTTP (metrics_server, metrics_connection).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import owner_of
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.driver.agents.system_counters import SystemCounterLabels, labelled

#: Names of the system counters by counter id.
_SYSTEM_NAMES: Final = tuple(name for name, _ in labelled(SystemCounterLabels()))
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
#: Metric, help, and whether it only increases, by counter type.
_STREAM_METRICS: Final = {
    types.PUBLISHER_LIMIT: ("publisher_limit_bytes", "Position up to which publishers may offer.", False),
    types.PUBLISHER_POSITION: ("publisher_position_bytes", "Position that publishers have reached.", True),
    types.SENDER_POSITION: ("sender_position_bytes", "Position up to which the sender has sent.", True),
    types.SENDER_LIMIT: ("sender_limit_bytes", "Position up to which flow control allows sending.", False),
    types.SENDER_BPE: (
        "sender_back_pressure_events",
        "Times that flow control has stopped the sender.",
        True,
    ),
    types.SENDER_NAKS_RECEIVED: ("sender_naks_received", "NAKs that the publication has received.", True),
    types.RECEIVER_HWM: ("receiver_high_water_mark_bytes", "Highest position received, gaps or not.", True),
    types.RECEIVER_POSITION: ("receiver_position_bytes", "Position up to which all data was received.", True),
    types.RECEIVER_NAKS_SENT: ("receiver_naks_sent", "NAKs that the image has sent.", True),
    types.SUBSCRIBER_POSITION: (
        "subscriber_position_bytes",
        "Position up to which the subscriber has read.",
        True,
    ),
}
_STREAM_LABELS: Final = ("stream_id", "session_id", "registration_id", "channel")
_OTHER_LABELS: Final = ("id", "type_id", "label")

Records = Callable[[], Iterable[CounterRecord]]


class DriverCollector(Collector):
    """Collects the counters that `records` returns at each scrape."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def collect(self) -> Iterator[Metric]:
        """Yield each metric once, with the values of all streams."""
        families: dict[str, Metric] = {}
        for record in self._records():
            for family in self._add(record, families):
                families[family.name] = family
        yield from families.values()

    def _add(self, record: CounterRecord, families: dict[str, Metric]) -> Iterator[Metric]:
        owner = owner_of(record) if record.type_id in _STREAM_METRICS else None
        if record.type_id == types.SYSTEM and record.id < len(_SYSTEM_NAMES):
            yield _system_metric(record)
        elif owner is not None:
            name, text, grows = _STREAM_METRICS[record.type_id]
            family = families.get(f"aeron_{name}") or _family(
                f"aeron_{name}", text, _STREAM_LABELS, grows=grows
            )
            values = (owner.stream_id, owner.session_id, owner.registration_id, owner.channel)
            yield _with_value(family, [str(value) for value in values], record.value)
        else:
            family = families.get("aeron_counter") or _family(
                "aeron_counter", "Any other counter, by id.", _OTHER_LABELS, grows=False
            )
            yield _with_value(family, [str(record.id), str(record.type_id), record.label], record.value)


def _system_metric(record: CounterRecord) -> Metric:
    name = _SYSTEM_NAMES[record.id]
    text = re.split(r": |, i\.e\.", record.label)[0]
    family = _family(f"aeron_driver_{name}", f"{text}.", (), grows=name not in _SYSTEM_GAUGES)
    return _with_value(family, [], record.value)


def _family(name: str, text: str, labels: Iterable[str], *, grows: bool) -> Metric:
    kind = CounterMetricFamily if grows else GaugeMetricFamily
    return kind(name, text, labels=list(labels))


def _with_value(family: Metric, labels: list[str], value: int) -> Metric:
    if not isinstance(family, CounterMetricFamily | GaugeMetricFamily):
        raise TypeError(f"metric {family.name}: must be a counter or a gauge, not {type(family).__name__}")
    family.add_metric(labels, value)
    return family


def registry_of(records: Records) -> CollectorRegistry:
    """Return a registry that reads the counters at each scrape."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DriverCollector(records))
    return registry


def prometheus_text(records: Records) -> str:
    """Return all counters in Prometheus's text format."""
    return generate_latest(registry_of(records)).decode()

"""Answers of other hosts to a dashboard: snapshots as JSON, or metrics in the text format of Prometheus.

The first byte of an input selects the format, even for JSON; the rest is the answer.
"""

from __future__ import annotations

import json
from functools import cache

from observed import heartbeat, records_of, snapshot

from aeron_core.cli.dashboard.documents import MAX_LENGTH
from aeron_core.cli.dashboard.exchange import document_of_snapshots, snapshots_of
from aeron_core.cli.dashboard.trends import ALL, Trends
from aeron_core.cli.dashboard.view import Reading, document_of
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.errors import ProtocolError
from aeron_core.metrics.prometheus import prometheus_text
from aeron_core.metrics.samples import HEARTBEAT_AGE, Sample, counter_samples
from aeron_core.metrics.scrape import scraped
from aeron_core.observation import DriverSnapshot
from targets._texts import check_text

NAME = "127.0.0.1:9464"
LAGS = (
    '# TYPE aeron_query_lag_bytes gauge\naeron_query_lag_bytes{query="q",channel="c",stream_id="1"} 5.0\n'
    '# TYPE aeron_query_lag_seconds gauge\naeron_query_lag_seconds{query="q",channel="c",stream_id="1"} 1.5\n'
)


@cache
def sound() -> tuple[bytes, bytes]:
    """Return an answer of each format, with a stream."""
    records = [
        *records_of(pub_pos=9, pub_lmt=9, snd_pos=8, snd_lmt=8, rcv_hwm=8, rcv_pos=7, sub_pos=0),
        heartbeat(),
    ]
    samples = [Sample(HEARTBEAT_AGE, (), 0.5), *counter_samples(records)]
    return document_of_snapshots([snapshot(*records)]), (prometheus_text(lambda: samples) + LAGS).encode()


def seeds() -> list[bytes]:
    document, metrics = sound()
    return [b"\0" + document, b"\1" + metrics, b"\1" + LAGS.encode(), b"\1"]


def check(data: bytes) -> bool:
    is_json, answer = not data[:1] or data[0] % 2 == 0, data[1:]
    try:
        if is_json:
            snapshots = snapshots_of(answer)
        else:
            found = scraped(answer.decode("utf-8", "replace"), NAME)
            snapshots = [DriverSnapshot(1, 1, found.state, found.counters)]
    except ProtocolError as error:
        check_text(error, 500)
        return False
    for each in snapshots:
        check_page(each)
    return True


def check_page(now: DriverSnapshot) -> None:
    """Show a snapshot on the page: its content is JSON of bounded size."""
    driver = ObservedDriver(now.driver, DriverStatus.ALIVE, now)
    trends = Trends(2)
    moment = Moment(now.time_ns, (driver,))
    trends.add(moment)
    text = json.dumps(document_of(Reading(moment), trends, ALL), allow_nan=False)
    assert (
        len(text) <= 40_000 + (len(now.counters) + len(now.errors) + len(now.problems)) * 20 * 12 * MAX_LENGTH
    )

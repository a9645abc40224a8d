"""Drivers and queries of other hosts, from their metrics."""

import pytest
from observed import STREAM_ID, record, records_of, snapshot
from remote_drivers import RECEIVED, STOPPED, metrics, serving

from aeron_core.cli.dashboard.remote import RemoteSource, query_table
from aeron_core.cli.top.sources import DriverStatus
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.errors import ProtocolError
from aeron_core.metrics.prometheus import prometheus_text
from aeron_core.metrics.samples import counter_samples
from aeron_core.metrics.scrape import MAX_LINE_LENGTH, is_set_back, scraped


def test_streams_are_read_from_the_metrics_of_a_driver():
    with serving(metrics(*records_of(**STOPPED), *records_of(**RECEIVED))) as (url, requests):
        source = RemoteSource(f"{url}/metrics")
        source.read()

    (driver,) = source.drivers
    (stream,) = driver.snapshot.streams
    assert driver.status is DriverStatus.ALIVE
    assert stream.stream_id == STREAM_ID
    assert stream.publications[3].sender_limit == 131_072
    assert stream.images[5].slowest.position == 0
    assert requests == [("/metrics", None)]


def read_at_positions(*positions):
    """Return a driver whose metrics were read once at each position of its publisher."""
    snapshots = [snapshot(*records_of(pub_pos=position, pub_lmt=9_000)) for position in positions]
    with serving(*(metrics(*each.counters) for each in snapshots)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        for _ in positions:
            source.read()
    (driver,) = source.drivers
    return driver


def test_metrics_give_rates_as_counters_do():
    driver = read_at_positions(0, 4_000)

    stream = driver.snapshot.streams[0]
    rate = driver.rates.published(stream, stream.publications[3])
    assert rate * driver.rates.seconds == pytest.approx(4_000)


def test_a_driver_that_restarted_between_two_readings_of_its_metrics_has_no_rates():
    assert read_at_positions(4_000, 100).rates is None


def test_a_system_counter_with_an_id_that_no_driver_has_is_no_sign_of_a_restart():
    first, second = (
        scraped(f'aeron_counter{{id="{-(1 << 70)}",type_id="0",label="x"}} {value}\n', "host").counters
        for value in (2, 1)
    )

    assert not is_set_back(first, second)


def test_a_limit_that_decreases_is_no_restart():
    first, second = (snapshot(*records_of(pub_pos=n, pub_lmt=9_000 - n)) for n in (0, 4_000))
    with serving(metrics(*first.counters), metrics(*second.counters)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()
        source.read()

    (driver,) = source.drivers
    assert driver.rates is not None


def test_labels_in_metrics_that_are_no_counters_are_left_out():
    owner = CounterOwner(1, 2, 3, "c")
    text = prometheus_text(lambda: counter_samples([record(types.PUBLISHER_POSITION, "x", 1, owner)]))

    for damaged in ('stream_id="x"', f'stream_id="{1 << 70}"', 'other="3"'):
        assert scraped(text.replace('stream_id="3"', damaged), "host").counters == ()
    assert scraped(text, "host").counters[0].value == 1


def test_metrics_with_a_line_that_takes_the_parser_minutes_are_refused():
    labels = ",".join(f'l{number}="x"' for number in range(MAX_LINE_LENGTH // 6))

    with pytest.raises(
        ProtocolError, match=r"a line of the metrics has [0-9]+ characters: must have at most"
    ):
        scraped(f"aeron_driver_errors{{{labels}}} 1\n", "host")


def test_a_driver_without_a_recent_heartbeat_is_dead():
    with serving(metrics(age_s=11)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()

    assert [driver.status for driver in source.drivers] == [DriverStatus.DEAD]


def test_lags_of_queries_are_read_from_the_metrics_of_a_pipeline():
    labels = '{query="trades",channel="aeron:ipc",stream_id="5",session_id="-7",recording_id="2"}'
    text = (
        f"# TYPE aeron_query_lag_bytes gauge\naeron_query_lag_bytes{labels} 4096.0\n"
        f"# TYPE aeron_query_lag_seconds gauge\naeron_query_lag_seconds{labels} 1.25\n"
    )
    with serving((200, "text/plain", text.encode())) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()

    assert source.drivers == ()
    (row,) = query_table([source])["rows"]
    assert [cell[0] for cell in row["cells"]][:7] == [
        "trades",
        "4.1 kB",
        "1.2 s",
        "5",
        "-7",
        "2",
        "aeron:ipc",
    ]


def test_lags_of_a_host_that_no_longer_answers_are_not_shown():
    text = '# TYPE aeron_query_lag_bytes gauge\naeron_query_lag_bytes{query="trades"} 4096.0\n'
    with serving((200, "text/plain", text.encode()), (500, "text/plain", b"")) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()
        assert len(source.queries) == 1
        source.read()

    assert source.queries == ()
    assert "status 500" in source.problem

"""Values of streams over time."""

from dataclasses import replace
from pathlib import Path

import pytest
from observed import IMAGE, SESSION_ID, STREAM_ID, record, records_of, snapshot

from aeron_core.cli.dashboard import plots
from aeron_core.cli.dashboard.trends import ALL, MAX_SCOPES, Trends, scope_of_driver, scope_of_stream
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.concurrent.loss_report import LossEntry

SCOPE = scope_of_stream(STREAM_ID, SESSION_ID)


def at(s, *records, losses=(), path="/a/driver"):
    found = snapshot(*records, at_s=s)
    return replace(found, losses=losses, driver=replace(found.driver, aeron_dir=Path(path)))


def trends_of(*moments, capacity=10):
    """Return the trends of moments, each a list of snapshots, one of each driver."""
    trends, before = Trends(capacity), {}
    for snapshots in moments:
        drivers = []
        for now in snapshots:
            drivers.append(
                ObservedDriver(now.driver, DriverStatus.ALIVE, now, before.get(now.driver.aeron_dir))
            )
            before[now.driver.aeron_dir] = now
        trends.add(Moment(snapshots[0].time_ns if snapshots else 0, tuple(drivers)))
    return trends


def test_rates_are_those_between_two_moments():
    trends = trends_of(
        [at(0, *records_of(pub_pos=0, pub_lmt=9))], [at(2, *records_of(pub_pos=500, pub_lmt=9))]
    )

    assert trends.values(ALL, "published") == [None, 250]
    assert trends.values(SCOPE, "published") == [None, 250]


def test_rates_of_streams_are_added_and_of_lags_the_worst_is_shown():
    def both(s, position):
        return [
            at(s, *records_of(pub_pos=position, pub_lmt=9, snd_pos=position - lag), path=f"/{lag}")
            for lag in (10, 30)
        ]

    trends = trends_of(both(0, 100), both(1, 300))

    assert trends.values(ALL, "published") == [None, 400]
    assert trends.values(ALL, "unsent") == [30, 30]
    driver = ObservedDriver(at(0, path="/10").driver, DriverStatus.ALIVE)
    assert trends.values(scope_of_driver(driver), "unsent") == [10, 10]


def test_bytes_in_flight_need_both_drivers():
    sent, received = records_of(pub_pos=90, snd_pos=80), records_of(rcv_hwm=50, rcv_pos=50)

    assert trends_of([at(0, *sent), at(0, *received, path="/b")]).values(SCOPE, "in_flight") == [30]
    assert trends_of([at(0, *received)]).values(SCOPE, "in_flight") == [None]


def test_losses_are_the_growth_of_the_loss_report():
    def lost(total):
        return (LossEntry(1, total, 0, 0, SESSION_ID, STREAM_ID, "c", "s"),) if total else ()

    records = records_of(rcv_hwm=50, rcv_pos=50)
    trends = trends_of(*([at(s, *records, losses=lost(total))] for s, total in enumerate((0, 70, 100))))

    assert trends.values(SCOPE, "lost") == [None, 70, 30]


def test_losses_of_a_driver_that_was_read_more_or_less_often_than_moments_are_those_between_its_snapshots():
    def lost(s, total):
        losses = (LossEntry(1, total, 0, 0, SESSION_ID, STREAM_ID, "c", "s"),)
        return at(s, *records_of(rcv_hwm=50, rcv_pos=50), losses=losses)

    first, second, third = lost(0, 100), lost(1, 170), lost(2, 200)
    trends = Trends(10)
    # The second moment has no new snapshot; before the third one there were two.
    for now, before in ((first, None), (first, None), (third, second), (third, second)):
        driver = ObservedDriver(now.driver, DriverStatus.ALIVE, now, before)
        trends.add(Moment(now.time_ns, (driver,)))

    assert trends.values(SCOPE, "lost") == [None, None, 30, 30]


@pytest.mark.parametrize(
    ("label", "name", "title", "shown"),
    [
        ("rcv-cc-cubic-rtt", "rtt", "Round trip", "round trip"),
        ("rcv-owl-latency", "one_way", "One-way latency", "one-way latency"),
    ],
)
def test_a_time_is_shown_once_it_was_measured(label, name, title, shown):
    owner = CounterOwner(IMAGE, SESSION_ID, STREAM_ID, "c", -1)
    moments = [
        [at(s, record(types.PER_IMAGE, label, value, owner))] for s, value in enumerate((0, -7, 5_000))
    ]

    trends = trends_of(*moments)

    assert trends.values(ALL, name) == [None, None, 5_000]
    (panel,) = [each for each in plots.document(trends, ALL)["panels"] if each["title"] == title]
    assert panel["series"] == [{"name": shown, "values": [None, None, 5e-6]}]


def test_without_measurements_there_is_no_plot_of_round_trips():
    titles = [each["title"] for each in plots.document(trends_of([at(0)]), ALL)["panels"]]

    assert titles == ["Throughput", "Lag", "Loss", "Repair and back pressure"]


def test_a_distribution_counts_all_measurements():
    owner = CounterOwner(IMAGE, SESSION_ID, STREAM_ID, "c", -1)
    values = [1_000, 2_000, 2_000, 4_000, 8_000, 16_000, 16_000, 1_000_000]
    moments = [[at(s, record(types.PER_IMAGE, "rcv-cc-cubic-rtt", v, owner))] for s, v in enumerate(values)]

    *_, panel = plots.document(trends_of(*moments), ALL)["panels"]

    assert next(bar["count"] for bar in panel["bars"]) == 1
    assert sum(bar["count"] for bar in panel["bars"]) == len(values)
    assert panel["bars"][0]["low"] == pytest.approx(1e-6)
    assert panel["bars"][-1]["high"] == pytest.approx(1e-3)


def test_a_stream_that_has_ended_is_forgotten_after_its_last_sample():
    moments = [[at(0, *records_of(pub_pos=1, snd_pos=0))], *([at(s)] for s in range(1, 4))]

    assert trends_of(*moments, capacity=5).values(SCOPE, "unsent") == [1, None, None, None]
    assert not trends_of(*moments, capacity=3).has(SCOPE)


def test_the_number_of_streams_with_trends_is_bounded():
    owners = [CounterOwner(n, 7, n, "c", 71) for n in range(MAX_SCOPES + 10)]
    records = [record(types.PUBLISHER_POSITION, "pub-pos", 1, owner) for owner in owners]

    trends = trends_of([at(0, *records)])

    assert trends.has(ALL)
    assert not trends.has(scope_of_stream(MAX_SCOPES + 9, 7))

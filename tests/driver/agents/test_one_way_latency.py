"""One-way latency from a sender to its receivers, measured with their clocks."""

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core.driver.agents.one_way_latency import OneWayEstimate, OneWaySchedule
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.testing import SimulatedLink, SimulatedPeer, Sink, encode_frame, frames_of
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
STREAM = {"session_id": 77, "stream_id": 1001}
DAY_NS = 24 * 3600 * S


def start_stream(pair):
    # Measurements are as precise as a round is short.
    pair.long_idle_step_ns = 0
    subscription = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_exclusive_publication(f"{CHANNEL}|session-id=77", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication, Sink(subscription)


def latency(pair):
    return pair.receiver.find_counter("rcv-owl-latency").value


def drift(pair):
    return pair.receiver.find_counter("rcv-owl-drift").value


@pytest.mark.parametrize("latency_ns", [100 * US, 3 * MS, 50 * MS])
def test_the_latency_counter_shows_the_link_latency_if_the_clocks_agree(start_pair, latency_ns):
    # The return path is slower, so half a round trip would give another result.
    pair = start_pair(link=SimulatedLink(latency_ns=latency_ns), one_way_latency_interval_ns=1 * S)
    pair.network.set_link(SimulatedLink(latency_ns=200 * MS), source=pair.RECEIVER)
    start_stream(pair)

    pair.run_for(5 * S)

    # One step of the simulation is a millisecond.
    assert latency_ns <= latency(pair) <= latency_ns + 1 * MS
    assert abs(drift(pair)) <= 1 * MS


def test_a_burst_of_eight_is_followed_by_one_measurement_per_interval(start_pair):
    pair = start_pair(one_way_latency_interval_ns=1 * S)
    start_stream(pair)

    pair.run_for(50 * MS)
    assert len(frames_of(Rttm, pair.sent())) == 8
    pair.run_for(5 * S)

    sent = frames_of(Rttm, pair.sent())
    assert len(sent) == 8 + 5
    assert {(frame.receiver_id, frame.flags, frame.reception_delta) for frame in sent} == {(0, 0, 0)}
    assert [frame.echo_timestamp for frame in sent] == sorted({frame.echo_timestamp for frame in sent})


def test_receivers_do_not_reply_to_one_way_measurements(start_pair):
    pair = start_pair(one_way_latency_interval_ns=10 * MS)
    start_stream(pair)

    pair.run_for(1 * S)

    assert frames_of(Rttm, pair.answered()) == []
    assert pair.receiver.counted("invalid_packets") == 0


def test_nothing_is_measured_without_a_receiver(start_pair):
    pair = start_pair(one_way_latency_interval_ns=10 * MS)
    pair.add_publication(CHANNEL, 1001)

    pair.run_for(1 * S)

    assert frames_of(Rttm, pair.sent()) == []


def test_nothing_is_measured_by_default(start_pair):
    pair = start_pair()
    start_stream(pair)

    pair.run_for(2 * S)

    assert frames_of(Rttm, pair.sent()) == []
    assert pair.receiver.find_counters("rcv-owl") == []


def test_a_one_way_measurement_is_not_taken_for_a_round_trip_reply(start_pair):
    pair = start_pair(
        one_way_latency_interval_ns=5 * MS,
        congestion_control="cubic",
        cubic_measure_rtt=True,
        link=SimulatedLink(latency_ns=2 * MS),
    )
    start_stream(pair)

    pair.run_for(1 * S)

    assert 4 * MS <= pair.receiver.find_counter("rcv-cc-cubic-rtt").value <= 7 * MS
    assert 2 * MS <= latency(pair) <= 3 * MS


def test_timestamps_more_than_a_day_off_are_counted_and_ignored(start_pair):
    pair = start_pair(one_way_latency_interval_ns=1 * S, link=SimulatedLink(latency_ns=2 * MS))
    start_stream(pair)
    pair.run_for(100 * MS)
    before = latency(pair)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))

    now_ns = pair.clock.epoch_ns()
    for time_ns in (0, -1, 2**63 - 1, -(2**63), now_ns - DAY_NS - 1 * S, now_ns + DAY_NS + 1 * S):
        stranger.send(encode_frame(Rttm(echo_timestamp=time_ns, **STREAM)))
    pair.run_for(10 * MS)

    assert pair.receiver.counted("invalid_packets") == 6
    assert latency(pair) == before


class Estimate:
    """An estimate with its counters, for a link with a latency and a receiver with a clock offset."""

    def __init__(self):
        self.latency, self.drift = (AtomicCounter(AtomicBuffer.allocate(128), 0) for _ in range(2))
        self.estimate = OneWayEstimate(self.latency, self.drift)

    def measure(self, at_s, latency_ns, *, ahead_ns=0):
        received_ns = 1_700_000_000 * S + int(at_s * S)
        assert self.estimate.on_measurement(received_ns - ahead_ns - latency_ns, received_ns)


def test_a_clock_offset_is_part_of_the_latency():
    estimate = Estimate()

    estimate.measure(1, 2 * MS, ahead_ns=3 * MS)
    assert estimate.latency.get() == 5 * MS
    estimate.measure(2, 2 * MS, ahead_ns=-3 * MS)
    assert estimate.latency.get() == -1 * MS


@pytest.mark.parametrize("ppm", [-50, 0, 7, 300])
def test_a_fast_or_slow_clock_shows_as_drift(ppm):
    estimate = Estimate()

    # 40 minutes with varying queueing; the first eight measurements meet none.
    for second in range(0, 2400, 2):
        queue_ns = second % 7 * MS if second % 16 else 0
        estimate.measure(second, 2 * MS + queue_ns, ahead_ns=ppm * 1000 * second)

    assert estimate.drift.get() == pytest.approx(ppm * 1000, rel=0.01, abs=20)


def test_varying_queueing_is_not_drift():
    estimate = Estimate()

    for second in range(80):
        estimate.measure(second, 2 * MS + (second % 8) * 10 * MS)

    assert estimate.latency.get() == 72 * MS
    assert estimate.drift.get() == 0


def test_a_schedule_without_an_interval_is_never_due():
    schedule = OneWaySchedule(0)

    assert not any(schedule.is_due(now_ns) for now_ns in (0, S, 2**62))


def test_a_schedule_begins_with_a_burst():
    schedule = OneWaySchedule(1 * S)

    due = [now_ms for now_ms in range(3000) if schedule.is_due(now_ms * MS)]

    assert due == [*range(8), 1007, 2007]

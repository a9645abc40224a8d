"""The CUBIC window as a function of losses and time."""

from dataclasses import replace
from itertools import pairwise

import pytest
from aeron_congestion.cubic import CubicCongestionControl

from aeron_core.errors import ChannelUriError
from aeron_core.spi import CongestionControlParams, RebuildState
from aeron_core.testing import CongestionControlProbe

MS, S = 1_000_000, 1_000_000_000
MTU = 1408
PARAMS = CongestionControlParams(
    channel="aeron:udp?endpoint=a:1|cc=cubic",
    stream_id=1,
    session_id=2,
    registration_id=3,
    term_length=16 * 1024 * 1024,
    sender_mtu=MTU,
    initial_window_length=100 * MTU,
    socket_rcvbuf_length=0,
    source="b:1",
    measures_rtt=True,
)


class Cubic:
    """A strategy with its window in datagrams."""

    def __init__(self, **changes):
        self.counters = {}
        factory = PARAMS.new_counter

        def new_counter(type_id, name):
            self.counters[name] = factory(type_id, name)
            assert type_id == 10
            return self.counters[name]

        self.probe = CongestionControlProbe(
            CubicCongestionControl(replace(PARAMS, new_counter=new_counter, **changes))
        )
        self.state = RebuildState()

    def at(self, now_ns, *, is_lost=False, consumed=0):
        self.state.now_ns = now_ns
        self.state.loss_occurred = is_lost
        self.state.consumption_position = consumed
        self.state.force_status_message = False
        length = self.probe.on_track_rebuild(self.state)
        assert length % MTU == 0
        assert self.counters["rcv-cc-cubic-wnd"].get() == length
        return length // MTU


def full_cubic(**changes):
    """Return a strategy with the maximum window, 10 s old."""
    cubic = Cubic(**changes)
    assert cubic.at(10 * S) == 100
    return cubic


@pytest.mark.parametrize(
    ("initial_window_length", "term_length", "initial", "largest"),
    [
        (100 * MTU, 1 << 24, 10, 100 * MTU),
        (4 * MTU + 7, 1 << 24, 4, 4 * MTU + 7),
        (1 << 20, 65536, 10, 32768),
    ],
)
def test_the_initial_window_is_ten_datagrams_or_the_maximum(
    initial_window_length, term_length, initial, largest
):
    cubic = Cubic(initial_window_length=initial_window_length, term_length=term_length)

    assert cubic.probe.initial_window_length() == initial * MTU
    assert cubic.probe.max_window_length() == largest
    assert cubic.counters["rcv-cc-cubic-wnd"].get() == initial * MTU


def test_the_window_is_constant_for_one_round_trip_and_then_follows_the_curve():
    cubic = Cubic()

    # W_max = 100 and K = cbrt(50): 100 + 0.4 * (t - K)^3, truncated to whole datagrams.
    assert [cubic.at(now_ns) for now_ns in (100_000, 100_001, 1 * S, 2 * S, 3 * S, 4 * S)] == [
        10, 80, 92, 98, 99, 100,
    ]  # fmt: skip


def test_a_loss_shrinks_the_window_by_a_fifth_and_forces_a_status_message():
    cubic = full_cubic()

    assert cubic.at(10 * S + 1, is_lost=True) == 80
    assert cubic.state.force_status_message
    assert cubic.at(10 * S + 2, is_lost=True) == 64
    assert cubic.at(10 * S + 3) == 64
    assert not cubic.state.force_status_message


def test_the_window_recovers_its_size_at_the_loss_along_the_curve():
    cubic = full_cubic()
    cubic.at(10 * S, is_lost=True)

    windows = [cubic.at(10 * S + step * 500 * MS) for step in range(9)]

    # 80, steep at first, flat towards 100, which it reaches after cbrt(100 * 0.2 / 0.4) = 3.68 s.
    assert windows == [80, 87, 92, 95, 98, 99, 99, 99, 100]


def test_the_window_grows_beyond_its_size_at_the_loss_up_to_the_maximum():
    cubic = full_cubic()
    cubic.at(10 * S, is_lost=True)
    cubic.at(10 * S, is_lost=True)

    assert cubic.at(10 * S + 3 * S) == 79
    assert cubic.at(10 * S + 6 * S) == 86
    assert cubic.at(10 * S + 10**6 * S) == 100


def test_the_minimum_window_is_one_datagram_and_grows_again():
    cubic = full_cubic()
    for step in range(40):
        window = cubic.at(10 * S + step, is_lost=True)

    assert window == 1
    assert cubic.at(15 * S) > 10


def test_with_a_window_of_one_datagram_each_consumption_forces_a_status_message():
    cubic = Cubic(initial_window_length=MTU)

    assert cubic.at(1 * MS) == 1
    assert not cubic.state.force_status_message
    assert cubic.at(2 * MS, consumed=MTU) == 1
    assert cubic.state.force_status_message


def test_consumption_forces_a_status_message_also_when_the_window_of_one_datagram_may_grow():
    cubic = full_cubic()
    for step in range(40):
        cubic.at(10 * S + step, is_lost=True)

    assert cubic.at(10 * S + 100 * MS, consumed=MTU // 8) == 1
    assert cubic.state.force_status_message


def test_tcp_mode_grows_by_round_trips_while_that_is_faster():
    changes = {"is_tcp_mode": True, "initial_rtt_ns": 1 * MS}
    tcp, cubic = full_cubic(**changes), full_cubic()
    for each in (tcp, cubic):
        each.at(10 * S, is_lost=True)

    # W_max * 0.8 + 0.6 / 1.8 of a datagram for each round trip.
    assert [tcp.at(10 * S + step * MS) for step in (2, 4, 16, 31, 46)] == [80, 81, 85, 90, 95]
    assert cubic.at(10 * S + 46 * MS) == 80


def test_tcp_mode_uses_the_measured_round_trip():
    cubic = full_cubic(is_tcp_mode=True)
    cubic.probe.on_rtt_measurement(10 * S, 20 * MS)
    cubic.at(10 * S, is_lost=True)

    assert cubic.at(10 * S + 60 * MS) == 81


def test_the_next_measurement_is_due_after_four_round_trips():
    cubic = Cubic(initial_rtt_ns=1 * MS)
    assert cubic.probe.should_measure_rtt(0)
    cubic.probe.on_rtt_measurement_sent(0)
    assert not cubic.probe.should_measure_rtt(1)

    cubic.probe.on_rtt_measurement(500_000, 500_000)

    assert cubic.counters["rcv-cc-cubic-rtt"].get() == 500_000
    assert not cubic.probe.should_measure_rtt(4 * MS)
    assert cubic.probe.should_measure_rtt(4 * MS + 500_000)
    cubic.probe.on_rtt_measurement(5 * MS, 2 * MS)
    assert not cubic.probe.should_measure_rtt(13 * MS - 1)
    assert cubic.probe.should_measure_rtt(13 * MS)


def test_an_unanswered_measurement_is_repeated_with_backoff_up_to_a_second():
    cubic = Cubic()
    request_ns = []
    for now_ns in range(0, 10 * S, 100_000):
        if cubic.probe.should_measure_rtt(now_ns):
            cubic.probe.on_rtt_measurement_sent(now_ns)
            request_ns.append(now_ns)

    intervals = [after - before for before, after in pairwise(request_ns)]
    assert intervals[:4] == [400_000, 800_000, 1_600_000, 3_200_000]
    assert intervals[-1] == 1 * S


@pytest.mark.parametrize(("rtt_ns", "shown"), [(-1, 1), (0, 1), (2**63 - 1, 10 * S)])
def test_an_implausible_round_trip_is_clamped(rtt_ns, shown):
    cubic = Cubic(is_tcp_mode=True)

    cubic.probe.on_rtt_measurement(0, rtt_ns)

    assert cubic.counters["rcv-cc-cubic-rtt"].get() == shown
    cubic.at(1 * S, is_lost=True)
    assert 1 <= cubic.at(2 * S) <= 100


def test_round_trips_are_not_measured_by_default():
    assert not Cubic(measures_rtt=False).probe.should_measure_rtt(10**18)


def test_options_are_refused_with_the_allowed_value():
    with pytest.raises(ChannelUriError, match="cc=cubic,x: must be cubic without options: remove them"):
        Cubic(options="x")

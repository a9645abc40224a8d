"""Call rates of strategies in plain Python: each call takes the GIL on the thread of the sender or receiver."""

from collections import Counter

import pytest

from aeron_core.errors import ConfigurationError, RegistrationError
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing import Feed, SimulatedLink, Sink, make_messages
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
CONNECTION = "aeron:sp?endpoint=127.0.0.1:5555|mode=listen"
WINDOW = 16 * 1024
RESTART = "a driver loads plugins only when it starts: restart it after you have installed one"


class CountingFlowControl:
    def __init__(self, calls):
        self.calls = calls

    def on_status_message(self, sm, position, limit, now_ns):
        self.calls["on_status_message"] += 1
        return max(limit, position + sm.receiver_window)

    def on_idle(self, limit, sender_position, is_end_of_stream, now_ns):
        self.calls["on_idle"] += 1
        return limit

    def has_required_receivers(self, now_ns):
        self.calls["has_required_receivers"] += 1
        return True


class CountingCongestionControl:
    def __init__(self, calls, states):
        self.calls = calls
        self.states = states

    def initial_window_length(self):
        return WINDOW

    def max_window_length(self):
        return WINDOW

    def should_measure_rtt(self, now_ns):
        self.calls["should_measure_rtt"] += 1
        return False

    def on_track_rebuild(self, state):
        self.calls["on_track_rebuild"] += 1
        self.states.append(
            (state.now_ns, state.rebuild_position_before, state.rebuild_position_after, state.loss_occurred)
        )
        return WINDOW


class CountingPlugin:
    """Registers both strategies; `calls` counts the calls per method, `states` holds the rebuild states."""

    def __init__(self):
        self.calls = Counter()
        self.states = []

    @hookimpl
    def aeron_flow_controls(self):
        return {"counting": lambda params: CountingFlowControl(self.calls)}

    @hookimpl
    def aeron_congestion_controls(self):
        return {"counting": lambda params: CountingCongestionControl(self.calls, self.states)}


class RefusingPlugin:
    """Registers a flow control that cannot be constructed."""

    @hookimpl
    def aeron_flow_controls(self):
        def refuse(params):
            raise ConfigurationError("no flow control today")

        return {"refusing": refuse}


@pytest.fixture
def plugin():
    return CountingPlugin()


def connect(pair):
    subscription = pair.add_subscription(f"{CHANNEL}|cc=counting", 1001)
    publication = pair.add_publication(f"{CHANNEL}|fc=counting", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication, subscription


def test_an_idle_stream_calls_a_strategy_at_most_ten_times_per_second_at_any_cycle_rate(start_pair, plugin):
    pair = start_pair(plugins=[plugin])
    connect(pair)
    # Until its timers have their phase: before, intervals are shorter, and only each second one has a call.
    pair.run_for(2 * S)
    pair.idle_step_ns = 100 * US
    plugin.calls.clear()

    pair.run_for(1 * S)

    status_messages = plugin.calls["on_status_message"]
    assert status_messages <= 5
    assert 9 <= plugin.calls["on_idle"] <= 11
    # With each status message that is due.
    assert 4 <= plugin.calls["should_measure_rtt"] <= 6
    assert plugin.calls["has_required_receivers"] <= 11 + status_messages
    assert plugin.calls["on_track_rebuild"] == 0


def test_a_busy_stream_calls_a_congestion_control_every_100_ms(start_pair, plugin):
    pair = start_pair(plugins=[plugin], link=SimulatedLink(loss=0.05, latency_ns=1 * MS))
    publication, subscription = connect(pair)
    feed = Feed(publication, make_messages(3000, seed=5, max_length=4000))
    sink = Sink(subscription)
    start_ns = pair.now_ns
    plugin.calls.clear()

    pair.run_until(lambda: (feed.offer(), sink.poll(), len(sink.all) == 3000)[2], within_ns=60 * S)

    assert sink.all == feed.messages
    assert plugin.calls["on_track_rebuild"] <= (pair.now_ns - start_ns) // (100 * MS) + 1
    # Nothing is skipped: each call begins where the last one ended, and losses are merged into one flag.
    assert len(plugin.states) > 3
    assert all(before[2] == after[1] for before, after in zip(plugin.states, plugin.states[1:], strict=False))
    assert any(state[3] for state in plugin.states)
    assert pair.receiver.errors() == []


def test_a_congestion_control_that_is_not_installed_refuses_the_subscription(start_pair):
    pair = start_pair()

    with pytest.raises(RegistrationError, match=f"no congestion control 'cubik'; installed: .*; {RESTART}"):
        pair.add_subscription(f"{CHANNEL}|cc=cubik,fast", 1001)


def test_a_publication_over_a_connection_constructs_no_flow_control(start_pair):
    pair = start_pair(plugins=[RefusingPlugin()])
    with pytest.raises(RegistrationError, match="no flow control today"):
        pair.add_publication(f"{CHANNEL}|fc=refusing", 1001)

    assert not pair.add_publication(f"{CONNECTION}|fc=refusing", 1001).is_closed


def test_a_flow_control_that_is_not_installed_refuses_a_publication_over_a_connection(start_pair):
    pair = start_pair()

    with pytest.raises(RegistrationError, match=f"fc must begin with one of max, .*; {RESTART}"):
        pair.add_publication(f"{CONNECTION}|fc=maxx", 1001)

"""The built-in plugins pass the conformance suites, and the suites detect wrong plugins."""

import itertools
import os
import time
from pkgutil import resolve_name

import aeron_congestion.plugin
import aeron_flow_control.plugin
import aeron_media.ipc.plugin
import aeron_media.udp.plugin
import aeron_resolvers.plugin
import pytest

import aeron_core.agent.plugin
from aeron_core.spi import FlowControl
from aeron_core.spi.idle_strategy import IdleStrategyParams
from aeron_core.spi.name_resolver import NameResolverParams
from aeron_core.testing.conformance import (
    CongestionControlConformance,
    FlowControlConformance,
    IdleStrategyConformance,
    MediaTransportConformance,
    NameResolverConformance,
)


def imported(table):
    """Return the factories of a table that has them as text."""
    return {name: resolve_name(path) for name, path in table.items()}


FLOW_CONTROLS = imported(aeron_flow_control.plugin.aeron_flow_controls())
CONGESTION_CONTROLS = imported(aeron_congestion.plugin.aeron_congestion_controls())
NAME_RESOLVERS = imported(aeron_resolvers.plugin.aeron_name_resolvers())
IDLE_STRATEGIES = aeron_core.agent.plugin.aeron_idle_strategies()
MEDIA = imported(
    aeron_media.udp.plugin.aeron_media_transports() | aeron_media.ipc.plugin.aeron_media_transports()
)


class OfTable:
    """Runs a suite on each factory of a table."""

    @pytest.fixture(autouse=True)
    def _take(self, factory):
        self.factory = factory

    def make(self, *params):
        return self.factory(*params)


@pytest.mark.parametrize("factory", FLOW_CONTROLS.values(), ids=FLOW_CONTROLS)
class TestFlowControls(OfTable, FlowControlConformance):
    pass


class TestFlowControlBase(FlowControlConformance):
    def make(self, params):
        return FlowControl()


class PlainFlowControl:
    def on_status_message(self, sm, position, limit, now_ns):
        return max(limit, position + sm.receiver_window)


class TestPlainFlowControl(FlowControlConformance):
    def make(self, params):
        return PlainFlowControl()


@pytest.mark.parametrize("factory", CONGESTION_CONTROLS.values(), ids=CONGESTION_CONTROLS)
class TestCongestionControls(OfTable, CongestionControlConformance):
    pass


RESOLVER_PARAMS = {
    "csv_table": NameResolverParams(options="here,localhost,127.0.0.2"),
    "driver": NameResolverParams(
        driver_name="here",
        interface="127.0.0.1:8050",
        fallback=NAME_RESOLVERS["default"](NameResolverParams()),
    ),
}


@pytest.mark.parametrize(
    ("factory", "params"),
    [(factory, RESOLVER_PARAMS.get(name, NameResolverParams())) for name, factory in NAME_RESOLVERS.items()],
    ids=NAME_RESOLVERS,
)
class TestNameResolvers(OfTable, NameResolverConformance):
    @pytest.fixture(autouse=True)
    def _take_params(self, params):
        self.params = params


@pytest.mark.parametrize("factory", IDLE_STRATEGIES.values(), ids=IDLE_STRATEGIES)
class TestIdleStrategies(OfTable, IdleStrategyConformance):
    params = IdleStrategyParams(agent="conductor", signal_name=f"/aeron-core-conformance-{os.getpid()}")


class TestUdp(MediaTransportConformance):
    def make(self):
        return MEDIA["udp"]()


class TestIpc(MediaTransportConformance):
    channel = other_channel = "aeron:ipc"
    wrong_channel = None

    def make(self):
        return MEDIA["ipc"]()


def test_every_medium_runs_its_suite():
    assert set(MEDIA) == {"udp", "ipc"}


# -- the suites themselves --


class LoweringLimit(PlainFlowControl):
    def on_status_message(self, sm, position, limit, now_ns):
        return position + sm.receiver_window


class IgnoringStatusMessages(PlainFlowControl):
    def on_status_message(self, sm, position, limit, now_ns):
        return limit


class IgnoringWindow(PlainFlowControl):
    def on_status_message(self, sm, position, limit, now_ns):
        return max(limit, position + 65536)


class TruncatingPositions(PlainFlowControl):
    def on_status_message(self, sm, position, limit, now_ns):
        return max(limit, (position + sm.receiver_window) & 0xFFFFFFFF)


class KeepingFrames(PlainFlowControl):
    def __init__(self):
        self.frames = []

    def on_status_message(self, sm, position, limit, now_ns):
        self.frames.append((sm, position))
        return max(limit, *(at + frame.receiver_window for frame, at in self.frames[-2:]), limit)


class RaisingOnError(PlainFlowControl):
    def on_error(self, error, now_ns):
        raise KeyError(error.receiver_id)


class Nondeterministic(PlainFlowControl):
    times = itertools.count()

    def on_status_message(self, sm, position, limit, now_ns):
        return max(limit, position + sm.receiver_window) + (next(self.times) if sm.receiver_window else 0)


class WithoutRetransmits(PlainFlowControl):
    retransmit_window_multiple = 0


class ClosingOnIdle(PlainFlowControl):
    def on_idle(self, limit, sender_position, is_end_of_stream, now_ns):
        return 0


class ClosingOnSetup(PlainFlowControl):
    def on_setup(self, setup, limit, now_ns):
        return 0


@pytest.mark.parametrize(
    ("strategy", "test"),
    [
        (LoweringLimit, "test_a_status_message_never_lowers_the_limit"),
        (IgnoringStatusMessages, "test_a_receiver_that_makes_progress_advances_the_limit"),
        (IgnoringWindow, "test_a_receiver_without_a_window_does_not_advance_the_limit"),
        (TruncatingPositions, "test_positions_beyond_32_bits_work"),
        (KeepingFrames, "test_frames_are_not_kept"),
        (RaisingOnError, "test_unknown_receivers_may_send_error_frames"),
        (Nondeterministic, "test_equal_calls_have_equal_results"),
        (WithoutRetransmits, "test_retransmits_are_possible"),
        (ClosingOnIdle, "test_the_limit_does_not_change_without_a_receiver"),
        (ClosingOnIdle, "test_receivers_may_time_out"),
        (ClosingOnSetup, "test_setup_frames_do_not_lower_the_limit"),
    ],
)
def test_a_wrong_flow_control_fails_the_suite(strategy, test):
    class Suite(FlowControlConformance):
        def make(self, params):
            return strategy()

    with pytest.raises(AssertionError):
        getattr(Suite(), test)()


class Windows:
    """A congestion control in plain Python."""

    def __init__(self, params, initial=4096, maximum=8192, window=4096):
        self.initial, self.maximum, self.window = initial, maximum, window

    def on_track_rebuild(self, state):
        return self.window() if callable(self.window) else self.window

    def initial_window_length(self):
        return self.initial

    def max_window_length(self):
        return self.maximum


@pytest.mark.parametrize(
    ("changes", "test"),
    [
        ({"initial": 0}, "test_the_initial_window_is_open_and_within_the_maximum"),
        ({"initial": 9000}, "test_the_initial_window_is_open_and_within_the_maximum"),
        ({"maximum": 65536}, "test_no_window_is_larger_than_half_a_term"),
        ({"window": 65536}, "test_no_window_is_larger_than_half_a_term"),
        ({"window": 0}, "test_a_window_stays_open_and_within_the_maximum"),
        ({"window": 9000}, "test_a_window_stays_open_and_within_the_maximum"),
        ({"window": lambda: 1 + time.monotonic_ns() % 4096}, "test_equal_calls_have_equal_results"),
    ],
)
def test_a_wrong_congestion_control_fails_the_suite(changes, test):
    class Suite(CongestionControlConformance):
        def make(self, params):
            return Windows(params, **changes)

    with pytest.raises(AssertionError):
        getattr(Suite(), test)()


class Raising:
    def lookup(self, name, uri_key, is_re_lookup):
        return name

    def resolve(self, host, uri_key, is_re_resolution):
        raise OSError(host)


class NotNumeric(Raising):
    def resolve(self, host, uri_key, is_re_resolution):
        return "somewhere"


class ResolvingUnknown(Raising):
    def lookup(self, name, uri_key, is_re_lookup):
        return "127.0.0.1:1"


@pytest.mark.parametrize(
    ("resolver", "test", "error"),
    [
        (Raising, "test_an_unknown_host_resolves_to_none", OSError),
        (NotNumeric, "test_a_known_name_resolves_to_a_numeric_address_and_a_port", ValueError),
        (ResolvingUnknown, "test_lookup_returns_an_unknown_host_and_port_unchanged", AssertionError),
    ],
)
def test_a_wrong_name_resolver_fails_the_suite(resolver, test, error):
    class Suite(NameResolverConformance):
        def make(self, params):
            return resolver()

    with pytest.raises(error):
        getattr(Suite(), test)()


class KeepingDescriptor(MEDIA["udp"]):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def open_receive_endpoint(self, params):
        self.descriptor = os.open(self.folder, os.O_RDONLY)
        return super().open_receive_endpoint(params)


def test_a_medium_that_keeps_a_descriptor_open_fails_the_suite(tmp_path):
    medium = KeepingDescriptor(tmp_path)

    class Suite(MediaTransportConformance):
        def make(self):
            return medium

    with pytest.raises(AssertionError, match=f"still open: .*{tmp_path}"):
        Suite().test_closed_endpoints_have_no_open_descriptors()
    os.close(medium.descriptor)

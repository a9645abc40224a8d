import re
from pathlib import Path

import pytest

from aeron_core.errors import PluginError
from aeron_core.protocol.frames import ErrorFrame, Setup, StatusMessage
from aeron_core.spi.adapt import PYTHON_CALL_INTERVAL_NS as INTERVAL_NS
from aeron_core.spi.flow_control import METHODS, FlowControl, PythonFlowControl, adapt_flow_control
from aeron_core.testing import FlowControlProbe

SM = StatusMessage(receiver_window=100)
SETUP, ERROR = Setup(), ErrorFrame()
NOT_BELOW_LIMIT = [(1000, 5000, 5000), (5000, 1000, 5100)]


class Complete:
    """A strategy in plain Python with all methods."""

    retransmit_window_multiple = 3

    def __init__(self):
        self.calls = []

    def on_status_message(self, sm, position, limit, now_ns):
        self.calls.append(("on_status_message", sm.receiver_window, position, limit, now_ns))
        return 11

    def on_setup(self, setup, limit, now_ns):
        return 12

    def on_setup_elicited(self, sm, now_ns):
        self.calls.append(("on_setup_elicited", now_ns))

    def on_idle(self, limit, sender_position, is_end_of_stream, now_ns):
        return 13 if is_end_of_stream is True else 14

    def on_error(self, error, now_ns):
        self.calls.append(("on_error", now_ns))

    def has_required_receivers(self, now_ns):
        return now_ns > 5


def probe_of(strategy, report=None):
    return FlowControlProbe(adapt_flow_control(strategy, report or pytest.fail))


@pytest.mark.parametrize(("position", "limit", "expected"), NOT_BELOW_LIMIT)
def test_the_base_never_lowers_the_limit(position, limit, expected):
    assert probe_of(FlowControl()).on_status_message(SM, position, limit, 0) == expected


def test_the_other_base_methods_change_nothing():
    probe = probe_of(FlowControl())

    assert probe.on_setup(SETUP, 7, 0) == 7
    assert probe.on_idle(7, 3, False, 0) == 7
    assert [probe.on_setup_elicited(SM, 0), probe.on_error(ERROR, 0)] == [0, 0]
    assert probe.has_required_receivers(0)
    assert probe.strategy.retransmit_window_multiple == 16


def test_a_compiled_strategy_is_used_as_it_is():
    strategy = FlowControl()

    assert adapt_flow_control(strategy, pytest.fail) is strategy


def test_a_strategy_in_plain_python_is_called_through_an_adapter():
    strategy = Complete()
    probe = probe_of(strategy)

    assert probe.on_status_message(SM, 1, 2, 3) == 11
    assert probe.on_setup(SETUP, 2, 3) == 12
    assert probe.on_setup_elicited(SM, 4) == 0
    assert [probe.on_idle(1, 2, True, 0), probe.on_idle(1, 2, False, INTERVAL_NS)] == [13, 14]
    assert probe.on_error(ERROR, 5) == 0
    assert [probe.has_required_receivers(at) for at in (5, 5 + INTERVAL_NS)] == [False, True]
    assert strategy.calls == [("on_status_message", 100, 1, 2, 3), ("on_setup_elicited", 4), ("on_error", 5)]
    assert isinstance(probe.strategy, PythonFlowControl)
    assert probe.strategy.retransmit_window_multiple == 3


def test_timed_calls_of_a_python_strategy_are_made_once_per_interval():
    class Clocked(Complete):
        def on_idle(self, limit, sender_position, is_end_of_stream, now_ns):
            return now_ns

        def has_required_receivers(self, now_ns):
            self.calls.append(now_ns)
            return True

    strategy = Clocked()
    probe = probe_of(strategy)
    times = [0, 1, INTERVAL_NS - 1, INTERVAL_NS, 2 * INTERVAL_NS - 1]

    assert [probe.on_idle(7, 0, False, at) for at in times] == [0, 7, 7, INTERVAL_NS, 7]
    assert all(probe.has_required_receivers(at) for at in times)
    assert strategy.calls == [0, INTERVAL_NS]


@pytest.mark.parametrize("event", ["status message", "error"])
def test_a_frame_of_a_receiver_may_change_the_required_receivers_at_once(event):
    strategy = Complete()
    probe = probe_of(strategy)
    assert not probe.has_required_receivers(5)

    if event == "error":
        probe.on_error(ERROR, 6)
    else:
        probe.on_status_message(SM, 1, 2, 6)

    assert probe.has_required_receivers(6)


def test_methods_omitted_by_a_python_strategy_are_those_of_the_base():
    class Short:
        def on_status_message(self, sm, position, limit, now_ns):
            return limit + 1

    probe = probe_of(Short())

    assert probe.on_status_message(SM, 0, 5, 0) == 6
    assert [probe.on_setup(SETUP, 7, 0), probe.on_idle(8, 0, False, 0)] == [7, 8]
    assert probe.has_required_receivers(0)


def test_a_python_subclass_of_a_compiled_strategy_is_called_where_it_overrides():
    class Impatient(FlowControl):
        def has_required_receivers(self, now_ns):
            return False

    probe = probe_of(Impatient())

    assert not probe.has_required_receivers(0)
    assert probe.on_status_message(SM, 5000, 1000, 0) == 5100


def test_a_python_subclass_that_overrides_nothing_needs_no_adapter():
    class Named(FlowControl):
        name = "named"

    strategy = Named()

    assert adapt_flow_control(strategy, pytest.fail) is strategy


def test_an_override_on_a_single_object_is_called_too():
    class Open(FlowControl):
        pass

    strategy = Open()
    strategy.on_idle = lambda limit, sender_position, is_end_of_stream, now_ns: 99

    assert probe_of(strategy).on_idle(1, 2, False, 3) == 99


@pytest.mark.parametrize("method", METHODS)
def test_a_strategy_that_raises_is_reported_once_and_left_to_the_base(method):
    class Broken(Complete):
        pass

    def fail(self, *args):
        raise ZeroDivisionError(method)

    setattr(Broken, method, fail)
    errors = []
    probe = probe_of(Broken(), errors.append)
    arguments = {
        "on_status_message": (SM, 5000, 1000, 0),
        "on_setup": (SETUP, 7, 0),
        "on_setup_elicited": (SM, 0),
        "on_idle": (7, 3, False, 0),
        "on_error": (ERROR, 0),
        "has_required_receivers": (0,),
    }[method]
    by_base = getattr(probe_of(FlowControl()), method)(*arguments)

    assert [getattr(probe, method)(*arguments) for _ in range(3)] == [by_base] * 3
    assert [str(error) for error in errors] == [method]
    # No method of it is called any more, not even one that did not fail.
    assert probe.on_setup(SETUP, 70, 0) == 70


def test_a_result_that_is_not_a_number_is_an_error_of_the_strategy():
    class Wrong:
        def on_status_message(self, sm, position, limit, now_ns):
            return "far"

    errors = []
    assert probe_of(Wrong(), errors.append).on_status_message(SM, 5000, 1000, 0) == 5100
    assert isinstance(errors[0], TypeError)


def test_an_object_without_the_methods_is_rejected():
    with pytest.raises(
        PluginError,
        match=r"cannot be used as flow control: .* methods on_status_message",
    ):
        adapt_flow_control(object(), pytest.fail)


def test_the_documentation_has_every_method_and_the_required_one():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-flow-control.md"
    rows = re.findall(r"^\| `(\w+)\(.*", page.read_text(encoding="utf-8"), re.M)
    required = re.findall(r"^\| `(\w+)\(.*\*\*required\*\*", page.read_text(encoding="utf-8"), re.M)

    assert (tuple(rows), required) == (METHODS, ["on_status_message"])

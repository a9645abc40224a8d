"""How far a sender may go: a position in, a limit out.

A compiled strategy subclasses `FlowControl` and cimports it: its methods run on the sender thread without
the GIL. A strategy in plain Python is any object with some of the same methods (see `FlowControlStrategy`),
or a Python subclass of a compiled strategy; the driver wraps it in `PythonFlowControl`, which takes the GIL
for each call. In a Python subclass `super()` does not reach compiled methods: leave a method out to keep the
compiled one.

No method is called for a data frame. `on_status_message`, `on_setup_elicited` and `on_error` are called for each
frame of their kind, `on_setup` when the setup that one asked for is sent, every 100 ms at most. Of a compiled
strategy `has_required_receivers` is called in every duty cycle and `on_idle` in every one that sends nothing. Of
one in Python each is called every 100 ms at most (`adapt.PYTHON_CALL_INTERVAL_NS`), `has_required_receivers` also
after a status message or an error; meanwhile its last answer stands, and the limit stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import cython

from aeron_core.spi.adapt import PYTHON_CALL_INTERVAL_NS, python_methods, require_methods
from aeron_core.spi.stream_counter import CounterFactory, detached_counter

if TYPE_CHECKING:
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.protocol.frames.setup import Setup
    from aeron_core.protocol.frames.status_message import StatusMessage

METHODS: Final = (
    "on_status_message",
    "on_setup",
    "on_setup_elicited",
    "on_idle",
    "on_error",
    "has_required_receivers",
)


@dataclass(frozen=True)
class FlowControlParams:
    """What a flow-control factory may know of the publication that it serves.

    `options` is what follows the strategy's name in `fc=`, such as `g:/3,t:5s`; lengths are bytes. `new_counter`
    takes a type and a name and returns a counter of this stream, which tools see while the publication lives.
    """

    channel: str
    stream_id: int
    session_id: int
    registration_id: int
    initial_term_id: int
    term_length: int
    mtu: int
    is_multicast: bool
    options: str = ""
    group_tag: int | None = None
    group_min_size: int = 0
    receiver_timeout_ns: int = 5_000_000_000
    new_counter: CounterFactory = detached_counter


class FlowControlStrategy(Protocol):
    """The methods of a strategy that is written in plain Python; see `FlowControl` for what each must do."""

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """Return the new sender limit."""

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """Return the sender limit after a setup frame was sent."""

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> None:
        """Take note of a receiver that asked for a setup frame."""

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """Return the sender limit when there is nothing to send."""

    def on_error(self, error: ErrorFrame, now_ns: int) -> None:
        """Take note of a receiver that reported an error."""

    def has_required_receivers(self, now_ns: int) -> bool:
        """Return whether the publication may call itself connected."""


class FlowControl:
    """Base of compiled strategies; itself the rule for one receiver: never below what was allowed before.

    All methods run on the sender thread. Frames are valid during the call only: copy what must stay.
    """

    def __cinit__(self) -> None:
        # Source: aeron_flow_control.h, AERON_RETRANSMIT_RECEIVER_WINDOW_MULTIPLE of unicast.
        self.retransmit_window_multiple = 16

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """Return the new sender limit, a stream position in bytes.

        `position` is where the receiver has got to; `sm.receiver_window` is what it takes beyond that.
        Source: aeron_flow_control.c, aeron_unicast_flow_control_strategy_on_sm.
        """
        window_end = position + sm.receiver_window
        return window_end if window_end > limit else limit

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """Return the sender limit after a setup frame was sent."""
        return limit

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> int:
        """Take note of a receiver that asked for a setup frame, which `on_setup` will follow; return 0."""
        return 0

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """Return the sender limit when there was nothing to send; the place to forget silent receivers."""
        return limit

    def on_error(self, error: ErrorFrame, now_ns: int) -> int:
        """Take note of a receiver that reported an error; return 0."""
        return 0

    def has_required_receivers(self, now_ns: int) -> bool:
        """Return whether enough receivers are there for the publication to be connected."""
        return True

    def _reserved_0(self) -> int:
        return 0

    def _reserved_1(self) -> int:
        return 0

    def _reserved_2(self) -> int:
        return 0

    def _reserved_3(self) -> int:
        return 0


class PythonFlowControl(FlowControl):
    """Runs a strategy whose methods are written in Python, taking the GIL for each call; the module says when.

    What the strategy leaves out, its compiled base does; without one, `FlowControl` does. A strategy that
    raises is reported once and from then on left to that base altogether, so that its stream goes on.
    """

    def __init__(
        self, strategy: FlowControl | FlowControlStrategy, report: Callable[[BaseException], None]
    ) -> None:
        methods = python_methods(strategy, METHODS)
        self._report = report
        self._is_broken = False
        if isinstance(strategy, FlowControl):
            self._native = strategy
        else:
            require_methods(strategy, "flow control", methods, ("on_status_message",))
            self._native = FlowControl()
        self._on_status_message = methods.get("on_status_message")
        self._on_setup = methods.get("on_setup")
        self._on_setup_elicited = methods.get("on_setup_elicited")
        self._on_idle = methods.get("on_idle")
        self._on_error = methods.get("on_error")
        self._has_required_receivers = methods.get("has_required_receivers")
        self._interval_ns = PYTHON_CALL_INTERVAL_NS
        self._idle_deadline_ns = 0
        self._required_deadline_ns = 0
        self._has_required = False
        self.retransmit_window_multiple = getattr(strategy, "retransmit_window_multiple", 16)

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """See `FlowControl.on_status_message`."""
        self._required_deadline_ns = now_ns
        if not self._is_broken and self._on_status_message is not None:
            with cython.gil:
                try:
                    return self._on_status_message(sm, position, limit, now_ns)
                except Exception as error:
                    self._fail(error)
        return self._native.on_status_message(sm, position, limit, now_ns)

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """See `FlowControl.on_setup`."""
        if not self._is_broken and self._on_setup is not None:
            with cython.gil:
                try:
                    return self._on_setup(setup, limit, now_ns)
                except Exception as error:
                    self._fail(error)
        return self._native.on_setup(setup, limit, now_ns)

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> int:
        """See `FlowControl.on_setup_elicited`."""
        if not self._is_broken and self._on_setup_elicited is not None:
            with cython.gil:
                try:
                    self._on_setup_elicited(sm, now_ns)
                    return 0
                except Exception as error:
                    self._fail(error)
        return self._native.on_setup_elicited(sm, now_ns)

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """See `FlowControl.on_idle`."""
        if not self._is_broken and self._on_idle is not None:
            if now_ns < self._idle_deadline_ns:
                return limit
            self._idle_deadline_ns = now_ns + self._interval_ns
            with cython.gil:
                try:
                    return self._on_idle(limit, sender_position, bool(is_end_of_stream), now_ns)
                except Exception as error:
                    self._fail(error)
        return self._native.on_idle(limit, sender_position, is_end_of_stream, now_ns)

    def on_error(self, error: ErrorFrame, now_ns: int) -> int:
        """See `FlowControl.on_error`."""
        self._required_deadline_ns = now_ns
        if not self._is_broken and self._on_error is not None:
            with cython.gil:
                try:
                    self._on_error(error, now_ns)
                    return 0
                except Exception as fault:
                    self._fail(fault)
        return self._native.on_error(error, now_ns)

    def has_required_receivers(self, now_ns: int) -> bool:
        """See `FlowControl.has_required_receivers`."""
        if not self._is_broken and self._has_required_receivers is not None:
            if now_ns < self._required_deadline_ns:
                return self._has_required
            self._required_deadline_ns = now_ns + self._interval_ns
            with cython.gil:
                try:
                    self._has_required = bool(self._has_required_receivers(now_ns))
                    return self._has_required
                except Exception as error:
                    self._fail(error)
        return self._native.has_required_receivers(now_ns)

    def _fail(self, error: BaseException) -> None:
        self._is_broken = True
        self._report(error)


def adapt_flow_control(
    strategy: FlowControl | FlowControlStrategy, report: Callable[[BaseException], None]
) -> FlowControl:
    """Return `strategy` if all of it is compiled, else an adapter; `report` takes its first exception."""
    if isinstance(strategy, FlowControl) and not python_methods(strategy, METHODS):
        return strategy
    return PythonFlowControl(strategy, report)

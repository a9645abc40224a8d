"""Flow control: decides how far a sender may send, from the positions that receivers report.

    class GenerousFlowControl:
        def __init__(self, params: FlowControlParams) -> None: ...
        def on_status_message(self, sm, position, limit, now_ns):
            return max(limit, position + 2 * sm.receiver_window)

The sender sends up to the *sender limit*, a stream position. A strategy gets the receivers' status messages
and returns the new limit.

A compiled strategy subclasses `FlowControl` and cimports it: its methods run on the thread of the sender without the
GIL. A strategy in plain Python is any object with some of the same methods (see `FlowControlStrategy`), or a
Python subclass of a compiled strategy; the driver wraps it in `PythonFlowControl`, which takes the GIL for
each call. In a Python subclass `super()` does not reach compiled methods: omit a method to keep the compiled
one.

When methods are called, never for a data frame:

    on_status_message, on_setup_elicited, on_error   for each frame of their kind that the publication accepts
    on_setup                                         when a requested SETUP is sent, at most every 100 ms
    has_required_receivers                           in every duty cycle, while there is a receiver
    on_idle                                          in every duty cycle that sends no data

The last two are called at most every 100 ms if they are written in Python (`adapt.PYTHON_CALL_INTERVAL_NS`),
`has_required_receivers` also after a status message or an error. In between, its last result and the limit
remain in force.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import cython

from aeron_core.frozen import frozen
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


@frozen()
class FlowControlParams:
    """Description of the publication that a flow-control factory creates a strategy for.

    `options` is the text after the strategy's name in `fc=`, such as `g:/3,t:5s`. `term_length` and `mtu` are
    bytes. `group_tag`, `group_min_size` (receivers) and `receiver_timeout_ns` are the driver's defaults for `options`
    that do not set them. `new_counter(type_id, name)` returns a counter of this stream, visible to tools while the
    publication exists.
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
    """The method that a strategy in plain Python must have.

    It may also have any other method of `FlowControl`: `on_setup`, `on_setup_elicited`, `on_idle`, `on_error`,
    `has_required_receivers`. They are not part of this protocol, so that type checkers accept a class without them.
    """

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """Return the new sender limit; see `FlowControl.on_status_message`."""


class FlowControl:
    """Base of compiled strategies; its own methods implement the unicast rule: the limit never decreases.

    All methods run on the thread of the publication's sender. Frames are valid during the call only: copy what must be
    kept. Positions are bytes of the stream, times are nanoseconds of the monotonic clock.
    """

    def __cinit__(self) -> None:
        # Source: aeron_flow_control.h, AERON_UNICAST_FLOW_CONTROL_RETRANSMIT_RECEIVER_WINDOW_MULTIPLE.
        self.retransmit_window_multiple = 16

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """Return the new sender limit, a stream position in bytes, at least `limit`.

        Data may have been sent up to `limit`. `position` is the receiver's consumption position, `sm.receiver_window`
        (bytes) how much it accepts beyond it.
        Source: aeron_flow_control.c, aeron_max_flow_control_strategy_on_sm, which unicast uses too.
        """
        window_end = position + sm.receiver_window
        return window_end if window_end > limit else limit

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """Return the sender limit for a requested SETUP, before it is sent; the default keeps `limit`."""
        return limit

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> int:
        """Handle a status message that requests a SETUP, before `on_setup` is called for it; return 0."""
        return 0

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """Return the sender limit after a duty cycle that sent no data, for example after removing silent receivers.

        There was no data, or it waits at the limit. `sender_position` is the stream position up to which data was sent.
        A result below `limit` does not affect that data. The default keeps `limit`.
        """
        return limit

    def on_error(self, error: ErrorFrame, now_ns: int) -> int:
        """Handle a receiver's error frame, which rejects the stream; return 0."""
        return 0

    def has_required_receivers(self, now_ns: int) -> bool:
        """Return whether the receivers suffice for the publication to be connected.

        Called only while there is a receiver.
        """
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
    """Adapter of a strategy with methods in Python; takes the GIL for each call. See the module docstring.

    Omitted methods are those of the compiled base, or of `FlowControl` if there is none. After the first exception,
    which is reported, this base handles all calls, so that the stream continues.
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

    @property
    def requires_proof(self) -> bool:
        """See `MinFlowControl.requires_proof`, which a subclass in Python inherits."""
        return bool(getattr(self._native, "requires_proof", False))

    def _fail(self, error: BaseException) -> None:
        self._is_broken = True
        self._report(error)


def adapt_flow_control(
    strategy: FlowControl | FlowControlStrategy, report: Callable[[BaseException], None]
) -> FlowControl:
    """Return `strategy` if it is compiled completely, otherwise an adapter, which reports its first exception.

    Raises PluginError if the strategy is in plain Python and has no `on_status_message`.
    """
    if isinstance(strategy, FlowControl) and not python_methods(strategy, METHODS):
        return strategy
    return PythonFlowControl(strategy, report)

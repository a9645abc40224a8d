"""How far a sender may go: a position in, a limit out.

A compiled strategy subclasses `FlowControl` and cimports it: its methods run on the sender thread without the GIL.
A strategy in plain Python is any object with the same methods (see `FlowControlStrategy`); the driver wraps it
in `PythonFlowControl`, which takes the GIL for each call. Methods are called when a status message, an error or
a timer comes, never for a data frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import cython

if TYPE_CHECKING:
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.protocol.frames.setup import Setup
    from aeron_core.protocol.frames.status_message import StatusMessage


@dataclass(frozen=True)
class FlowControlParams:
    """What a flow-control factory may know of the publication that it serves.

    `options` is what follows the strategy's name in `fc=`, such as `g:/3,t:5s`; lengths are bytes.
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
    """Runs a strategy that is written in plain Python, taking the GIL for each call.

    A strategy that raises is reported once and from then on replaced by the rule of `FlowControl`, so that its
    stream goes on.
    """

    def __init__(self, strategy: FlowControlStrategy, report: Callable[[BaseException], None]) -> None:
        self._strategy = strategy
        self._report = report
        self._is_broken = False
        self.retransmit_window_multiple = getattr(strategy, "retransmit_window_multiple", 16)

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """See `FlowControl.on_status_message`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    return self._strategy.on_status_message(sm, position, limit, now_ns)
                except Exception as error:
                    self._fail(error)
        return FlowControl.on_status_message(self, sm, position, limit, now_ns)

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """See `FlowControl.on_setup`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    return self._strategy.on_setup(setup, limit, now_ns)
                except Exception as error:
                    self._fail(error)
        return limit

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> int:
        """See `FlowControl.on_setup_elicited`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    self._strategy.on_setup_elicited(sm, now_ns)
                except Exception as error:
                    self._fail(error)
        return 0

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """See `FlowControl.on_idle`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    return self._strategy.on_idle(limit, sender_position, bool(is_end_of_stream), now_ns)
                except Exception as error:
                    self._fail(error)
        return limit

    def on_error(self, error: ErrorFrame, now_ns: int) -> int:
        """See `FlowControl.on_error`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    self._strategy.on_error(error, now_ns)
                except Exception as fault:
                    self._fail(fault)
        return 0

    def has_required_receivers(self, now_ns: int) -> bool:
        """See `FlowControl.has_required_receivers`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    return bool(self._strategy.has_required_receivers(now_ns))
                except Exception as error:
                    self._fail(error)
        return True

    def _fail(self, error: BaseException) -> None:
        self._is_broken = True
        self._report(error)

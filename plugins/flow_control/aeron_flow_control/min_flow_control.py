"""The slowest receiver decides: nobody of the group is left behind.

    unknown ──status message with room for it──► counted ──silence, end, error──► forgotten
                                                    │
    a setup that one of the group asked for holds the limit until that one is counted, or the timeout

A receiver that is a window or more behind the slowest is not taken in: it would stop the others until it has
caught up, and asks again once it has.
Tagged: only receivers that send the group's tag are counted; the others take what they get.

Source: aeron_min_flow_control.c.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.flow_control import FlowControl, FlowControlParams
from aeron_flow_control.group_options import parse_group_options
from aeron_flow_control.receivers import Receivers

#: Compiled in: the tables of C functions that this module was built against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

# Source: aeron_counters.h, AERON_COUNTER_FC_NUM_RECEIVERS_TYPE_ID.
_COUNTER_TYPE: Final = 17
_COUNTER_NAME: Final = "fc-receivers"
_NO_HOLD = (1 << 63) - 1


class MinFlowControl(FlowControl):
    """Options `g:/n` (receivers that are wanted), `t:duration` (silence that ends one), `rrwm:n`.

    A NAK may have 4 windows sent again. The publication is connected while at least the wanted number of
    receivers is counted, and its limit stands still while there are fewer.
    """

    def __init__(self, params: FlowControlParams) -> None:
        options = parse_group_options(params)
        self.retransmit_window_multiple = options.retransmit_window_multiple
        self._is_tagged = False
        self._group_tag = options.group_tag
        self._group_min_size = options.group_min_size
        self._receiver_timeout_ns = options.receiver_timeout_ns
        self._receivers = Receivers()
        self._receiver_count = params.new_counter(_COUNTER_TYPE, _COUNTER_NAME)
        self._is_setup_for_group = False
        self._hold_limit = _NO_HOLD
        self._hold_deadline_ns = 0

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """Return the lowest limit of all receivers, never below `limit`."""
        receiver_limit = position + sm.receiver_window
        if self._is_of_group(sm):
            self._take_note(sm, receiver_limit, now_ns)
        if self._receivers.count < self._group_min_size:
            return limit
        if self._receivers.count == 0:
            return max(limit, receiver_limit)
        return max(limit, self._receivers.lowest_limit(self._hold(now_ns)))

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """Hold the limit where it is if one of the group asked for the setup: it will start from here."""
        if self._is_setup_for_group and self._receivers.count > 0:
            self._hold_limit = limit
            self._hold_deadline_ns = now_ns + self._receiver_timeout_ns
        self._is_setup_for_group = False
        return limit

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> int:
        """Take note whether one of the group asks."""
        if self._is_of_group(sm):
            self._is_setup_for_group = True
        return 0

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """Forget silent receivers, and return the lowest limit, which may be below `limit`."""
        if self._receivers.forget(now_ns - self._receiver_timeout_ns) > 0:
            self._receiver_count.set_release(self._receivers.count)
        if self._receivers.count == 0 or self._receivers.count < self._group_min_size:
            return limit
        return self._receivers.lowest_limit(self._hold(now_ns))

    def on_error(self, error: ErrorFrame, now_ns: int) -> int:
        """Reckon no longer with a receiver that has refused the stream."""
        index = self._receivers.find(error.receiver_id)
        return self._receivers.end(index) if index >= 0 else 0

    def has_required_receivers(self, now_ns: int) -> bool:
        """Return whether the group is complete."""
        return self._receivers.count >= self._group_min_size

    def _is_of_group(self, sm: StatusMessage) -> bool:
        return not self._is_tagged or (sm.has_group_tag and sm.group_tag == self._group_tag)

    def _take_note(self, sm: StatusMessage, receiver_limit: int, now_ns: int) -> int:
        has_ended = sm.flags & wire.SM_FLAG_EOS != 0
        index = self._receivers.find(sm.receiver_id)
        if index >= 0:
            return self._receivers.update(index, receiver_limit, has_ended, now_ns)
        if has_ended:
            return 0
        lowest = self._receivers.lowest_limit(self._hold(now_ns))
        if self._receivers.count > 0 and receiver_limit < lowest - sm.receiver_window:
            return 0
        self._receivers.add(sm.receiver_id, receiver_limit, now_ns)
        self._hold_limit = _NO_HOLD
        return self._receiver_count.set_release(self._receivers.count)

    def _hold(self, now_ns: int) -> int:
        """Return the limit that a setup holds, or the highest of all positions."""
        if self._hold_limit != _NO_HOLD and now_ns > self._hold_deadline_ns:
            self._hold_limit = _NO_HOLD
        return self._hold_limit


class TaggedFlowControl(MinFlowControl):
    """As min, but only receivers that send the tag of `g:tag/n` are counted."""

    def __init__(self, params: FlowControlParams) -> None:
        MinFlowControl.__init__(self, params)
        self._is_tagged = True

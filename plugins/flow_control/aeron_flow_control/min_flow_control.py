"""Min flow control: the slowest receiver of the group determines the limit.

    unknown ──status message within a window──► counted ──silence, end, error──► removed
                                                    │
    a setup requested by a receiver of the group holds the limit until a new one is counted, or the timeout

A receiver that is more than a window behind the slowest is not added, because the others would have to wait for it. A
later status message adds it when it has caught up.
Tagged: only receivers that send the group's tag are counted. Others receive without influence on the limit,
unless no receiver is required and none is counted: then each status message can raise it.

Invariant: a status message never lowers the limit; only `on_idle` can.
Source: aeron_min_flow_control.c.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core.concurrent import counter_types
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.flow_control import FlowControl, FlowControlParams
from aeron_flow_control.group_options import parse_group_options
from aeron_flow_control.receivers import Receivers

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

_COUNTER_NAME: Final = "fc-receivers"
_NO_HOLD = (1 << 63) - 1


class MinFlowControl(FlowControl):
    """The limit of the slowest receiver of a group.

    Options: `g:/n` (receivers required), `t:duration` (timeout of a silent receiver), `rrwm:n`, `proof:true` (only
    receivers that reply to a request at their address are counted, or hold the limit).

    A NAK causes retransmission of up to `rrwm` windows, 4 by default. While fewer than the required number of receivers
    are counted, receivers do not connect the publication, and the limit does not advance. The constructor raises
    ChannelUriError for unknown options and invalid values, and StorageError if no counter is free.
    """

    def __init__(self, params: FlowControlParams) -> None:
        options = parse_group_options(params)
        self.retransmit_window_multiple = options.retransmit_window_multiple
        self._is_tagged = False
        self._group_tag = options.group_tag
        self._group_min_size = options.group_min_size
        self._receiver_timeout_ns = options.receiver_timeout_ns
        #: Whether the publication passes on status messages of proved receivers only, see `receiver_proofs`.
        self.requires_proof = options.requires_proof
        self._receivers = Receivers()
        self._receiver_count = params.new_counter(counter_types.FLOW_CONTROL_RECEIVERS, _COUNTER_NAME)
        self._is_setup_for_group = False
        self._hold_limit = _NO_HOLD
        self._hold_deadline_ns = 0

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """Return the lowest limit of the counted receivers, at least `limit`; `limit` if too few are counted.

        A held limit counts like that of a receiver. If no receiver is required and none is counted, `sm` can raise the
        limit.
        """
        receiver_limit = position + sm.receiver_window
        if self._is_of_group(sm):
            self._take_note(sm, receiver_limit, now_ns)
        if self._receivers.count < self._group_min_size:
            return limit
        if self._receivers.count == 0:
            return max(limit, receiver_limit)
        return max(limit, self._receivers.lowest_limit(self._hold(now_ns)))

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """Hold the limit for the receiver timeout if a receiver of the group requested the setup.

        That receiver will start near the present position. Without counted receivers, nothing is held. Returns `limit`.
        """
        if self._is_setup_for_group and self._receivers.count > 0:
            self._hold_limit = limit
            self._hold_deadline_ns = now_ns + self._receiver_timeout_ns
        self._is_setup_for_group = False
        return limit

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> int:
        """Record whether the request for a setup is from a receiver of the group; return 0."""
        if self._is_of_group(sm):
            self._is_setup_for_group = True
        return 0

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """Remove receivers that are silent, ended or rejected the stream; return the lowest limit of the others.

        A held limit counts like that of a receiver. The result can be below `limit`; it is `limit` if no receiver, or
        too few, are counted.
        """
        if self._receivers.forget(now_ns - self._receiver_timeout_ns) > 0:
            self._receiver_count.set_release(self._receivers.count)
        if self._receivers.count == 0 or self._receivers.count < self._group_min_size:
            return limit
        return self._receivers.lowest_limit(self._hold(now_ns))

    def on_error(self, error: ErrorFrame, now_ns: int) -> int:
        """Mark a receiver that rejected the stream, so that `on_idle` removes it; return 0."""
        index = self._receivers.find(error.receiver_id)
        return self._receivers.end(index) if index >= 0 else 0

    def has_required_receivers(self, now_ns: int) -> bool:
        """Return whether at least the required number of receivers is counted."""
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
        """Return the limit held by a setup, or the maximum position if none is held."""
        if self._hold_limit != _NO_HOLD and now_ns > self._hold_deadline_ns:
            self._hold_limit = _NO_HOLD
        return self._hold_limit


class TaggedFlowControl(MinFlowControl):
    """Min flow control that counts only receivers with the tag of `g:tag/n`, by default the driver's tag."""

    def __init__(self, params: FlowControlParams) -> None:
        MinFlowControl.__init__(self, params)
        self._is_tagged = True

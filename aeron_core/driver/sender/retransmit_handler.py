"""Retransmissions of one publication: one per gap, however many receivers request it.

    INACTIVE ──NAK──► DELAYED ──delay over, resend──► LINGERING ──linger over──► INACTIVE
                (delay 0: resends at once and lingers)

While an action is DELAYED or LINGERING, NAKs that start inside its range are ignored: the data will be sent
soon, or is in flight.
With one receiver a single action is enough: a NAK outside of its range replaces it. A group needs several.
Invariant: at most `max_resend` actions of a group are active; a NAK for which none is left is dropped.
Source: aeron_retransmit_handler.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cython

from aeron_core.driver._native import operations
from aeron_core.spi.endpoints import SendStream

if TYPE_CHECKING:
    from aeron_core.spi.flow_control import FlowControl


class Resender(SendStream):
    """A stream that can retransmit a part of a term; base of the publications that are sent over a network."""

    def resend(self, term_id: int, term_offset: int, length: int) -> int:
        """Retransmit at most `length` bytes at `term_offset`; return the stream bytes sent, padding included."""
        return 0


class RetransmitHandler:
    """The retransmissions of one publication; used by the sender only.

    Raises ValueError if `max_resend` exceeds the array of actions, whose length is fixed when it is compiled.
    """

    # An array of C structs, which Python types cannot describe.
    _actions: Any

    def __init__(
        self, *, is_group: bool, max_resend: int, delay_ns: int, linger_ns: int, initial_window_length: int
    ) -> None:
        # Checked here, because an index beyond the array would overwrite other memory.
        longest = cython.sizeof(self._actions) // cython.sizeof(self._actions[0])
        if not 1 <= max_resend <= longest:
            raise ValueError(f"max_resend={max_resend}: must be from 1 to {longest}, the length of the pool")
        self._is_group = is_group
        self._capacity = max_resend if is_group else 1
        self._delay_ns = delay_ns
        self._linger_ns = linger_ns
        self._initial_window_length = initial_window_length
        self._active_count = 0

    def on_nak(  # noqa: PLR0913
        self,
        resender: Resender,
        flow_control: FlowControl,
        term_id: int,
        term_offset: int,
        length: int,
        term_length: int,
        now_ns: int,
    ) -> int:
        """Handle a valid NAK; return RETRANSMIT_ACCEPTED, _COVERED by an earlier one, or _OVERFLOW of the pool."""
        slot = self._slot_for(term_id, term_offset)
        if slot < 0:
            return operations.RETRANSMIT_COVERED if slot == -1 else operations.RETRANSMIT_OVERFLOW
        resend_length = self._resend_length(flow_control, term_offset, length, term_length)
        if self._actions[slot].state == operations.RETRANSMIT_INACTIVE:
            self._active_count += 1
        self._actions[slot].term_id = term_id
        self._actions[slot].term_offset = term_offset
        self._actions[slot].length = resend_length
        if self._delay_ns == 0:
            # Lingering covers the round trip: NAKs that were sent before the data arrived are ignored.
            self._actions[slot].state = operations.RETRANSMIT_LINGERING
            self._actions[slot].expiry_ns = now_ns + self._linger_ns
            resender.resend(term_id, term_offset, resend_length)
        else:
            self._actions[slot].state = operations.RETRANSMIT_DELAYED
            self._actions[slot].expiry_ns = now_ns + self._delay_ns
        return operations.RETRANSMIT_ACCEPTED

    def process_timeouts(self, resender: Resender, now_ns: int) -> int:
        """Resend delayed gaps and free lingering ones that are due; return the number of both."""
        work = 0
        if self._active_count == 0:
            return 0
        for i in range(self._capacity):
            if (
                self._actions[i].state == operations.RETRANSMIT_INACTIVE
                or now_ns <= self._actions[i].expiry_ns
            ):
                continue
            work += 1
            if self._actions[i].state == operations.RETRANSMIT_DELAYED:
                # Change the state first: if the resend raises, the action lingers, and is not repeated in each cycle.
                self._actions[i].state = operations.RETRANSMIT_LINGERING
                self._actions[i].expiry_ns = now_ns + self._linger_ns
                resender.resend(
                    self._actions[i].term_id, self._actions[i].term_offset, self._actions[i].length
                )
            else:
                self._actions[i].state = operations.RETRANSMIT_INACTIVE
                self._active_count -= 1
        return work

    def next_expiry_ns(self, latest_ns: int) -> int:
        """Return when the first action that is delayed or lingers expires, at most `latest_ns`."""
        earliest_ns = latest_ns
        for i in range(self._capacity):
            if self._actions[i].state != operations.RETRANSMIT_INACTIVE:
                earliest_ns = min(earliest_ns, self._actions[i].expiry_ns)
        return earliest_ns

    def _slot_for(self, term_id: int, term_offset: int) -> int:
        # Negative if there is no slot: -1 if an earlier request covers this one, -2 if all slots are in use.
        available = -2
        for i in range(self._capacity):
            if self._actions[i].state == operations.RETRANSMIT_INACTIVE:
                if available < 0:
                    available = i
            elif (
                self._actions[i].term_id == term_id
                and self._actions[i].term_offset
                <= term_offset
                < self._actions[i].term_offset + self._actions[i].length
            ):
                return -1
            # A receiver requests one gap at a time: by a NAK for another gap it shows that it has the data of this one.
            elif not self._is_group:
                available = i
        return available

    def _resend_length(
        self,
        flow_control: FlowControl,
        term_offset: int,
        length: int,
        term_length: int,
    ) -> int:
        # A receiver requests no more than its window: a multiple of an estimate of that window bounds what a forged NAK
        # can cause.
        # Source: aeron_flow_control.c, aeron_flow_control_calculate_retransmission_length.
        window = min(self._initial_window_length, term_length >> 1)
        longest = window * flow_control.retransmit_window_multiple
        return min(longest, term_length - term_offset, length)

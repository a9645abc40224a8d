"""Loss detector of one image: finds the first gap, and determines when to request its retransmission.

One gap at a time: a new gap is due after the first delay, and again after each retry delay until it is closed.
While nothing at all arrives, the retry delay doubles each time after the first _MAX_STEADY_RETRIES, up to the interval
of heartbeats: a sender that exists sends that often, and the source address of a stream may be forged. The next
datagram ends the back-off.
Source: aeron_loss_detector.c; the back-off is not from the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions, wire
from aeron_core.logbuffer.gap_scanner import scan_for_gap

if TYPE_CHECKING:
    from aeron_core.driver.receiver.nak_delay import NakDelay
    from aeron_core.logbuffer.descriptor import LogBuffer


# Retries at the steady delay. Invented: at the default retry delay of 100 µs they last 1 ms, so that the loss of a few
# NAKs or retransmits on a local network is repaired as fast as without the back-off.
_MAX_STEADY_RETRIES = 10
# Doublings of the delay: enough for 100 µs to reach the interval of heartbeats. The limit keeps the shift within 64
# bits.
_MAX_DOUBLINGS = 10
# Delay that the doublings begin with if that of the channel is shorter, which may be 0.
_MIN_DOUBLED_NS = wire.HEARTBEAT_INTERVAL_NS >> _MAX_DOUBLINGS


class LossDetector:
    """Detector of the first gap of one image; used by the receiver only."""

    has_gap: bool
    is_new_gap: bool
    is_due: bool
    gap_term_id: int
    gap_offset: int
    gap_length: int
    _unanswered: int
    _expiry_ns: int

    def __init__(self, log: LogBuffer, delay: NakDelay) -> None:
        self._log = log
        self._delay = delay
        self.gap_length = 0

    def on_packet(self, now_ns: int) -> int:
        """End the back-off: a datagram of the sender has arrived. Return 0."""
        if self._unanswered > _MAX_STEADY_RETRIES:
            self._expiry_ns = min(self._expiry_ns, now_ns + self._delay.delay_ns(True))
        self._unanswered = 0
        return 0

    def _retry_delay_ns(self) -> int:
        delay_ns = self._delay.delay_ns(True)
        if self._unanswered <= _MAX_STEADY_RETRIES or delay_ns >= wire.HEARTBEAT_INTERVAL_NS:
            return delay_ns
        doublings = min(self._unanswered - _MAX_STEADY_RETRIES, _MAX_DOUBLINGS)
        return min(max(delay_ns, _MIN_DOUBLED_NS) << doublings, wire.HEARTBEAT_INTERVAL_NS)

    def scan(self, rebuild_position: int, hwm_position: int, now_ns: int) -> int:
        """Return the position up to which there is no gap; set `has_gap`, `is_new_gap` and `is_due`.

        Scans from `rebuild_position` to `hwm_position`, at most to the end of the term. A new gap also sets
        `gap_term_id`, `gap_offset` and `gap_length`, which stay after it is closed.
        """
        self.has_gap = False
        self.is_new_gap = False
        self.is_due = False
        # Everything received is contiguous: a gap needs something beyond it.
        if rebuild_position >= hwm_position:
            return rebuild_position
        bits = self._log.position_bits_to_shift
        rebuild_offset = positions.compute_term_offset(rebuild_position, bits)
        # Scan to the end of the term at most: a gap across two terms is recovered in two steps.
        limit_offset = self._log.term_length
        if rebuild_position >> bits == hwm_position >> bits:
            limit_offset = positions.compute_term_offset(hwm_position, bits)
        gap = scan_for_gap(
            self._log.buffer,
            self._log.frame_offset(rebuild_position) - rebuild_offset,
            rebuild_offset,
            limit_offset,
        )
        offset = positions.high_of_pair(gap)
        length = positions.low_of_pair(gap)
        # A gap ends at the next frame that arrived, or at the limit: a heartbeat shows that data is missing before any
        # later data arrives.
        if length > 0:
            self.has_gap = True
            term_id = positions.compute_term_id(rebuild_position, bits, self._log.initial_term_id)
            # Another gap, or the rest of the last one: wait for the first delay again.
            if term_id != self.gap_term_id or offset != self.gap_offset or length != self.gap_length:
                self.gap_term_id = term_id
                self.gap_offset = offset
                self.gap_length = length
                self.is_new_gap = True
                # Do not request it at once: frames may be reordered, or another receiver may request the same gap.
                self._expiry_ns = now_ns + self._delay.delay_ns(False)
            # With a delay of 0, as for unreliable streams, a new gap is due in the same call.
            if now_ns >= self._expiry_ns:
                self.is_due = True
                self._unanswered = min(self._unanswered + 1, _MAX_STEADY_RETRIES + _MAX_DOUBLINGS)
                self._expiry_ns = now_ns + self._retry_delay_ns()
        return rebuild_position - rebuild_offset + offset

"""Recovery of gaps in one image: records them, and requests retransmissions or fills the gaps of an unreliable stream.

Not here: finding gaps and the delay before a request (`loss_detector`).
Invariant: each lost byte is recorded once, however often its gap is requested and however the gap's start moves.
Source: aeron_publication_image.c, aeron_publication_image_on_gap_detected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions
from aeron_core.driver.receiver.loss_detector import LossDetector
from aeron_core.logbuffer.gap_filler import try_fill_gap
from aeron_core.protocol.frames.nak import Nak

if TYPE_CHECKING:
    from aeron_core.driver.receiver.image_connections import ImageConnections
    from aeron_core.driver.receiver.image_params import ImageParams


class LossRecovery:
    """Detection, record and recovery of the gaps of one image; used by the receiver only."""

    def __init__(self, params: ImageParams, connections: ImageConnections) -> None:
        self.detector = LossDetector(params.log, params.nak_delay)
        self._log = params.log
        self._losses = params.losses
        self._clock = params.clock
        self._connections = connections
        self._counters = params.system_counters
        self._image_naks_sent = params.image_naks_sent
        self._is_reliable = params.is_reliable
        self._counted_end = params.position
        self._nak = Nak()
        self._nak.session_id = params.session_id
        self._nak.stream_id = params.stream_id

    def recover(self, now_ns: int, is_draining: bool) -> int:
        """Request or fill the gap that the detector found to be due; return 1.

        Returns 0 if the image is reliable and drains: nothing is requested any more.
        """
        start = positions.compute_position(
            self.detector.gap_term_id,
            self.detector.gap_offset,
            self._log.position_bits_to_shift,
            self._log.initial_term_id,
        )
        # This is also called for retries, and for the rest of a gap that was closed in part: only bytes beyond the
        # recorded position are a new loss.
        self._record(start, start + self.detector.gap_length)
        if not self._is_reliable:
            # Write padding into the gap, so that subscribers can read past it.
            if try_fill_gap(
                self._log, self.detector.gap_term_id, self.detector.gap_offset, self.detector.gap_length
            ):
                self._counters.loss_gap_fills.increment_release()
            return 1
        # The sender has been silent for too long, the stream has ended, or the image has no readers any more.
        if is_draining:
            return 0
        # The NAK names term and offset; the sender checks whether its log still has the data.
        self._nak.term_id = self.detector.gap_term_id
        self._nak.term_offset = self.detector.gap_offset
        self._nak.length = self.detector.gap_length
        sent = self._connections.send_nak(self._nak, now_ns)
        if sent > 0:
            self._counters.naks_sent.get_and_add(sent)
            self._image_naks_sent.get_and_add(sent)
        return 1

    def _record(self, start: int, end: int) -> int:
        # Gaps are found in the order of the stream, so one position is enough to remember what was counted.
        start = max(start, self._counted_end)
        if end > start:
            self._losses.record(end - start, self._clock.epoch_ms())
            self._counted_end = end
        return 0

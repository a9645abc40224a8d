"""Datagrams of a publication: cuts a term at frame boundaries and groups datagrams for one send call.

A datagram holds as many whole frames as fit the mtu. Consecutive datagrams of equal length form one entry of a batch
(the last may be shorter); the kernel cuts the entry into datagrams again (generic segmentation offload, GSO). The bytes
are sent from the log without a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions, wire
from aeron_core.logbuffer.scanner import scan_for_availability

if TYPE_CHECKING:
    from aeron_core._native.datagrams import SendBatch
    from aeron_core.logbuffer.descriptor import LogBuffer


class DatagramRun:
    """Collector of the next datagrams of one publication, of at most `mtu` bytes each; used by the sender only."""

    def __init__(self, log: LogBuffer, mtu: int, *, uses_gso: bool) -> None:
        self._log = log
        self._mtu = mtu
        self._max_segments = min(wire.MAX_GSO_SEGMENTS, wire.MAX_GSO_LENGTH // mtu) if uses_gso else 1

    def collect(self, batch: SendBatch, position: int, window: int, max_entries: int) -> int:
        """Fill `batch` with the data to send from `position` on; return its length in the stream, including padding.

        Collects at most `window` bytes, not counting padding, in at most `max_entries` entries. Stops at the end of the
        term and at a frame that is not complete. Sets `padding`, the bytes after the last datagram that are skipped,
        and `is_blocked`, whether the next frame does not fit the window.
        """
        batch.clear()
        self.padding = 0
        self.is_blocked = False
        offset = positions.compute_term_offset(position, self._log.position_bits_to_shift)
        base = self._log.frame_offset(position) - offset
        run_start = offset
        run_length = segment = segments = total = 0
        is_closed = False
        while window > 0:
            left = self._log.term_length - offset
            # Each scan finds the frames of one datagram. Frames are not split: publishers fragment messages to fit
            # the mtu.
            scan_limit = min(window, self._mtu)
            scan = scan_for_availability(self._log.buffer, base + offset, left, scan_limit)
            available = positions.low_of_pair(scan)
            self.padding = positions.high_of_pair(scan)
            if available <= 0:
                # 0: publishers have committed nothing more. Negative: the next frame does not fit the window.
                self.is_blocked = available < 0
                break
            # GSO allows only the last datagram of an entry to be shorter: one after it, or a longer one, begins another
            # entry.
            if run_length > 0 and (is_closed or available > segment or segments == self._max_segments):
                batch.add(self._log.buffer, base + run_start, run_length, segment)
                run_start = offset
                run_length = 0
                if batch.count == max_entries:
                    # The batch is full: the datagram of this scan is not in it, and the padding after it is not skipped
                    # yet.
                    self.padding = 0
                    break
            if run_length == 0:
                segment = available
                segments = 0
            is_closed = available < segment
            segments += 1
            run_length += available
            # Of padding only the header is sent, but the position skips all of it.
            offset += available + self.padding
            total += available + self.padding
            window -= available + self.padding
            # The next term is in another buffer: a run of bytes ends here.
            if self.padding > 0 or offset >= self._log.term_length:
                break
        if run_length > 0:
            batch.add(self._log.buffer, base + run_start, run_length, segment)
        return total

"""Deliberate loss of received packets: a share of some frame types, or ranges of a term, each lost once.

Invariant: the number of remembered streams is bounded, whatever a peer sends; further streams lose no ranges.
Source: aeron_udp_channel_transport_loss.c, aeron_fixed_loss_generator.c, aeron_multi_gap_loss_generator.c.
"""

from __future__ import annotations

from cython.cimports.aeron_core._native.pointers import pair_key

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.pointers import LongMap
from aeron_core.spi.media import LossRates
from aeron_core.uri.packet_loss import IncomingLosses
from aeron_media.udp.loss import LossGenerator

_MAX_STREAMS = 4096  # invented, like the limits of the driver: more than any test needs
_UNKNOWN = -1
_MAX_TYPE = 31  # highest frame type in the mask


class IncomingLoss:
    """Filter of the packets that one endpoint receives; used by one thread."""

    def __init__(self, losses: IncomingLosses) -> None:
        random, fixed, gaps = losses.random, losses.fixed, losses.multi_gap
        self.is_any = random is not None or fixed is not None or gaps is not None
        self._generator = LossGenerator(
            LossRates() if random is None else LossRates(random.rate, random.seed)
        )
        self._type_mask = 0 if random is None or random.rate == 0 else random.type_mask
        self._has_fixed = fixed is not None
        if fixed is not None:
            self._fixed_term_id = fixed.term_id
            self._fixed_begin = fixed.term_offset
            self._fixed_end = fixed.term_offset + fixed.length
        self._has_gaps = gaps is not None
        if gaps is not None:
            self._gap_term_id = gaps.term_id
            self._gap_radix = gaps.gap_radix
            self._gap_length = gaps.gap_length
            self._last_gap_end = gaps.total_gaps * gaps.gap_radix + gaps.gap_length
        self._fixed_ends = LongMap()
        self._gap_ends = LongMap()

    def should_drop(self, buffer: AtomicBuffer, offset: int, length: int) -> bool:
        """Return whether to drop the valid packet of `length` bytes at `offset`; a stream loses a range only once."""
        frame_type = buffer.get_u8(offset + wire.FRAME_TYPE_OFFSET)
        if frame_type <= _MAX_TYPE and (self._type_mask >> frame_type) & 1 and self._generator.should_drop():
            return True
        if frame_type != wire.TYPE_DATA or not (self._has_fixed or self._has_gaps):
            return False
        term_id = buffer.get_i32(offset + wire.DATA_TERM_ID_OFFSET)
        begin = buffer.get_i32(offset + wire.DATA_TERM_OFFSET_OFFSET)
        stream = pair_key(
            buffer.get_i32(offset + wire.DATA_STREAM_ID_OFFSET),
            buffer.get_i32(offset + wire.DATA_SESSION_ID_OFFSET),
        )
        if self._has_fixed and term_id == self._fixed_term_id and self._is_in_range(begin, begin + length):
            return self._is_first_time(self._fixed_ends, stream, begin, begin + length)
        if self._has_gaps and term_id == self._gap_term_id and self._is_in_gap(begin, begin + length):
            return self._is_first_time(self._gap_ends, stream, begin, begin + length)
        return False

    def _is_in_range(self, begin: int, end: int) -> bool:
        return begin < self._fixed_end and end > self._fixed_begin

    def _is_in_gap(self, begin: int, end: int) -> bool:
        if begin > self._last_gap_end:
            return False
        previous = begin & -self._gap_radix
        if 0 < previous and begin < previous + self._gap_length:
            return True
        return end > previous + self._gap_radix

    def _is_first_time(self, ends: LongMap, stream: int, begin: int, end: int) -> bool:
        # A range is dropped once: its retransmission must pass.
        lost_until = ends.get(stream, _UNKNOWN)
        if lost_until == _UNKNOWN and ends.size >= _MAX_STREAMS:
            return False
        if lost_until > begin:
            return False
        ends.put(stream, end)
        return True

"""Scanner that validates the frames of a recording and stops at the first invalid one.

Not here: messages (message_scanner). The memory must not change during a scan.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording._native import faults, sums

_TEXTS: Final = {
    faults.CUT_SHORT: "a frame that is cut short, of length {found}",
    faults.NO_FRAME: "no frame, but zeros",
    faults.WRONG_LENGTH: "frame length={found}: must be at least 32 bytes and within the term",
    faults.WRONG_TYPE: "frame type={found}: must be data or padding",
    faults.WRONG_TERM_ID: "term id={found}: must be that of the position",
    faults.WRONG_TERM_OFFSET: "term offset={found}: must be that of the position",
    faults.WRONG_SESSION_ID: "session id={found}: must be that of the recording, {session_id}",
    faults.WRONG_STREAM_ID: "stream id={found}: must be that of the recording, {stream_id}",
    faults.WRONG_CHECKSUM: "checksum={unsigned:#010x} in place of the session id: must be that of the payload",
}


class FrameScanner:
    """Scans parts of one recording; one thread uses it at a time."""

    def __init__(  # noqa: PLR0913 - what all frames have in common
        self,
        session_id: int,
        stream_id: int,
        initial_term_id: int,
        term_length: int,
        *,
        checks_session: bool = True,
        checksum: int = sums.NO_CHECKSUM,
    ) -> None:
        """`checksum`: what data frames must have in place of their session ids; one of the module `sums`."""
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id
        self.term_length = term_length
        self.frame_count = 0
        self.border_length = 0
        self.padding_offset = -1
        self.last_offset = -1
        self.fault = 0
        self.found = 0
        self._checks_session = checks_session
        self._checksum = checksum
        self._position_bits_to_shift = positions.position_bits_to_shift(term_length)

    def scan(self, data: AtomicBuffer, begin: int, length: int, position: int) -> int:
        """Scan `length` bytes at offset `begin`, with the first frame at `position`; return the bytes of valid frames.

        Sets `frame_count`; `border_length` to the bytes up to the last end of a message or padding, 0 if none;
        `padding_offset` and `last_offset` to those of the first padding and of the last frame, from `begin` on, or -1;
        and `fault` to the reason for an early stop, or NO_FAULT. The body of padding may be missing: the result may
        then be more than `length`. Raises IndexError for a range beyond the buffer.
        """
        data.check(begin, length)
        self.frame_count = 0
        self.border_length = 0
        self.padding_offset = -1
        self.last_offset = -1
        self.fault = 0
        scanned = 0
        while scanned < length:
            available = length - scanned
            if self.fault_of(data, begin + scanned, position + scanned, available) != faults.NO_FAULT:
                break
            frame_length = positions.align_frame(data.get_i32(begin + scanned))
            flags = data.get_u8(begin + scanned + wire.FRAME_FLAGS_OFFSET)
            frame_type = data.get_u16(begin + scanned + wire.FRAME_TYPE_OFFSET)
            if frame_type == wire.TYPE_PAD and self.padding_offset < 0:
                self.padding_offset = scanned
            self.last_offset = scanned
            scanned += frame_length
            self.frame_count += 1
            if frame_type == wire.TYPE_PAD or flags & wire.DATA_FLAG_END:
                self.border_length = scanned
        return scanned

    def restamp(self, data: AtomicBuffer, begin: int, length: int, session_id: int, stream_id: int) -> int:
        """Set session and stream id of the frames in `length` bytes at offset `begin`, which a scan found valid.

        Return the number of frames. Raises IndexError for a range beyond the buffer.
        """
        data.check(begin, length)
        count = 0
        at = begin
        while at < begin + length:
            data.put_i32(at + wire.DATA_SESSION_ID_OFFSET, session_id)
            data.put_i32(at + wire.DATA_STREAM_ID_OFFSET, stream_id)
            at += max(positions.align_frame(data.get_i32(at)), wire.DATA_HEADER_LENGTH)
            count += 1
        return count

    def fault_text(self) -> str:
        """Return a description of `fault`, at which the last scan stopped; call only if there is one."""
        return _TEXTS[self.fault].format(
            found=self.found,
            unsigned=self.found & 0xFFFFFFFF,
            session_id=self.session_id,
            stream_id=self.stream_id,
        )

    def fault_of(self, data: AtomicBuffer, frame: int, position: int, available: int) -> int:
        """Return the fault of the frame at offset `frame`, which must be at `position`; NO_FAULT if it is valid.

        `available`: bytes of `data` to examine from `frame` on. Sets `fault`, and `found` to the wrong value, or to
        `available` if that is less than a header.
        """
        self.fault = faults.NO_FAULT
        if available < wire.DATA_HEADER_LENGTH:
            return self._set_fault(faults.CUT_SHORT, available)
        if self._fault_of_shape(data, frame, position, available) == faults.NO_FAULT:
            self._fault_of_origin(data, frame, position)
        return self.fault

    def _fault_of_shape(self, data: AtomicBuffer, frame: int, position: int, available: int) -> int:
        frame_length = data.get_i32(frame)
        frame_type = data.get_u16(frame + wire.FRAME_TYPE_OFFSET)
        if frame_length == 0:
            return self._set_fault(faults.NO_FRAME, 0)
        aligned_length = positions.align_frame(frame_length)
        left = self.term_length - (position & (self.term_length - 1))
        if frame_length < wire.DATA_HEADER_LENGTH or aligned_length > left:
            return self._set_fault(faults.WRONG_LENGTH, frame_length)
        if frame_type != wire.TYPE_DATA and frame_type != wire.TYPE_PAD:  # noqa: PLR1714 - compiled
            return self._set_fault(faults.WRONG_TYPE, frame_type)
        if frame_type == wire.TYPE_DATA and aligned_length > available:
            return self._set_fault(faults.CUT_SHORT, frame_length)
        return faults.NO_FAULT

    def _fault_of_origin(self, data: AtomicBuffer, frame: int, position: int) -> int:
        term_id = data.get_i32(frame + wire.DATA_TERM_ID_OFFSET)
        term_offset = data.get_i32(frame + wire.DATA_TERM_OFFSET_OFFSET)
        session_id = data.get_i32(frame + wire.DATA_SESSION_ID_OFFSET)
        stream_id = data.get_i32(frame + wire.DATA_STREAM_ID_OFFSET)
        if term_id != positions.compute_term_id(position, self._position_bits_to_shift, self.initial_term_id):
            return self._set_fault(faults.WRONG_TERM_ID, term_id)
        if term_offset != position & (self.term_length - 1):
            return self._set_fault(faults.WRONG_TERM_OFFSET, term_offset)
        if self._checks_session and session_id != self.session_id:
            return self._set_fault(faults.WRONG_SESSION_ID, session_id)
        if stream_id != self.stream_id:
            return self._set_fault(faults.WRONG_STREAM_ID, stream_id)
        if (
            self._checksum != sums.NO_CHECKSUM
            and data.get_u16(frame + wire.FRAME_TYPE_OFFSET) == wire.TYPE_DATA
        ):
            return self._fault_of_sum(data, frame)
        return faults.NO_FAULT

    def _fault_of_sum(self, data: AtomicBuffer, frame: int) -> int:
        # All that follows the header counts, up to the aligned end. Source: RecordingWriter.computeChecksum.
        begin = frame + wire.DATA_HEADER_LENGTH
        length = positions.align_frame(data.get_i32(frame)) - wire.DATA_HEADER_LENGTH
        found = data.get_i32(frame + wire.DATA_SESSION_ID_OFFSET)  # unsigned, by the type of the variable
        if self._checksum == sums.CRC32:
            is_right = sums.crc32(data, begin, length, 0) == found
        else:
            is_right = sums.crc32c(data, begin, length) == found
        return faults.NO_FAULT if is_right else self._set_fault(faults.WRONG_CHECKSUM, found)

    def _set_fault(self, fault: int, found: int) -> int:
        self.fault = fault
        self.found = found
        return fault

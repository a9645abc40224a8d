"""Iterator of the reassembled messages of a recording.

For tools that handle some thousand messages per second; data pipelines use message_scanner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError, CorruptRecordingError
from aeron_core.recording._native import faults
from aeron_core.recording.storage.checked_pieces import checked_chunks
from aeron_core.recording.storage.recording import DAMAGED, Recording

_CHUNK_LENGTH: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """One whole message of a recording, reassembled from its fragments."""

    position: int  # after its last frame, as `offer` returned it
    time_ns: int  # recording time since the epoch; 0 if the index has none
    reserved_value: int  # of its first fragment
    payload: bytes


def messages(recording: Recording, begin: int, end: int, *, verify: bool = True) -> Iterator[RecordedMessage]:
    """Yield the messages that begin at or after `begin` and end at or before `end`.

    Raises ConfigurationError if no frame begins at `begin`, CorruptRecordingError if a frame is invalid or,
    with `verify`, a checksum is wrong, and the errors of `Recording.read`.
    """
    assembly = _Assembly(_FragmentTimes(recording))
    for position, data in whole_frames(recording, begin, end, verify=verify):
        yield from assembly.messages(AtomicBuffer(data), position)


def whole_frames(
    recording: Recording, begin: int, end: int, *, verify: bool = True
) -> Iterator[tuple[int, bytes]]:
    """Yield pairs (position, bytes) of whole frames from `begin` up to `end`.

    Padding at the end of the bytes may lack a part of its body. Raises the same errors as `messages`.
    """
    scanner = recording.scanner(verify=verify)
    rest, padded = b"", begin
    read = checked_chunks if verify else Recording.read
    for position, piece in read(recording, begin, end, _CHUNK_LENGTH):
        if padded >= position + len(piece):
            continue  # within the body of padding
        skipped = max(padded - position, 0)
        data, at = rest + piece[skipped:], position + skipped - len(rest)
        scanned = scanner.scan(AtomicBuffer(data), 0, len(data), at)
        padded = at + scanned
        if scanned < len(data) and scanner.fault != faults.CUT_SHORT:
            border = recording.border_before(begin, recording.start_position)
            # If `begin` is a known end of a message, a frame begins there, and this frame is damaged.
            if at + scanned == begin and border < begin:
                raise ConfigurationError(
                    f"recording {recording.recording_id} position {begin}: no frame begins there; begin at the end of "
                    f"a message, such as {border}"
                )
            raise CorruptRecordingError(
                f"recording {recording.recording_id} position {at + scanned}: {scanner.fault_text()}; {DAMAGED}"
            )
        yield at, data[:scanned]
        rest = data[scanned:]
        # The rest of a frame that was cut short is in the next piece, or after `end`. A recording ends with a whole
        # frame, and only data frames can be cut short, which are not longer than the mtu: a frame for which either does
        # not hold has a wrong length, which would hide the frames after it.
        if rest and (len(rest) >= recording.descriptor.mtu_length or at + len(data) >= recording.position):
            raise CorruptRecordingError(
                f"recording {recording.recording_id} position {at + scanned}: {scanner.fault_text()}; {DAMAGED}"
            )


class _Assembly:
    def __init__(self, times: _FragmentTimes) -> None:
        self._times = times
        self._fragments: list[bytes] = []
        self._reserved_value = 0

    def messages(self, data: AtomicBuffer, position: int) -> Iterator[RecordedMessage]:
        offset = 0
        while offset < data.capacity:
            length = data.get_i32(offset)
            aligned_length = positions.align_frame(length)
            if data.get_u16(offset + wire.FRAME_TYPE_OFFSET) == wire.TYPE_DATA:
                flags = data.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
                if flags & wire.DATA_FLAG_BEGIN:
                    self._fragments = []
                    self._reserved_value = data.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET)
                if flags & wire.DATA_FLAG_BEGIN or self._fragments:
                    self._fragments.append(
                        data.get_bytes(offset + wire.DATA_HEADER_LENGTH, length - wire.DATA_HEADER_LENGTH)
                    )
                    if flags & wire.DATA_FLAG_END:
                        end = position + offset + aligned_length
                        payload = b"".join(self._fragments)
                        self._fragments = []
                        yield RecordedMessage(end, self._times.at(end), self._reserved_value, payload)
            offset += aligned_length


class _FragmentTimes:
    """Recording times of messages by their end, efficient for queries with growing positions."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._base = -1
        self._ends = np.empty(0, np.int64)
        self._times_ns = self._ends

    def at(self, position: int) -> int:
        if not self._recording.has_index:
            return 0
        base = self._recording.segment_base(position - 1)
        if base != self._base or not len(self._ends) or position > self._ends[-1]:
            entries = self._recording.index_entries(base)
            if not len(entries):
                self._recording.check_is_kept(position)  # otherwise, the index is late or damaged
            self._base, self._ends, self._times_ns = base, entries["end_position"], entries["time_ns"]
        index = int(np.searchsorted(self._ends, position))
        return int(self._times_ns[index]) if index < len(self._ends) else 0

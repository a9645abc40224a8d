"""A log: three terms that a stream fills in turn, and a page of metadata after them.

Not here: frames. One buffer spans the whole file: a frame at term offset `o` of partition `i` is at
`i * term_length + o`.

Invariant: the active term count only grows, by one, and only after the tail of its partition has the next term id. If
a publisher loads a count and then a tail with another term id, the log has rotated meanwhile: it must retry.

Source: aeron_logbuffer_descriptor.h.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError, ProtocolError
from aeron_core.logbuffer.limits import check_mtu_length, check_page_size, check_term_length
from aeron_core.logbuffer.metadata import LogBufferMetadata, LogBufferParams, read_metadata, write_metadata


class LogBuffer:
    """An existing log in a buffer; `LogBuffer.initialize` creates a new one.

    Raises ProtocolError if the metadata page is invalid or does not fit a log of this length.
    """

    def __init__(self, buffer: AtomicBuffer) -> None:
        _check_metadata(buffer)
        self.buffer = buffer
        # Counted from the end of the file: the gap between terms and metadata depends on the page size.
        self.metadata_offset = buffer.capacity - wire.LOG_META_DATA_LENGTH
        self.term_length = buffer.get_i32(self.metadata_offset + wire.LOG_TERM_LENGTH_OFFSET)
        self.term_length_mask = self.term_length - 1
        self.position_bits_to_shift = positions.position_bits_to_shift(self.term_length)
        self.max_possible_position = positions.max_possible_position(self.term_length)
        self.initial_term_id = buffer.get_i32(self.metadata_offset + wire.LOG_INITIAL_TERM_ID_OFFSET)
        self.mtu_length = buffer.get_i32(self.metadata_offset + wire.LOG_MTU_LENGTH_OFFSET)
        # The MTU is the length of the longest frame: it includes the header of Aeron, but not those of UDP and IP.
        self.max_payload_length = self.mtu_length - wire.DATA_HEADER_LENGTH
        # An eighth of a term, at most 16 MiB. A message does not span terms, so up to about its length is padded at the
        # end of a term.
        self.max_message_length = positions.max_message_length(self.term_length)

    @staticmethod
    def initialize(buffer: AtomicBuffer, params: LogBufferParams) -> LogBuffer:
        """Write the metadata of a new log into zeroed memory of `params.log_length` bytes and return the log.

        Raises ConfigurationError if the memory has another length.
        """
        if buffer.capacity != params.log_length:
            raise ConfigurationError(
                f"log length={buffer.capacity}: must be {params.log_length} bytes, the log_length of its parameters"
            )
        metadata_offset = buffer.capacity - wire.LOG_META_DATA_LENGTH
        write_metadata(buffer, metadata_offset, params)
        if params.log_type != wire.LOG_TYPE_IMAGE:
            _write_tails(buffer, metadata_offset, params)
        return LogBuffer(buffer)

    def metadata(self) -> LogBufferMetadata:
        """Return a copy of every field of the metadata page."""
        return read_metadata(self.buffer, self.metadata_offset)

    def raw_tail_acquire(self, index: int) -> int:
        """Return the tail of partition `index`, 0 to 2: term id << 32 | offset, which may exceed the term length."""
        # Term id and offset share one int64: one atomic operation reads or moves both.
        return self.buffer.get_i64_acquire(
            self.metadata_offset + wire.LOG_TERM_TAIL_COUNTERS_OFFSET + index * 8
        )

    def active_term_count_acquire(self) -> int:
        """Return the active term id minus the initial one, loaded with acquire; 0 in the log of an image."""
        return self.buffer.get_i32_acquire(self.metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET)

    def producer_position(self) -> int:
        """Return the position in bytes up to which publishers have claimed, at most the end of the active term.

        Not meaningful in the log of an image, which has no tails.
        """
        index = positions.index_by_term_count(self.active_term_count_acquire())
        # The tail has its own term id: a rotation after the load of the count gives an older position, not a wrong
        # one.
        raw_tail = self.raw_tail_acquire(index)
        return positions.compute_position(
            positions.raw_tail_term_id(raw_tail),
            positions.raw_tail_term_offset(raw_tail, self.term_length),
            self.position_bits_to_shift,
            self.initial_term_id,
        )

    def rotate(self, current_term_count: int, current_term_id: int) -> bool:
        """Make the next term active; return False if another thread did so first.

        Any thread of any process may call it, with the term that it found full.
        """
        next_term_id = positions.add_wrap(current_term_id, 1)
        next_term_count = positions.add_wrap(current_term_count, 1)
        stale_term_id = positions.subtract_wrap(next_term_id, wire.PARTITION_COUNT)
        tail_offset = self.metadata_offset + positions.index_by_term_count(next_term_count) * 8
        # The tail is stored before the count: a publisher that loads the new count must not find the old tail. A tail
        # that is not three terms old was already set by another thread that found the term full.
        while True:
            raw_tail = self.buffer.get_i64_acquire(tail_offset)
            if positions.raw_tail_term_id(raw_tail) != stale_term_id:
                break
            if self.buffer.compare_and_set_i64(
                tail_offset, raw_tail, positions.pack_raw_tail(next_term_id, 0)
            ):
                break
        # Fails if another thread has rotated the log already, so the count grows by one only.
        return self.buffer.compare_and_set_i32(
            self.metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET, current_term_count, next_term_count
        )

    def is_connected(self) -> bool:
        """Return whether the log's creator, usually a driver, reports the stream of a publication as connected.

        A driver reports a stream that has the receivers that flow control requires, or an IPC subscriber, or a spy
        that simulates a connection.
        """
        # Written by the creator only. Appenders read it to distinguish NOT_CONNECTED from BACK_PRESSURED.
        return self.buffer.get_i32_acquire(self.metadata_offset + wire.LOG_IS_CONNECTED_OFFSET) == 1

    def set_is_connected(self, value: bool) -> int:
        """Report to publishers whether the stream is connected; return 0. For the log's creator."""
        return self.buffer.put_i32_release(
            self.metadata_offset + wire.LOG_IS_CONNECTED_OFFSET, 1 if value else 0
        )

    def end_of_stream_position_acquire(self) -> int:
        """Return the position in bytes at which the stream ends, NO_END_OF_STREAM until that is known."""
        return self.buffer.get_i64_acquire(self.metadata_offset + wire.LOG_END_OF_STREAM_POSITION_OFFSET)

    def set_end_of_stream_position(self, position: int) -> int:
        """Report to subscribers the position in bytes at which the stream ends; return 0. For the log's creator."""
        return self.buffer.put_i64_release(
            self.metadata_offset + wire.LOG_END_OF_STREAM_POSITION_OFFSET, position
        )

    def active_transport_count(self) -> int:
        """Return the number of live connections of an image when its last status message was sent."""
        return self.buffer.get_i32_acquire(self.metadata_offset + wire.LOG_ACTIVE_TRANSPORT_COUNT_OFFSET)

    def set_active_transport_count(self, count: int) -> int:
        """Report to subscribers the number of live connections of the stream; return 0. For the driver."""
        return self.buffer.put_i32_release(
            self.metadata_offset + wire.LOG_ACTIVE_TRANSPORT_COUNT_OFFSET, count
        )

    def is_revoked(self) -> bool:
        """Return whether the publication was revoked: its stream ends at once."""
        return self.buffer.get_u8_acquire(self.metadata_offset + wire.LOG_IS_PUBLICATION_REVOKED_OFFSET) != 0

    def set_is_revoked(self, value: bool) -> int:
        """Report to subscribers whether the publication was revoked; return 0. For the log's creator."""
        return self.buffer.put_u8_release(
            self.metadata_offset + wire.LOG_IS_PUBLICATION_REVOKED_OFFSET, 1 if value else 0
        )

    def correlation_id(self) -> int:
        """Return the registration id of the publication, or the correlation id of the image, that the log is for."""
        return self.buffer.get_i64(self.metadata_offset + wire.LOG_CORRELATION_ID_OFFSET)

    def frame_offset(self, position: int) -> int:
        """Return the offset in bytes, in the buffer, of the frame at `position`."""
        index = positions.index_by_position(position, self.position_bits_to_shift)
        return positions.partition_offset(index, self.term_length) + (position & self.term_length_mask)

    def apply_default_header(self, offset: int) -> int:
        """Copy the default header, the template of all frames of the stream, to `offset`; return 0.

        The first 4 of its 32 bytes, the length, are not copied: a reader may be loading that of the frame, which must
        not change before the frame is complete.
        """
        header = self.metadata_offset + wire.LOG_DEFAULT_FRAME_HEADER_OFFSET + wire.FRAME_VERSION_OFFSET
        return self.buffer.copy_from(
            offset + wire.FRAME_VERSION_OFFSET,
            self.buffer,
            header,
            wire.DATA_HEADER_LENGTH - wire.FRAME_VERSION_OFFSET,
        )


def _check_metadata(buffer: AtomicBuffer) -> None:
    shortest = positions.compute_log_length(wire.TERM_MIN_LENGTH, wire.PAGE_MIN_SIZE)
    if buffer.capacity < shortest:
        raise ProtocolError(
            f"log length={buffer.capacity}: must be at least {shortest} bytes; the file is damaged or not a log buffer"
        )
    offset = buffer.capacity - wire.LOG_META_DATA_LENGTH
    term_length = buffer.get_i32(offset + wire.LOG_TERM_LENGTH_OFFSET)
    page_size = buffer.get_i32(offset + wire.LOG_PAGE_SIZE_OFFSET)
    # Offsets are computed from these lengths: check each of them before comparing them with the file.
    try:
        check_term_length(term_length)
        check_page_size(page_size)
        check_mtu_length(buffer.get_i32(offset + wire.LOG_MTU_LENGTH_OFFSET))
    except ConfigurationError as error:
        raise ProtocolError(f"metadata of a log: {error}; the file is damaged or not a log buffer") from error
    if positions.compute_log_length(term_length, page_size) != buffer.capacity:
        raise ProtocolError(
            f"log length={buffer.capacity}: must be "
            f"{positions.compute_log_length(term_length, page_size)} bytes for terms of {term_length} bytes "
            f"and pages of {page_size} bytes; the file is damaged or truncated: name another copy, or restart the "
            "publishers of the stream"
        )
    header_length = buffer.get_i32(offset + wire.LOG_DEFAULT_FRAME_HEADER_LENGTH_OFFSET)
    if header_length != wire.DATA_HEADER_LENGTH:
        raise ProtocolError(
            f"default header length={header_length}: must be {wire.DATA_HEADER_LENGTH} bytes; the file is damaged, or "
            f"a driver of an incompatible version wrote it: use compatible versions"
        )


def _write_tails(buffer: AtomicBuffer, metadata_offset: int, params: LogBufferParams) -> None:
    # The two inactive partitions get the ids of the terms before, as if they had been used: `rotate` expects that.
    term_id, term_count = params.first_term_id, params.term_count
    active_index = positions.index_by_term_count(term_count)
    for age in range(wire.PARTITION_COUNT):
        # Add the partition count, so that the difference is never negative.
        index = positions.index_by_term_count(active_index + wire.PARTITION_COUNT - age)
        raw_tail = positions.pack_raw_tail(
            positions.subtract_wrap(term_id, age), params.term_offset if age == 0 else 0
        )
        buffer.put_i64(metadata_offset + wire.LOG_TERM_TAIL_COUNTERS_OFFSET + index * 8, raw_tail)
    # Release: as in `rotate`, a process that sees the count also sees the tails.
    buffer.put_i32_release(metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET, term_count)

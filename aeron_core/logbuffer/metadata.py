"""The metadata page at the end of a log: identity of the stream and parameters of the log.

Not here: the memory order of the fields that change while the stream runs (`LogBuffer`).
Invariant: the fields that `write_metadata` stores never change, except the end-of-stream position.
Source: aeron_logbuffer_descriptor.h.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.logbuffer.limits import (
    check_mtu_length,
    check_page_size,
    check_term_length,
    check_term_offset,
)

NO_END_OF_STREAM: Final = 2**63 - 1
"""The end-of-stream position of a stream that has not ended."""


@frozen(kw_only=True, slots=True)
class StreamDescription:
    """The fixed fields of a log; 0 in those that older drivers do not write."""

    initial_term_id: int  # of position 0
    term_length: int  # bytes, a power of two
    mtu_length: int  # bytes of the longest frame, header included
    session_id: int
    stream_id: int
    log_type: int = wire.LOG_TYPE_CONCURRENT_PUBLICATION  # one of wire.LOG_TYPE_…
    correlation_id: int = 0
    page_size: int = wire.PAGE_MIN_SIZE  # bytes: the length of the file is a multiple of it
    publication_window_length: int = 0  # bytes that publishers may be ahead of the slowest consumer
    receiver_window_length: int = 0  # initial window of an image, in bytes
    socket_sndbuf_length: int = 0  # SO_SNDBUF in bytes; 0 keeps the default of the system
    os_default_socket_sndbuf_length: int = 0
    os_max_socket_sndbuf_length: int = 0
    socket_rcvbuf_length: int = 0  # SO_RCVBUF in bytes; 0 keeps the default of the system
    os_default_socket_rcvbuf_length: int = 0
    os_max_socket_rcvbuf_length: int = 0
    max_resend: int = 0  # maximum number of gaps that the sender retransmits at the same time
    entity_tag: int = 0
    response_correlation_id: int = 0
    linger_timeout_ns: int = 0  # how long a drained publication remains, for late NAKs
    untethered_window_limit_timeout_ns: int = 0  # how long an untethered subscriber may hold the window back
    untethered_linger_timeout_ns: int = 0
    untethered_resting_timeout_ns: int = 0  # how long an untethered subscriber rests before it may rejoin
    group: bool = False  # group semantics: several receivers, as with multicast
    is_response: bool = False
    rejoin: bool = False  # a subscriber may join again, after resting or after its image was lost
    reliable: bool = False  # lost frames are retransmitted; otherwise they are replaced with padding
    sparse: bool = False  # disk space is allocated only when the file is written
    signal_eos: bool = False  # the sender sets EOS in its heartbeats at the end of the stream
    spies_simulate_connection: bool = False  # spies alone make the publication connected
    tether: bool = False  # a slow subscriber holds back the stream and is never left behind


@frozen(kw_only=True, slots=True)
class LogBufferParams(StreamDescription):
    """Parameters of a new log; raises ConfigurationError for a length or a start that is not allowed.

    The stream starts at `term_offset` of `term_id`, by default at the beginning of its initial term.
    """

    term_id: int | None = None
    term_offset: int = 0

    def __post_init__(self) -> None:
        check_term_length(self.term_length)
        check_page_size(self.page_size)
        check_mtu_length(self.mtu_length)
        check_term_offset(self.term_offset, self.term_length)
        if self.term_count < 0:
            raise ConfigurationError(
                f"term id={self.term_id}: must be the initial term id, {self.initial_term_id}, or at most 2147483647 "
                f"terms after it"
            )

    @property
    def first_term_id(self) -> int:
        """The term id at which the stream starts."""
        return self.initial_term_id if self.term_id is None else self.term_id

    @property
    def term_count(self) -> int:
        """The number of terms before that in which the stream starts, counted from the initial one."""
        return positions.compute_term_count(self.first_term_id, self.initial_term_id)

    @property
    def log_length(self) -> int:
        """Length of the file in bytes."""
        return positions.compute_log_length(self.term_length, self.page_size)


@frozen(kw_only=True, slots=True)
class LogBufferMetadata(StreamDescription):
    """A copy of all fields of the metadata page, for tools; the changing ones are not read at one instant."""

    # The page keeps the tails, the state of the stream and the fixed fields 128 bytes apart, two cache lines: moving
    # a tail does not invalidate the line from which other threads read the rest.
    raw_tails: tuple[int, int, int]
    active_term_count: int
    end_of_stream_position: int
    is_connected: bool
    active_transport_count: int
    is_publication_revoked: bool
    default_header: bytes  # 32 bytes: the template of frame headers


def write_metadata(buffer: AtomicBuffer, offset: int, params: StreamDescription) -> None:
    """Store the fixed fields in the metadata page at `offset`, and NO_END_OF_STREAM as the end of the stream.

    The page must be zeroed; the caller stores the tails and the active term count.
    """
    # Plain stores: no other process maps the log before its creator has sent its name.
    buffer.put_i64(offset + wire.LOG_END_OF_STREAM_POSITION_OFFSET, NO_END_OF_STREAM)
    buffer.put_i64(offset + wire.LOG_CORRELATION_ID_OFFSET, params.correlation_id)
    buffer.put_i32(offset + wire.LOG_INITIAL_TERM_ID_OFFSET, params.initial_term_id)
    buffer.put_i32(offset + wire.LOG_MTU_LENGTH_OFFSET, params.mtu_length)
    buffer.put_i32(offset + wire.LOG_TERM_LENGTH_OFFSET, params.term_length)
    buffer.put_i32(offset + wire.LOG_PAGE_SIZE_OFFSET, params.page_size)
    _write_lengths(buffer, offset, params)
    _write_default_header(buffer, offset, params)
    buffer.put_i64(offset + wire.LOG_ENTITY_TAG_OFFSET, params.entity_tag)
    buffer.put_i64(offset + wire.LOG_RESPONSE_CORRELATION_ID_OFFSET, params.response_correlation_id)
    _write_timeouts(buffer, offset, params)
    _write_flags(buffer, offset, params)
    buffer.put_u8(offset + wire.LOG_TYPE_OFFSET, params.log_type)


def read_metadata(buffer: AtomicBuffer, offset: int) -> LogBufferMetadata:
    """Return a copy of the metadata page at `offset`; raise IndexError if the buffer is too short for it."""

    def i32(field: int) -> int:
        return buffer.get_i32(offset + field)

    def i64(field: int) -> int:
        return buffer.get_i64(offset + field)

    def flag(field: int) -> bool:
        return buffer.get_u8(offset + field) != 0

    header = wire.LOG_DEFAULT_FRAME_HEADER_OFFSET
    tails = wire.LOG_TERM_TAIL_COUNTERS_OFFSET
    return LogBufferMetadata(
        raw_tails=(i64(tails), i64(tails + 8), i64(tails + 16)),
        active_term_count=i32(wire.LOG_ACTIVE_TERM_COUNT_OFFSET),
        end_of_stream_position=i64(wire.LOG_END_OF_STREAM_POSITION_OFFSET),
        is_connected=i32(wire.LOG_IS_CONNECTED_OFFSET) != 0,
        active_transport_count=i32(wire.LOG_ACTIVE_TRANSPORT_COUNT_OFFSET),
        correlation_id=i64(wire.LOG_CORRELATION_ID_OFFSET),
        initial_term_id=i32(wire.LOG_INITIAL_TERM_ID_OFFSET),
        mtu_length=i32(wire.LOG_MTU_LENGTH_OFFSET),
        term_length=i32(wire.LOG_TERM_LENGTH_OFFSET),
        page_size=i32(wire.LOG_PAGE_SIZE_OFFSET),
        publication_window_length=i32(wire.LOG_PUBLICATION_WINDOW_LENGTH_OFFSET),
        receiver_window_length=i32(wire.LOG_RECEIVER_WINDOW_LENGTH_OFFSET),
        socket_sndbuf_length=i32(wire.LOG_SOCKET_SNDBUF_LENGTH_OFFSET),
        os_default_socket_sndbuf_length=i32(wire.LOG_OS_DEFAULT_SOCKET_SNDBUF_LENGTH_OFFSET),
        os_max_socket_sndbuf_length=i32(wire.LOG_OS_MAX_SOCKET_SNDBUF_LENGTH_OFFSET),
        socket_rcvbuf_length=i32(wire.LOG_SOCKET_RCVBUF_LENGTH_OFFSET),
        os_default_socket_rcvbuf_length=i32(wire.LOG_OS_DEFAULT_SOCKET_RCVBUF_LENGTH_OFFSET),
        os_max_socket_rcvbuf_length=i32(wire.LOG_OS_MAX_SOCKET_RCVBUF_LENGTH_OFFSET),
        max_resend=i32(wire.LOG_MAX_RESEND_OFFSET),
        default_header=buffer.get_bytes(offset + header, wire.DATA_HEADER_LENGTH),
        session_id=i32(header + wire.DATA_SESSION_ID_OFFSET),
        stream_id=i32(header + wire.DATA_STREAM_ID_OFFSET),
        entity_tag=i64(wire.LOG_ENTITY_TAG_OFFSET),
        response_correlation_id=i64(wire.LOG_RESPONSE_CORRELATION_ID_OFFSET),
        linger_timeout_ns=i64(wire.LOG_LINGER_TIMEOUT_NS_OFFSET),
        untethered_window_limit_timeout_ns=i64(wire.LOG_UNTETHERED_WINDOW_LIMIT_TIMEOUT_NS_OFFSET),
        untethered_linger_timeout_ns=i64(wire.LOG_UNTETHERED_LINGER_TIMEOUT_NS_OFFSET),
        untethered_resting_timeout_ns=i64(wire.LOG_UNTETHERED_RESTING_TIMEOUT_NS_OFFSET),
        group=flag(wire.LOG_GROUP_OFFSET),
        is_response=flag(wire.LOG_IS_RESPONSE_OFFSET),
        rejoin=flag(wire.LOG_REJOIN_OFFSET),
        reliable=flag(wire.LOG_RELIABLE_OFFSET),
        sparse=flag(wire.LOG_SPARSE_OFFSET),
        signal_eos=flag(wire.LOG_SIGNAL_EOS_OFFSET),
        spies_simulate_connection=flag(wire.LOG_SPIES_SIMULATE_CONNECTION_OFFSET),
        tether=flag(wire.LOG_TETHER_OFFSET),
        is_publication_revoked=flag(wire.LOG_IS_PUBLICATION_REVOKED_OFFSET),
        log_type=buffer.get_u8(offset + wire.LOG_TYPE_OFFSET),
    )


def _write_lengths(buffer: AtomicBuffer, offset: int, params: StreamDescription) -> None:
    buffer.put_i32(offset + wire.LOG_PUBLICATION_WINDOW_LENGTH_OFFSET, params.publication_window_length)
    buffer.put_i32(offset + wire.LOG_RECEIVER_WINDOW_LENGTH_OFFSET, params.receiver_window_length)
    buffer.put_i32(offset + wire.LOG_SOCKET_SNDBUF_LENGTH_OFFSET, params.socket_sndbuf_length)
    buffer.put_i32(
        offset + wire.LOG_OS_DEFAULT_SOCKET_SNDBUF_LENGTH_OFFSET, params.os_default_socket_sndbuf_length
    )
    buffer.put_i32(offset + wire.LOG_OS_MAX_SOCKET_SNDBUF_LENGTH_OFFSET, params.os_max_socket_sndbuf_length)
    buffer.put_i32(offset + wire.LOG_SOCKET_RCVBUF_LENGTH_OFFSET, params.socket_rcvbuf_length)
    buffer.put_i32(
        offset + wire.LOG_OS_DEFAULT_SOCKET_RCVBUF_LENGTH_OFFSET, params.os_default_socket_rcvbuf_length
    )
    buffer.put_i32(offset + wire.LOG_OS_MAX_SOCKET_RCVBUF_LENGTH_OFFSET, params.os_max_socket_rcvbuf_length)
    buffer.put_i32(offset + wire.LOG_MAX_RESEND_OFFSET, params.max_resend)


def _write_timeouts(buffer: AtomicBuffer, offset: int, params: StreamDescription) -> None:
    buffer.put_i64(offset + wire.LOG_LINGER_TIMEOUT_NS_OFFSET, params.linger_timeout_ns)
    buffer.put_i64(
        offset + wire.LOG_UNTETHERED_WINDOW_LIMIT_TIMEOUT_NS_OFFSET, params.untethered_window_limit_timeout_ns
    )
    buffer.put_i64(offset + wire.LOG_UNTETHERED_LINGER_TIMEOUT_NS_OFFSET, params.untethered_linger_timeout_ns)
    buffer.put_i64(
        offset + wire.LOG_UNTETHERED_RESTING_TIMEOUT_NS_OFFSET, params.untethered_resting_timeout_ns
    )


def _write_flags(buffer: AtomicBuffer, offset: int, params: StreamDescription) -> None:
    buffer.put_u8(offset + wire.LOG_GROUP_OFFSET, params.group)
    buffer.put_u8(offset + wire.LOG_IS_RESPONSE_OFFSET, params.is_response)
    buffer.put_u8(offset + wire.LOG_REJOIN_OFFSET, params.rejoin)
    buffer.put_u8(offset + wire.LOG_RELIABLE_OFFSET, params.reliable)
    buffer.put_u8(offset + wire.LOG_SPARSE_OFFSET, params.sparse)
    buffer.put_u8(offset + wire.LOG_SIGNAL_EOS_OFFSET, params.signal_eos)
    buffer.put_u8(offset + wire.LOG_SPIES_SIMULATE_CONNECTION_OFFSET, params.spies_simulate_connection)
    buffer.put_u8(offset + wire.LOG_TETHER_OFFSET, params.tether)


def _write_default_header(buffer: AtomicBuffer, offset: int, params: StreamDescription) -> None:
    header = offset + wire.LOG_DEFAULT_FRAME_HEADER_OFFSET
    buffer.put_i32(offset + wire.LOG_DEFAULT_FRAME_HEADER_LENGTH_OFFSET, wire.DATA_HEADER_LENGTH)
    # The frame length stays 0: each frame stores its own, last.
    buffer.put_u8(header + wire.FRAME_VERSION_OFFSET, wire.FRAME_VERSION)
    buffer.put_u8(header + wire.FRAME_FLAGS_OFFSET, wire.DATA_FLAGS_UNFRAGMENTED)
    buffer.put_u16(header + wire.FRAME_TYPE_OFFSET, wire.TYPE_DATA)
    buffer.put_i32(header + wire.DATA_SESSION_ID_OFFSET, params.session_id)
    buffer.put_i32(header + wire.DATA_STREAM_ID_OFFSET, params.stream_id)
    # This is only an initial value: every frame stores its own term id and term offset.
    buffer.put_i32(header + wire.DATA_TERM_ID_OFFSET, params.initial_term_id)

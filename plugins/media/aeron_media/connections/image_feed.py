"""Image feed: the messages of one peer, written into the images of all subscribed Aeron streams.

A protocol without stream ids delivers the same messages to each stream that has subscribers: one session, with the same
position in all of them. Towards the driver the feed acts as an Aeron sender: it sends SETUP frames until each stream
has an image, DATA frames up to the limit of status messages, heartbeats, and an end of stream.

Not here: the connection, the format of messages, and which streams there are (`feed_streams`).
Invariant: after `flush`, all offered messages are in the log buffers of all streams that are left, or the feed is
broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import frames, positions, wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_media.connections.feed_streams import FeedParams, FeedStreams
from aeron_media.connections.image_keys import longest_message

if TYPE_CHECKING:
    from aeron_core.protocol.frames.status_message import StatusMessage
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint, ReceiveDispatcher


class ImageFeed:
    """The streams of one connection; all but the constructor and `unbind` runs on the receiver.

    `endpoint`, `dispatcher`: those of the images. The endpoint's feeds share the packet of `params`: call `flush`
    before another feed uses it. The feed sends as much as the windows that the images report, at most half a term;
    without rcv-wnd= always up to half a term.
    """

    def __init__(
        self, endpoint: ReceiveChannelEndpoint, dispatcher: ReceiveDispatcher, params: FeedParams
    ) -> None:
        self._endpoint = endpoint
        self._dispatcher = dispatcher
        self._packet = params.packet
        self._capacity = params.packet.capacity
        self._term_length = params.term_length
        self._bits = positions.position_bits_to_shift(params.term_length)
        self._max_payload_length = params.mtu - wire.DATA_HEADER_LENGTH
        self.max_message_length = longest_message(
            params.term_length, params.mtu, params.window_length or None
        )
        self._behind = AtomicBuffer.allocate(wire.FRAME_ALIGNMENT)
        self._source = SocketAddress()
        self._streams = FeedStreams(endpoint, dispatcher, self._source, params)
        self._stream_ids = self._streams.ids

    def unbind(self) -> None:
        """Release the endpoint and the dispatcher; call no method afterwards.

        The endpoint owns its feeds: without this, only the cycle collector could free a closed endpoint, and with it
        the memory of the whole driver.
        """
        self._endpoint = None  # type: ignore[assignment]
        self._dispatcher = None  # type: ignore[assignment]
        self._streams.unbind()

    def begin(self, session_id: int, source: SocketAddress, now_ns: int) -> int:
        """Start the session of a new peer at `source`, at position 0 and without streams; return 0."""
        self.session_id = session_id
        self._source.assign(source)
        self.position = 0
        self._packet_position = 0
        self._packet_length = 0
        self.is_broken = False
        # Any initial term id is valid; the session id serves as one.
        self._initial_term_id = session_id
        self._time_of_last_send_ns = now_ns
        return self._streams.begin(session_id, self._initial_term_id, now_ns)

    def work(self, now_ns: int) -> int:
        """Do timed work: find new streams, send SETUP frames and heartbeats; may set `is_broken`. Return 0."""
        if self._streams.is_refresh_due(now_ns):
            # Called for its effect on `is_broken`: images may be gone while the peer sends nothing.
            self.consumed_position()
            self._streams.refresh(now_ns)
        # A new image joins after the last flush: the frames in the packet are its first ones.
        self._streams.work(self._packet_position, now_ns)
        # The conductor removes an image that receives nothing for the liveness timeout: a silent peer needs
        # heartbeats.
        if now_ns > self._time_of_last_send_ns + wire.HEARTBEAT_INTERVAL_NS:
            self._send_heartbeats(wire.DATA_FLAGS_UNFRAGMENTED, now_ns)
        return 0

    def on_status_message(self, sm: StatusMessage, now_ns: int) -> int:
        """See `FeedStreams.on_status_message`."""
        return self._streams.on_status_message(sm, now_ns)

    def has_begun(self) -> bool:
        """Return whether the session has had an image."""
        return self._streams.had_stream

    def has_space(self, length: int) -> bool:
        """Return whether a message of `length` bytes, at most `max_message_length`, fits into all images now.

        False while there is no stream, or a stream has no image yet.
        """
        return self.position + self._required(length) <= self._streams.limit

    def _required(self, length: int) -> int:
        framed = self._framed_length(length)
        left = self._term_length - positions.compute_term_offset(self.position, self._bits)
        # A message that does not fit into the rest of the term goes into the next one, after padding.
        return framed if framed <= left else left + framed

    def _framed_length(self, length: int) -> int:
        if length <= self._max_payload_length:
            return positions.align_frame(wire.DATA_HEADER_LENGTH + length)
        return positions.fragmented_length(length, self._max_payload_length)

    def offer(self, buffer: AtomicBuffer, offset: int, length: int, reserved_value: int, now_ns: int) -> int:
        """Append the `length` bytes at `offset`, for which `has_space` returned True, as a message; return 0.

        The images have all of it after the next `flush`. `reserved_value` is stored in each of its frames.
        """
        self._pad_unless_fitting(length, now_ns)
        return self._append_fragments(buffer, offset, length, reserved_value, now_ns, False)

    def offer_in_place(
        self, buffer: AtomicBuffer, offset: int, length: int, reserved_value: int, now_ns: int
    ) -> int:
        """Append and deliver a message, see `offer`, without copying it to the packet; return 0.

        Worthwhile for long messages. Writes headers into `buffer`: over the 32 bytes before the message, and
        over parts of a fragmented message; bytes after it are preserved. If `buffer` has fewer than 32 bytes before
        the message, or too few for alignment after it, does the same as `offer`.
        """
        if (
            offset < wire.DATA_HEADER_LENGTH
            or offset + positions.align_frame(length) + wire.FRAME_ALIGNMENT > buffer.capacity
        ):
            return self.offer(buffer, offset, length, reserved_value, now_ns)
        # The frames in the packet precede this message: padding and `flush` deliver them first.
        self._pad_unless_fitting(length, now_ns)
        self.flush(now_ns)
        return self._append_fragments(buffer, offset, length, reserved_value, now_ns, True)

    def _append_fragments(  # noqa: PLR0913
        self,
        buffer: AtomicBuffer,
        offset: int,
        length: int,
        reserved_value: int,
        now_ns: int,
        is_in_place: bool,
    ) -> int:
        flags = wire.DATA_FLAG_BEGIN
        while True:
            step = min(length, self._max_payload_length)
            if step == length:
                flags |= wire.DATA_FLAG_END
            if is_in_place:
                # Its header overwrites the end of the previous fragment, which the log buffers already have.
                self._append_in_place(buffer, offset, step, flags, reserved_value, now_ns)
            else:
                self._append(buffer, offset, step, flags, reserved_value, now_ns)
            offset += step
            length -= step
            flags = 0
            if length == 0:
                return 0

    def _append_in_place(  # noqa: PLR0913
        self, buffer: AtomicBuffer, offset: int, length: int, flags: int, reserved_value: int, now_ns: int
    ) -> int:
        frame_length = wire.DATA_HEADER_LENGTH + length
        aligned_length = positions.align_frame(frame_length)
        self._put_header(
            buffer, offset - wire.DATA_HEADER_LENGTH, frame_length, flags, wire.TYPE_DATA, reserved_value
        )
        end = offset + length
        # The aligned frame extends up to 31 bytes beyond the message. They belong to what follows in the buffer: save
        # them, send zeros, and restore them.
        self._behind.copy_from(0, buffer, end, aligned_length - frame_length)
        buffer.set_memory(end, aligned_length - frame_length, 0)
        self.position += aligned_length
        self._pass_on(buffer, offset - wire.DATA_HEADER_LENGTH, aligned_length, now_ns)
        buffer.copy_from(end, self._behind, 0, aligned_length - frame_length)
        return 0

    def _append(  # noqa: PLR0913
        self, buffer: AtomicBuffer, offset: int, length: int, flags: int, reserved_value: int, now_ns: int
    ) -> int:
        frame_length = wire.DATA_HEADER_LENGTH + length
        aligned_length = positions.align_frame(frame_length)
        if self._packet_length + aligned_length > self._capacity:
            self.flush(now_ns)
        self._put_header(
            self._packet, self._packet_length, frame_length, flags, wire.TYPE_DATA, reserved_value
        )
        at = self._packet_length + wire.DATA_HEADER_LENGTH
        self._packet.copy_from(at, buffer, offset, length)
        if aligned_length > frame_length:
            self._packet.set_memory(at + length, aligned_length - frame_length, 0)
        self._packet_length += aligned_length
        self.position += aligned_length
        if positions.compute_term_offset(self.position, self._bits) == 0:
            # An image inserts a packet into one term, so a packet must end where its term ends.
            self.flush(now_ns)
        return 0

    def _pad_unless_fitting(self, length: int, now_ns: int) -> int:
        left = self._term_length - positions.compute_term_offset(self.position, self._bits)
        if self._framed_length(length) > left:
            self._pad(left, now_ns)
        return 0

    def _pad(self, length: int, now_ns: int) -> int:
        if self._packet_length + wire.DATA_HEADER_LENGTH > self._capacity:
            self.flush(now_ns)
        self._put_header(
            self._packet, self._packet_length, length, wire.DATA_FLAGS_UNFRAGMENTED, wire.TYPE_PAD, 0
        )
        # As on the wire, padding is sent as a header alone; the image skips as many bytes as the header gives.
        self._packet_length += wire.DATA_HEADER_LENGTH
        self.position += length
        return self.flush(now_ns)

    def _put_header(  # noqa: PLR0913
        self,
        buffer: AtomicBuffer,
        offset: int,
        frame_length: int,
        flags: int,
        frame_type: int,
        reserved_value: int,
    ) -> int:
        term_offset = positions.compute_term_offset(self.position, self._bits)
        term_id = positions.compute_term_id(self.position, self._bits, self._initial_term_id)
        return frames.begin_frame(
            buffer,
            offset,
            frame_length,
            flags,
            frame_type,
            term_offset,
            self.session_id,
            self._stream_ids.get_i32(0),
            term_id,
            reserved_value,
        )

    def flush(self, now_ns: int) -> int:
        """Write the pending frames into the log buffers; return their length in bytes, of padding only the header's.

        Sets `is_broken` if no image takes them.
        """
        length = self._packet_length
        if length == 0:
            return 0
        self._packet_length = 0
        self._pass_on(self._packet, 0, length, now_ns)
        return length

    def _pass_on(self, buffer: AtomicBuffer, offset: int, length: int, now_ns: int) -> int:
        """Deliver frames that end at `position` to all streams; set `is_broken` if none is left. Return 0."""
        self._time_of_last_send_ns = now_ns
        index = 0
        while index < self._streams.count:
            if index > 0:
                # The frames were written for the first stream; all streams have the same positions.
                self._readdress(buffer, offset, length, self._stream_ids.get_i32(index * 4))
            used = self._dispatcher.on_data(self._endpoint, buffer, offset, length, self._source, now_ns)
            if used == length:
                index += 1
            else:
                # The image of this stream is gone or rejected; a later subscriber gets a new one.
                self._streams.remove(index)
        self._packet_position = self.position
        if self._streams.count == 0:
            self.is_broken = True
        return 0

    def _readdress(self, buffer: AtomicBuffer, offset: int, length: int, stream_id: int) -> int:
        end = offset + length
        while offset < end:
            buffer.put_i32(offset + wire.DATA_STREAM_ID_OFFSET, stream_id)
            # Padding is always the last frame, and its length goes beyond the packet.
            if buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD:
                return 0
            offset += positions.align_frame(buffer.get_i32(offset))
        return 0

    def consumed_position(self) -> int:
        """Return the position in bytes that all subscribers have consumed, `position` before the first image exists.

        If there was an image and no stream is left, set `is_broken` and return `wire.NO_POSITION`.
        """
        consumed = self._streams.consumed_position(self.position)
        if consumed == wire.NO_POSITION:
            self.is_broken = True
        return consumed

    def end(self, now_ns: int) -> int:
        """Write the pending frames, then send the end of stream; return 0."""
        self.flush(now_ns)
        return self._send_heartbeats(wire.DATA_FLAGS_UNFRAGMENTED | wire.DATA_FLAG_EOS, now_ns)

    def _send_heartbeats(self, flags: int, now_ns: int) -> int:
        self._time_of_last_send_ns = now_ns
        if self._packet_length > 0:
            # The packet holds frames that are about to be flushed, which makes a heartbeat unnecessary.
            return 0
        # A heartbeat is a DATA frame of length 0, with the term id and offset at which the next frame will begin.
        self._put_header(self._packet, 0, 0, flags, wire.TYPE_DATA, 0)
        for index in range(self._streams.count):
            self._packet.put_i32(wire.DATA_STREAM_ID_OFFSET, self._stream_ids.get_i32(index * 4))
            self._dispatcher.on_data(
                self._endpoint, self._packet, 0, wire.DATA_HEADER_LENGTH, self._source, now_ns
            )
        return 0

"""Streams of a feed: those that have subscribers, how each joins, and the lowest limit of all.

All streams have the same position, so the slowest one holds back the peer. While one has no image yet, none receives
data: it must join at the position of the others.

Not here: frames of data (`image_feed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.frozen import frozen
from aeron_core.protocol.frames.setup import Setup
from aeron_media._native import limits

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.protocol.frames.status_message import StatusMessage
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint, ReceiveDispatcher


@frozen(kw_only=True)
class FeedParams:
    """Parameters that the feeds of an endpoint share; lengths are bytes.

    `packet`: writable, at least `mtu` bytes; see `ImageFeed`. `window_length`: the receiver window of the URI
    (rcv-wnd=), 0 if it has none.
    """

    packet: AtomicBuffer
    term_length: int
    mtu: int
    window_length: int = 0


class FeedStreams:
    """The streams of one `ImageFeed`, up to MAX_STREAMS; see there for the threads.

    `source`: the address of the peer, which the feed updates.
    """

    def __init__(
        self,
        endpoint: ReceiveChannelEndpoint,
        dispatcher: ReceiveDispatcher,
        source: SocketAddress,
        params: FeedParams,
    ) -> None:
        self._endpoint = endpoint
        self._dispatcher = dispatcher
        self._source = source
        self._term_length = params.term_length
        self._bits = positions.position_bits_to_shift(params.term_length)
        self._window_length = params.window_length
        self._wanted = AtomicBuffer.allocate(limits.MAX_STREAMS * 4)
        self.ids = AtomicBuffer.allocate(limits.MAX_STREAMS * 4)
        self._limits = AtomicBuffer.allocate(limits.MAX_STREAMS * 8)
        self._setup = Setup()
        self._setup.term_length = params.term_length
        self._setup.mtu = params.mtu

    def unbind(self) -> None:
        """Release the endpoint and the dispatcher; call no method afterwards."""
        self._endpoint = None  # type: ignore[assignment]
        self._dispatcher = None  # type: ignore[assignment]

    def begin(self, session_id: int, initial_term_id: int, now_ns: int) -> int:
        """Start a session without streams; return 0."""
        self.session_id = session_id
        self.count = 0
        # No message fits until each stream has an image, whose first status message sets the limit.
        self.limit = wire.NO_POSITION
        self.had_stream = False
        self._setup.initial_term_id = initial_term_id
        self._setup.session_id = session_id
        # This time is in the past, so that the first SETUP is due at once.
        self._time_of_last_setup_ns = now_ns - wire.SETUP_INTERVAL_NS - 1
        self._refresh_ns = now_ns
        return 0

    def is_refresh_due(self, now_ns: int) -> bool:
        """Return whether it is time to look for new streams; see `refresh`."""
        return now_ns >= self._refresh_ns

    def refresh(self, now_ns: int) -> int:
        """Add streams that have a subscriber and are not here yet, up to MAX_STREAMS; schedule the next refresh.

        A new stream sets `limit` to NO_POSITION until it has an image. Return 0.
        """
        self._refresh_ns = now_ns + limits.REFRESH_INTERVAL_NS
        count = self._dispatcher.wanted_streams(self.session_id, self._wanted)
        for index in range(count):
            stream_id = self._wanted.get_i32(index * 4)
            if self._index_of(stream_id) < 0 and self.count < limits.MAX_STREAMS:
                self.ids.put_i32(self.count * 4, stream_id)
                self._limits.put_i64(self.count * 8, wire.NO_POSITION)
                self.count += 1
                # Send the SETUP of the new stream at once, and no data to any stream until the new one has joined: all
                # streams have the same position.
                self.limit = wire.NO_POSITION
                self._time_of_last_setup_ns = now_ns - wire.SETUP_INTERVAL_NS - 1
                self._join_deadline_ns = now_ns + limits.JOIN_TIMEOUT_NS
        return 0

    def work(self, position: int, now_ns: int) -> int:
        """Send the SETUP frames that are due, for streams that join at `position`; return 0.

        They are due every SETUP_INTERVAL_NS, for a new stream, and when a status message requests them. If the session
        has had an image, also remove streams that have not joined within JOIN_TIMEOUT_NS.
        """
        if self.had_stream and self.limit == wire.NO_POSITION and now_ns > self._join_deadline_ns:
            self._give_up_joining(now_ns)
        if now_ns > self._time_of_last_setup_ns + wire.SETUP_INTERVAL_NS:
            self._send_setups(position, now_ns)
        return 0

    def _give_up_joining(self, now_ns: int) -> int:
        index = 0
        while index < self.count:
            if self._limits.get_i64(index * 8) == wire.NO_POSITION:
                self.remove(index)
            else:
                index += 1
        # A stream that fails to join delays the others: retry rarely if there are others.
        self._refresh_ns = now_ns + (
            limits.RETRY_INTERVAL_NS if self.count > 0 else limits.REFRESH_INTERVAL_NS
        )
        return 0

    def _send_setups(self, position: int, now_ns: int) -> int:
        self._time_of_last_setup_ns = now_ns
        self._setup.active_term_id = positions.compute_term_id(
            position, self._bits, self._setup.initial_term_id
        )
        self._setup.term_offset = positions.compute_term_offset(position, self._bits)
        for index in range(self.count):
            # A stream that has an image would ignore the SETUP.
            if self._limits.get_i64(index * 8) == wire.NO_POSITION:
                self._setup.stream_id = self.ids.get_i32(index * 4)
                self._dispatcher.on_setup(self._endpoint, self._setup, self._source, now_ns)
        return 0

    def on_status_message(self, sm: StatusMessage, now_ns: int) -> int:
        """Update the limit of an image, or schedule the SETUP that the status message requests; return 0.

        A status message for a stream that is not here has no effect.
        """
        index = self._index_of(sm.stream_id)
        if index < 0:
            return 0
        if sm.flags & wire.SM_FLAG_SEND_SETUP:
            # The receiver has no image and requests a SETUP: send one in the next `work`, without waiting for the
            # interval.
            self._time_of_last_setup_ns = now_ns - wire.SETUP_INTERVAL_NS - 1
            return 0
        position = sm.position(self._setup.initial_term_id, self._bits)
        # An image accepts half a term beyond the position of its last status message, whatever window it reports.
        window = self._term_length >> 1
        if self._window_length > 0:
            window = min(sm.receiver_window, window)
        self._limits.put_i64(index * 8, position + window)
        self.had_stream = True
        return self._update_limit()

    def consumed_position(self, position: int) -> int:
        """Return the position that all subscribers of all images have consumed, at most `position`.

        Removes streams whose image is gone or has no subscribers. Returns `wire.NO_POSITION` if there was an image and
        no stream is left.
        """
        lowest = position
        index = 0
        while index < self.count:
            consumed = self._dispatcher.consumed_position(self.session_id, self.ids.get_i32(index * 4))
            if consumed != wire.NO_POSITION:
                lowest = min(lowest, consumed)
                index += 1
            elif self._limits.get_i64(index * 8) == wire.NO_POSITION:
                # The image of this stream does not exist yet: it will join at the current position.
                index += 1
            else:
                self.remove(index)
        return wire.NO_POSITION if self.had_stream and self.count == 0 else lowest

    def remove(self, index: int) -> int:
        """Remove the stream at `index` of `ids`, and move the last stream there; return 0."""
        last = self.count - 1
        # The order of streams does not matter, so moving one stream is enough to keep the entries contiguous.
        self.ids.put_i32(index * 4, self.ids.get_i32(last * 4))
        self._limits.put_i64(index * 8, self._limits.get_i64(last * 8))
        self.count = last
        return self._update_limit()

    def _index_of(self, stream_id: int) -> int:
        for index in range(self.count):
            if self.ids.get_i32(index * 4) == stream_id:
                return index
        return limits.NO_INDEX

    def _update_limit(self) -> int:
        if self.count == 0:
            self.limit = wire.NO_POSITION
            return 0
        # All streams have the same position, so the slowest one holds back the peer.
        lowest = self._limits.get_i64(0)
        for index in range(1, self.count):
            lowest = min(lowest, self._limits.get_i64(index * 8))
        self.limit = lowest
        return 0

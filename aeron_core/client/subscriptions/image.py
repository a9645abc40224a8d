"""Image: one publication as one subscription receives it, a log with a read position.

Not here: the round robin over images (subscription), reassembly (fragment_assembler), frames (`TermReader`).
Invariant: the subscriber position, which lets the sender continue, never passes a fragment that was neither delivered
nor kept for a batch, unless the program sets it or the message has missing fragments; if a handler raises, its fragment
counts as delivered.

    open -> closed     once, when the driver, the subscription or the client removes the image; its last position stays
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import cython

from aeron_core._native import positions, wire
from aeron_core._native.counter import AtomicCounter
from aeron_core.client._native import arguments
from aeron_core.client._native.views import ViewFactory
from aeron_core.client.subscriptions.action import Action
from aeron_core.client.subscriptions.header import Header, ImageSubscription
from aeron_core.errors import ConfigurationError, ProtocolError
from aeron_core.logbuffer.batch_buffer import BatchBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.reader import TermReader

NO_LIMIT: Final = -1
"""The limit position of an unbounded poll."""

FragmentHandler = Callable[[memoryview, Header], object]
ControlledFragmentHandler = Callable[[memoryview, Header], Action | None]
BlockHandler = Callable[[memoryview, int, int], object]  # frames with their headers, session id, term id


class Image:
    """The stream of one publication, as a subscription receives it.

    One thread polls it, directly or through its subscription; any thread may read its state.
    """

    def __init__(  # noqa: PLR0913 - the fields of the driver's message
        self,
        subscription: ImageSubscription | None,
        session_id: int,
        log: LogBuffer,
        position: AtomicCounter,
        source_identity: str,
        correlation_id: int,
    ) -> None:
        self.subscription = subscription
        self.session_id = session_id
        self.correlation_id = correlation_id
        self.source_identity = source_identity
        self.is_closed = False
        self.join_position = position.get()
        self._log = log
        self._buffer = log.buffer
        self._position = position
        self._header: Header | None = Header(log, self)
        self._views = ViewFactory(log.buffer)
        self._reader = TermReader(log)
        self._final_position = self.join_position
        self._final_end_of_stream_position = 0
        self._final_is_revoked = False

    @property
    def position(self) -> int:
        """The position in bytes up to which the stream was read; the last position of a closed image.

        It may be set after `block_peek`: forward to the end of a frame, at most to the end of the current
        term. Raises ConfigurationError for a value out of this range or not a multiple of 32; whether a frame
        ends there is not checked. Setting the position of a closed image does nothing.
        """
        return self._current_position()

    @position.setter
    def position(self, position: int) -> None:
        self.move_position(arguments.int64_of(position, "position"))

    @property
    def subscriber_position_id(self) -> int:
        """The id of the counter that holds the position."""
        return self._position.id

    @property
    def is_end_of_stream(self) -> bool:
        """Whether the end of the stream is known and the position has reached it."""
        return self._current_position() >= self.end_of_stream_position

    @property
    def end_of_stream_position(self) -> int:
        """The position in bytes at which the stream ends; 2**63 - 1 until the driver has stored it.

        It stays 2**63 - 1 if the image is closed before, for example because the sender disappeared.
        """
        if self.is_closed:
            return self._final_end_of_stream_position
        return self._log.end_of_stream_position_acquire()

    @property
    def active_transport_count(self) -> int:
        """The number of network paths that deliver the stream; 0 for IPC, for spies, and once closed.

        Updated with each status message of the driver: 0 before the first one, although data may have arrived.
        """
        return 0 if self.is_closed else self._log.active_transport_count()

    @property
    def is_revoked(self) -> bool:
        """Whether the publication was revoked: messages that were unread at that time are lost."""
        return self._final_is_revoked if self.is_closed else self._log.is_revoked()

    @property
    def term_length(self) -> int:
        """Length of a term in bytes."""
        return self._log.term_length

    @property
    def initial_term_id(self) -> int:
        """The term id at which the stream began."""
        return self._log.initial_term_id

    @property
    def mtu_length(self) -> int:
        """Maximum length of a frame in bytes, with its header."""
        return self._log.mtu_length

    @property
    def position_bits_to_shift(self) -> int:
        """The shift that turns a term count into a position: log2 of the term length."""
        return self._log.position_bits_to_shift

    def poll(self, handler: FragmentHandler, fragment_limit: int = 10) -> int:
        """Call `handler` for up to `fragment_limit` fragments and return their number.

        Returns 0 if the image is closed. An exception of the handler propagates; its fragment counts as delivered.
        Raises ProtocolError for an invalid frame.
        """
        return self.poll_fragments(handler, arguments.int32_of(fragment_limit, "fragment_limit"), NO_LIMIT)

    def bounded_poll(self, handler: FragmentHandler, limit_position: int, fragment_limit: int = 10) -> int:
        """Do the same as `poll`, but deliver no fragment that begins at or after `limit_position`."""
        limit = max(arguments.int64_of(limit_position, "limit_position"), 0)
        return self.poll_fragments(handler, arguments.int32_of(fragment_limit, "fragment_limit"), limit)

    def controlled_poll(self, handler: ControlledFragmentHandler, fragment_limit: int = 10) -> int:
        """Do the same as `poll`, but continue or stop after each fragment as the result of `handler` demands.

        See `Action`. An aborted fragment is not counted, and the next poll delivers it again.
        """
        return self.poll_controlled(handler, arguments.int32_of(fragment_limit, "fragment_limit"), NO_LIMIT)

    def bounded_controlled_poll(
        self, handler: ControlledFragmentHandler, limit_position: int, fragment_limit: int = 10
    ) -> int:
        """Do the same as `controlled_poll`, but deliver no fragment that begins at or after `limit_position`."""
        limit = max(arguments.int64_of(limit_position, "limit_position"), 0)
        return self.poll_controlled(handler, arguments.int32_of(fragment_limit, "fragment_limit"), limit)

    def block_poll(self, handler: BlockHandler, block_length_limit: int) -> int:
        """Call `handler` with one block of whole frames and their headers; return its length in bytes.

        A block has at most `block_length_limit` bytes and ends before padding. Padding is a separate block, of any
        length. Returns 0 without a call if there is no frame, if the next one is longer than the limit, or if the
        image is closed. A block counts as read even if the handler raises. Raises ProtocolError for an invalid frame.
        """
        return self.poll_block(handler, arguments.int64_of(block_length_limit, "block_length_limit"))

    def block_peek(self, initial_position: int, block_length_limit: int) -> memoryview:
        """Return whole frames with their headers from `initial_position` on, without moving the position.

        Blocks end like those of `block_poll`; the block is empty if no frame is there, if the frame is longer
        than the limit, or if the image is closed. `initial_position` may be up to a term before or after the
        position: read frames stay in the log until the driver cleans it, which may happen at any time, from the
        lowest position on, and changes the content of the view. Raises ConfigurationError if it is negative, not a
        multiple of 32, or out of that range, ProtocolError for an invalid frame.
        """
        return self.peek_block(
            arguments.int64_of(initial_position, "initial_position"),
            arguments.int64_of(block_length_limit, "block_length_limit"),
        )

    def reject(self, reason: str) -> None:
        """Reject the publication for all subscribers of this driver; its sender gets the reason.

        The driver closes the image after its image liveness timeout, that of an IPC publication at once. The
        stream may come back after that timeout if its sender continues. Waits for the driver and raises the errors of
        `Registration.result`: RegistrationError if `reason` has more than 1023 bytes, for an image that the driver has
        removed, or for the image of a spy.
        """
        if self.subscription is not None:
            self.subscription.reject_image(self, reason)

    def close(self) -> None:
        """Save the last state and stop reading. For the client's conductor."""
        if self.is_closed:
            return
        self._final_position = self._position.get_acquire()
        self._final_end_of_stream_position = self._log.end_of_stream_position_acquire()
        self._final_is_revoked = self._log.is_revoked()
        self.is_closed = True
        # The header refers to this image: without this, the log would stay mapped until the cycle collector runs.
        self._header = None

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return (
            f"Image(session_id={self.session_id}, source_identity={self.source_identity!r}, "
            f"position={self.position}, {state})"
        )

    def _current_position(self) -> int:
        return self._final_position if self.is_closed else self._position.get()

    def poll_fragments(self, handler: FragmentHandler, fragment_limit: int, limit_position: int) -> int:
        """Do the same as `bounded_poll`; a negative `limit_position` is no limit. For compiled callers."""
        if self.is_closed:
            return 0
        if limit_position < 0:
            limit_position = self._log.max_possible_position
        begin = position = self._position.get()
        header = cython.cast(Header, self._header)  # `close` drops it, also while a handler runs
        fragments = 0
        try:
            while fragments < fragment_limit and not self.is_closed:
                frame = self._reader.next_frame(position, limit_position)
                position = self._reader.position
                if frame < 0:
                    break
                fragments += 1
                header.move_to(frame)
                handler(self._view_of_frame(frame), header)
        finally:
            self._publish(begin, position)
        return fragments

    def poll_controlled(
        self, handler: ControlledFragmentHandler, fragment_limit: int, limit_position: int
    ) -> int:
        """Do the same as `bounded_controlled_poll`; a negative `limit_position` is no limit. For compiled callers."""
        if self.is_closed:
            return 0
        if limit_position < 0:
            limit_position = self._log.max_possible_position
        begin = position = self._position.get()
        header = cython.cast(Header, self._header)  # `close` drops it, also while a handler runs
        fragments = 0
        try:
            while fragments < fragment_limit and not self.is_closed:
                frame = self._reader.next_frame(position, limit_position)
                position = self._reader.position
                if frame < 0:
                    break
                header.move_to(frame)
                action = handler(self._view_of_frame(frame), header)
                if action is Action.ABORT:
                    position -= header.span()
                    break
                fragments += 1
                if action is Action.BREAK:
                    break
                if action is Action.COMMIT:
                    self._publish(begin, position)
                    begin = position
        finally:
            self._publish(begin, position)
        return fragments

    def poll_block(self, handler: BlockHandler, length_limit: int) -> int:
        """Do the same as `block_poll`; for compiled callers."""
        if self.is_closed:
            return 0
        position = self._position.get()
        length = self._reader.scan_block(position, length_limit)
        if length > 0:
            frame = self._log.frame_offset(position)
            term_id = self._buffer.get_i32(frame + wire.DATA_TERM_ID_OFFSET)
            try:
                handler(self._views.view(frame, length), self.session_id, term_id)
            finally:
                self._publish(position, position + length)
        return length

    def peek_block(self, position: int, length_limit: int) -> memoryview:
        """Do the same as `block_peek`; for compiled callers."""
        term_length = self._log.term_length
        current = self._current_position()
        if (
            position < 0
            or position & (wire.FRAME_ALIGNMENT - 1)
            or not -term_length <= position - current <= term_length
        ):
            raise ConfigurationError(
                f"initial_position={position}: must be a multiple of {wire.FRAME_ALIGNMENT} from "
                f"{max(current - term_length, 0)} to {current + term_length}, one term before and after the position"
            )
        frame = self._log.frame_offset(position)
        if self.is_closed:
            return self._views.view(frame, 0)
        length = self._reader.scan_block(position, length_limit)
        if length > 0 and self._buffer.get_i32(frame + wire.DATA_TERM_ID_OFFSET) != positions.compute_term_id(
            position, self._log.position_bits_to_shift, self._log.initial_term_id
        ):
            length = 0  # the slot holds an earlier or later term
        return self._views.view(frame, length)

    def move_position(self, position: int) -> int:
        """Set the position as the property does; for compiled callers."""
        if self.is_closed:
            return 0
        current = self._position.get()
        limit = current - (current & (self._log.term_length - 1)) + self._log.term_length
        if position & (wire.FRAME_ALIGNMENT - 1) or not current <= position <= limit:
            raise ConfigurationError(
                f"position={position}: must be a multiple of {wire.FRAME_ALIGNMENT} from {current} to {limit}, the end "
                "of the current term"
            )
        return self._publish(current, position)

    def poll_into(self, batch: BatchBuffer, max_messages: int) -> int:
        """Append up to `max_messages` whole messages to `batch` and return their number, 0 if the image is closed.

        Raises ProtocolError for an invalid frame if this call has appended no message before it.
        """
        if self.is_closed:
            return 0
        begin = position = self._position.get()
        first = batch.count
        try:
            with cython.nogil:
                self._reader.read_batch(begin, self._log.max_possible_position, max_messages, batch)
            position = self._reader.position
        except ProtocolError:
            if batch.count == first:
                raise
            position = batch.positions.get_i64((batch.count - 1) * 8)
        self._publish(begin, position)
        return batch.count - first

    @property
    def required_length(self) -> int:
        """Length in bytes of the message that ended the last batch because it did not fit; 0 if none did."""
        return self._reader.required_length

    def _view_of_frame(self, frame: int) -> memoryview:
        """Return the payload of the frame at offset `frame` of the log, which the reader found last."""
        return self._views.view(
            frame + wire.DATA_HEADER_LENGTH, self._reader.frame_length - wire.DATA_HEADER_LENGTH
        )

    def _publish(self, begin: int, position: int) -> int:
        # The driver may have reused the counter of a closed image.
        if position > begin and not self.is_closed:
            # Release, paired with the acquire load of the driver, which may clean everything below the position: all
            # reads of this thread must come before the store.
            return self._position.set_release(position)
        return 0

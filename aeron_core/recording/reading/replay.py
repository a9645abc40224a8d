"""Replay: publishes a recording again, the same frames at the same positions.

Not here: pacing, and waiting for a subscriber, which the caller of `do_work` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.errors import ConfigurationError
from aeron_core.recording.reading.messages import whole_frames
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.recording import Recording
from aeron_core.uri.builder import ChannelUriBuilder
from aeron_core.uri.channel_uri import ChannelUri

_LENGTH_MASK: Final = -wire.FRAME_ALIGNMENT


def replay_channel(
    channel: str, descriptor: RecordingDescriptor, position: int, *, keeps_session: bool
) -> ChannelUri:
    """Return a channel for a publication that begins at `position`, with the recording's term and MTU lengths.

    With `keeps_session`, it has the session id of the recording too. Raises ConfigurationError for a malformed channel,
    and if `position` is negative or not a multiple of 32.
    """
    builder = ChannelUriBuilder(ChannelUri.parse(channel))
    builder.initial_position(position, descriptor.initial_term_id, descriptor.term_length)
    builder.mtu(descriptor.mtu_length)
    if keeps_session:
        builder.session_id(descriptor.session_id)
    return builder.build()


class Replay:
    """Appends the frames from `begin` up to `end` to a publication at position `begin`; for one thread.

    Frames get the session and stream ids of the publication and are otherwise unchanged. With `verify`, they are
    offered only after their checksums were compared. The constructor raises ConfigurationError if the position, term
    length or initial term id of the publication does not match the recording.
    """

    def __init__(
        self,
        recording: Recording,
        publication: ExclusivePublication,
        begin: int,
        end: int,
        *,
        verify: bool = True,
    ) -> None:
        descriptor = recording.descriptor
        for name, found, wanted in (
            ("position", publication.position, begin),
            ("term length", publication.term_buffer_length, descriptor.term_length),
            ("initial term id", publication.initial_term_id, descriptor.initial_term_id),
        ):
            if found != wanted:
                raise ConfigurationError(
                    f"{publication!r}: {name} {found}: must be {wanted} as in the recording: add the publication "
                    "with the URI that replay_channel returns"
                )
        self.position = begin
        self.end = end
        self._publication = publication
        self._is_same_stream = (
            recording.has_one_session
            and publication.session_id == descriptor.session_id
            and publication.stream_id == descriptor.stream_id
        )
        # At most as long as a message, because an offer that begins below the publisher limit is accepted whole.
        self._block_length = publication.max_message_length & _LENGTH_MASK
        self._blocks = self._make_blocks(whole_frames(recording, begin, end, verify=verify))
        self._block = b""

    @property
    def is_done(self) -> bool:
        """Whether the publication has accepted all frames up to `end`."""
        return self.position >= self.end

    def do_work(self) -> int:
        """Offer the next block; return the bytes accepted, 0 if the replay is done, or a negative result of `offer`.

        After a negative result, the next call offers the block again. Raises the errors of `messages`.
        """
        if self.is_done:
            return 0
        if not self._block:
            self._block = next(self._blocks, self._block)
            if not self._block:
                self.end = self.position  # the end lies within a frame, which is not replayed
                return 0
        result = self._offer(self._block)
        if result < 0:
            return result
        length = result - self.position
        self.position = result
        self._block = self._block[length:]
        return length

    def _offer(self, block: bytes) -> int:
        if not _is_padding(block):
            return self._publication.offer_block(block)
        # This block is one padding frame, which may be longer than an offer may be. The rest is then offered again as
        # padding.
        length = min(len(block), self._block_length)
        return self._publication.append_padding(length - wire.DATA_HEADER_LENGTH)

    def _make_blocks(self, frames: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
        """Yield blocks of whole frames, each block from one term.

        Padding at the beginning of a block is a block of its own, because `offer_block` refuses it.
        """
        block = bytearray()
        for _, data in frames:
            source = AtomicBuffer(data if self._is_same_stream else bytearray(data))
            offset = 0
            while offset < source.capacity:
                length = positions.align_frame(source.get_i32(offset))
                is_padding = source.get_u16(offset + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
                begins_term = source.get_i32(offset + wire.DATA_TERM_OFFSET_OFFSET) == 0
                is_too_long = not is_padding and len(block) + length > self._block_length
                if block and (begins_term or is_too_long or _is_padding(block)):
                    yield bytes(block)
                    block.clear()
                if not self._is_same_stream:
                    source.put_i32(offset + wire.DATA_SESSION_ID_OFFSET, self._publication.session_id)
                    source.put_i32(offset + wire.DATA_STREAM_ID_OFFSET, self._publication.stream_id)
                if is_padding:
                    block += source.get_bytes(offset, wire.DATA_HEADER_LENGTH)
                    block += bytes(length - wire.DATA_HEADER_LENGTH)
                else:
                    block += source.get_bytes(offset, length)
                offset += length
        if block:
            yield bytes(block)


def _is_padding(block: bytes | bytearray) -> bool:
    return block[wire.FRAME_TYPE_OFFSET] == wire.TYPE_PAD

"""Assembler that reassembles fragmented messages and calls a handler with whole messages only.

    subscription.poll(FragmentAssembler(on_message))

Not here: handlers that return an Action (controlled_fragment_assembler).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.client.subscriptions.header import Header
from aeron_core.client.subscriptions.message_builder import MessageBuilder

if TYPE_CHECKING:
    from aeron_core.client.subscriptions.image import FragmentHandler


class FragmentAssembler:
    """A handler for the polls of one subscription; each session is reassembled separately.

    Buffer and header are valid during the call only. The header is that of the first fragment, with the flags and the
    length of a message in one frame and the position after the last fragment. A message with missing fragments is
    dropped, and one of several fragments with more than `max_message_length` bytes, by default the most of any stream.
    """

    def __init__(self, handler: FragmentHandler, max_message_length: int = wire.MAX_MESSAGE_LENGTH) -> None:
        self._max_message_length = max_message_length
        self._handler = handler
        self._builders: dict[int, MessageBuilder] = {}

    def __call__(self, buffer: memoryview, header: Header) -> None:
        """Take one fragment; call the handler if it completes a message."""
        self._on_fragment(buffer, header)

    def free_session(self, session_id: int) -> bool:
        """Drop a session's buffer with any incomplete message; return whether the session had a buffer."""
        return self._builders.pop(session_id, None) is not None

    def clear(self) -> None:
        """Drop the buffers of all sessions with their incomplete messages."""
        self._builders.clear()

    def _on_fragment(self, buffer: memoryview, header: Header) -> None:
        flags = header.flags
        if flags & wire.DATA_FLAGS_UNFRAGMENTED == wire.DATA_FLAGS_UNFRAGMENTED:
            self._handler(buffer, header)
            return
        builder = self._builders.get(header.session_id)
        if flags & wire.DATA_FLAG_BEGIN:
            if builder is None:
                builder = self._builders[header.session_id] = MessageBuilder(self._max_message_length)
            builder.begin(buffer, header)
        elif builder is not None and builder.append(buffer, header) and flags & wire.DATA_FLAG_END:
            try:
                self._handler(builder.message(), builder.header())
            finally:
                builder.reset()

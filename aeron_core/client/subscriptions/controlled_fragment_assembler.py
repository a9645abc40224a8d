"""Assembler for handlers that return an Action.

    subscription.controlled_poll(ControlledFragmentAssembler(on_message))

Invariant: after an abort the last fragment is delivered again and completes the same message again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.client.subscriptions.action import Action
from aeron_core.client.subscriptions.header import Header
from aeron_core.client.subscriptions.message_builder import MessageBuilder

if TYPE_CHECKING:
    from aeron_core.client.subscriptions.image import ControlledFragmentHandler


class ControlledFragmentAssembler:
    """Assembler for the controlled polls of one subscription; otherwise like FragmentAssembler."""

    def __init__(
        self, handler: ControlledFragmentHandler, max_message_length: int = wire.MAX_MESSAGE_LENGTH
    ) -> None:
        self._max_message_length = max_message_length
        self._handler = handler
        self._builders: dict[int, MessageBuilder] = {}

    def __call__(self, buffer: memoryview, header: Header) -> Action | None:
        """Take one fragment; return the action of the handler, or CONTINUE if it completes no message."""
        return self._on_fragment(buffer, header)

    def free_session(self, session_id: int) -> bool:
        """Drop a session's buffer with any incomplete message; return whether the session had a buffer."""
        return self._builders.pop(session_id, None) is not None

    def clear(self) -> None:
        """Drop the buffers of all sessions with their incomplete messages."""
        self._builders.clear()

    def _on_fragment(self, buffer: memoryview, header: Header) -> Action | None:
        flags = header.flags
        if flags & wire.DATA_FLAGS_UNFRAGMENTED == wire.DATA_FLAGS_UNFRAGMENTED:
            return self._handler(buffer, header)
        builder = self._builders.get(header.session_id)
        if flags & wire.DATA_FLAG_BEGIN:
            if builder is None:
                builder = self._builders[header.session_id] = MessageBuilder(self._max_message_length)
            builder.begin(buffer, header)
        elif builder is not None and builder.append(buffer, header) and flags & wire.DATA_FLAG_END:
            return self._deliver(builder, buffer, header)
        return Action.CONTINUE

    def _deliver(self, builder: MessageBuilder, buffer: memoryview, header: Header) -> Action | None:
        action: Action | None = None
        try:
            action = self._handler(builder.message(), builder.header())
        finally:
            if action is Action.ABORT:
                builder.take_back(buffer, header)
            else:
                builder.reset()
        return action

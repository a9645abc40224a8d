"""Message framing between an agent and WebSocket: the agent uses the TCP mapping of SP.

    00 53 50 00 | u16 protocol | 00 00, then for each message u64 length | payload; all numbers big-endian

Invariant: only bytes that were added and not yet split are held. If `split` returns fewer fragments than its
limit, less than one fragment is left.
"""

from __future__ import annotations

import struct
from typing import Final

LENGTH: Final = struct.Struct(">Q")
#: Length of sent fragments in bytes. Source: nng's websocket.c, WS_DEF_MAXTXFRAME.
FRAGMENT_LENGTH: Final = 1 << 16


class MessageSplitter:
    """Splitter of what an agent sends, a greeting and messages, into WebSocket fragments."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._is_greeted = False
        # Remaining bytes of the current message; None if the length of the next one is expected.
        self._left: int | None = None

    @property
    def is_greeted(self) -> bool:
        """Whether `split` has removed the greeting of the agent."""
        return self._is_greeted

    @property
    def is_within_message(self) -> bool:
        """Whether `split` has not yet returned all of a greeting or message that has begun."""
        return self._left is not None or bool(self._held)

    def add(self, data: bytes) -> None:
        """Append bytes of the agent to those that `split` returns."""
        self._held += data

    def split(self, limit: int) -> list[tuple[bytes, bool]]:
        """Remove and return up to `limit` pairs of a fragment and whether it is the last one of its message.

        A fragment has FRAGMENT_LENGTH bytes, or the rest of its message.
        """
        held = self._held
        fragments: list[tuple[bytes, bool]] = []
        done = 0
        while len(fragments) < limit:
            if self._left is None:
                if len(held) - done < LENGTH.size:
                    break
                if self._is_greeted:
                    (self._left,) = LENGTH.unpack_from(held, done)
                self._is_greeted = True
                done += LENGTH.size
                continue
            length = min(self._left, FRAGMENT_LENGTH)
            if len(held) - done < length:
                break
            self._left = self._left - length or None
            fragments.append((bytes(held[done : done + length]), self._left is None))
            done += length
        del held[:done]
        return fragments

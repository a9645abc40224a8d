"""What a WebSocket connection of SP looks like to an agent: the TCP mapping of SP, both ways.

    00 53 50 00 | u16 protocol | 00 00, then for each message u64 length | payload; all numbers big-endian

Invariant: nothing is held but the beginning of a fragment that is still to come.
"""

from __future__ import annotations

import struct
from typing import Final

LENGTH: Final = struct.Struct(">Q")
#: Bytes of the fragments that are sent. Source: nng's websocket.c, WS_DEF_MAXTXFRAME.
FRAGMENT_LENGTH: Final = 1 << 16


class MessageCutter:
    """Takes what an agent sends, and cuts it into fragments."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._is_greeted = False
        # Bytes of the message that are still to come, None where the next one's length is.
        self._left: int | None = None

    @property
    def is_greeted(self) -> bool:
        """Whether the agent has said which protocol it speaks."""
        return self._is_greeted

    @property
    def is_within_message(self) -> bool:
        """Whether there is more to come of a message."""
        return self._left is not None or bool(self._held)

    def cut(self, data: bytes) -> list[tuple[bytes, bool]]:
        """Return fragments, and of each whether it is the last of its message."""
        held = self._held
        held += data
        fragments = []
        done = 0
        while True:
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

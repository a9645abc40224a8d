"""A reader that a publication may send to: its name, and where that is now.

The sender asks for the name to be looked up again when a connection was lost; the conductor answers when it can.
Invariant: the conductor writes a new address only while there is none that waits, the sender takes one only while there
is, so neither waits.
"""

from __future__ import annotations

from aeron_core._native.address import SocketAddress
from aeron_core._native.cell import AtomicLong


class ReaderHost:
    """`name` is host:port; all streams of an endpoint share it. Without an address nobody can connect yet."""

    def __init__(self, name: str, address: SocketAddress | None) -> None:
        self.name = name
        self.address = SocketAddress()
        self._found = SocketAddress()
        self._known = SocketAddress() if address is None else address.copy()
        self._has_found = AtomicLong(0)
        self._is_asked = AtomicLong(0)
        if address is not None:
            self.address.assign(address)

    def take_question(self) -> bool:
        """Return whether the name should be looked up: while it is not known, and once each time that the sender asks.

        For the conductor.
        """
        if not self._known.is_set():
            return True
        if self._is_asked.get_acquire() == 0:
            return False
        self._is_asked.set_release(0)
        return True

    def change(self, address: SocketAddress) -> bool:
        """Have the next connection go to `address`; return whether that is another one. For the conductor.

        One that comes before its predecessor was taken is dropped: the next lost connection asks again.
        """
        if address == self._known or self._has_found.get_acquire() != 0:
            return False
        self._known.assign(address)
        self._found.assign(address)
        # Release: who sees that there is an address sees the whole of it.
        self._has_found.set_release(1)
        return True

    def ask(self) -> int:
        """Have the name looked up again; return 0."""
        self._is_asked.set_release(1)
        return 0

    def refresh(self) -> bool:
        """Take the address that was found since; return whether there is one at all."""
        if self._has_found.get_acquire() != 0:
            self.address.assign(self._found)
            self._has_found.set_release(0)
        return self.address.is_set()

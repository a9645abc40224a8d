"""A host to connect to: its name and its current address.

The agent that connects, the sender or the receiver, requests another name resolution when a connection is lost; the
conductor publishes the result later.
Invariant: the conductor writes a new address only while none is pending, and the agent takes one only while one is,
so neither waits for the other.
"""

from __future__ import annotations

from aeron_core._native.address import SocketAddress
from aeron_core._native.atomic_long import AtomicLong


class RemoteHost:
    """Name (host:port) and current address of one host, shared by all connections to it.

    `address`: None if the name could not be resolved yet; while it is unknown, no connection is attempted.
    """

    def __init__(self, name: str, address: SocketAddress | None) -> None:
        self.name = name
        self.address = SocketAddress()
        self._found = SocketAddress()
        self._known = SocketAddress() if address is None else address.copy()
        self._has_found = AtomicLong(0)
        self._is_requested = AtomicLong(0)
        if address is not None:
            self.address.assign(address)

    def take_request(self) -> bool:
        """Return whether to resolve the name: always while the address is unknown, else once after a request.

        Requests come from the agent. Runs on the conductor.
        """
        if not self._known.is_set():
            return True
        if self._is_requested.get_acquire() == 0:
            return False
        self._is_requested.set_release(0)
        return True

    def change(self, address: SocketAddress) -> bool:
        """Set the address of the next connection; return whether it changed. Runs on the conductor.

        The address is dropped while a previous one is pending: the next lost connection requests it again.
        """
        if address == self._known or self._has_found.get_acquire() != 0:
            return False
        self._known.assign(address)
        self._found.assign(address)
        # Release, paired with the acquire in `refresh`: if the agent sees the flag, it also sees the whole address.
        self._has_found.set_release(1)
        return True

    def request_address(self) -> int:
        """Request another resolution of the name; return 0. Runs on the agent."""
        self._is_requested.set_release(1)
        return 0

    def refresh(self) -> bool:
        """Store a pending address in `address`; return whether the address is known. Runs on the agent."""
        if self._has_found.get_acquire() != 0:
            self.address.assign(self._found)
            # Release: the conductor overwrites `_found` only after it has loaded this zero, when the copy is complete.
            self._has_found.set_release(0)
        return self.address.is_set()

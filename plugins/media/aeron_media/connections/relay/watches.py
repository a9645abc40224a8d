"""The sockets that a relay thread waits for."""

from __future__ import annotations

import select
import socket
from typing import Final

_HANGS: Final = select.EPOLLHUP | select.EPOLLERR


class Watches:
    """An epoll set with a copy of what it waits for, so that repeated requests cost no system call."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._events: dict[int, int] = {}

    def set(self, sock: socket.socket, events: int | None) -> None:
        """Set the epoll `events` to wait for on a socket: 0 for hang-ups alone, None to stop waiting for it.

        Call it with None before the socket is closed: a later socket may get the same descriptor, and would be taken
        for the closed one.
        """
        descriptor = sock.fileno()
        before = self._events.get(descriptor)
        if before == events:
            return
        if events is None:
            self._epoll.unregister(descriptor)
            del self._events[descriptor]
            return
        if before is None:
            # epoll reports hang-ups and errors even for an empty set of events.
            self._epoll.register(descriptor, events)
        else:
            self._epoll.modify(descriptor, events)
        self._events[descriptor] = events

    def wait(self, timeout_s: float | None) -> list[tuple[int, int]]:
        """Return pairs of a descriptor and its epoll events; block until there are any or the timeout has passed.

        The result is empty after the timeout, in seconds; None for no limit.
        """
        return self._epoll.poll(timeout_s)

    def close(self) -> None:
        """Close the set; the sockets stay open."""
        self._epoll.close()


def hangs(events: int) -> bool:
    """Return whether epoll events report a hang-up or an error."""
    return bool(events & _HANGS)

"""Listener of a relay thread: accepts TCP connections; pauses after errors such as too many open files."""

from __future__ import annotations

import errno
import os
import socket
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import is_reserved_descriptor
from aeron_media.connections.relay.faults import RelayFaults

#: Seconds without polling after `accept` failed, for example because too many files are open. Invented.
LISTENER_PAUSE_S: Final = 0.1


class WireListener:
    """A listening socket; times are seconds of the monotonic clock."""

    def __init__(self, sock: socket.socket, faults: RelayFaults) -> None:
        self.socket = sock
        self._faults = faults
        #: When the listener may be polled again; 0 without a pause.
        self.paused_until = 0.0

    def is_paused(self, now: float) -> bool:
        """Return whether the listener must not be polled yet; end a pause that is over."""
        if self.paused_until and now >= self.paused_until:
            self.paused_until = 0.0
        return self.paused_until > 0

    def accept(self, now: float) -> tuple[socket.socket, SocketAddress] | None:
        """Return a new connection and its peer; None if there is none, or if accepting failed.

        A failure starts a pause of LISTENER_PAUSE_S and is stored as a fault. If only that connection was lost, it does
        neither; if the listener is shut down, it is not stored.
        """
        try:
            wire, name = self.socket.accept()
            if is_reserved_descriptor(wire.fileno()):
                wire.close()
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        except (BlockingIOError, ConnectionError):
            return None
        except OSError as error:
            # EINVAL: `RelayThread.close` has shut the listener down. Other errors, such as too many open files, last
            # while the listener stays readable: without a pause the thread would spin.
            if error.errno != errno.EINVAL:
                self._faults.keep(
                    f"cannot accept connections: {error.strerror}; tried again every {LISTENER_PAUSE_S:g} s: check the "
                    "limit of open files and the memory"
                )
            self.paused_until = now + LISTENER_PAUSE_S
            return None
        host, port, *rest = name
        return wire, SocketAddress.of(host, port, rest[1] if rest else 0)

"""Agent side of a relayed connection: the relay thread's end of a socket pair, and the agent's end until handed over.

An agent that dialed created the pair and waits for one byte, the result: 0 for a connection, otherwise an error number.
For an accepted connection the pair is created here, after the handshake.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from typing import Final

#: The largest error number that fits the byte of a result.
_MAX_RESULT: Final = 255


class AgentSide:
    """Plain bytes to and from one agent; used by the relay thread.

    `sock` is the thread's end of the socket pair, and `inode` that of the agent's end; without arguments, `connect`
    creates the pair.
    """

    def __init__(self, sock: socket.socket | None = None, inode: int = 0) -> None:
        #: This end of the socket pair, None until the pair is created.
        self.socket = sock
        #: The agent's end of a pair that was created here, until it is handed over.
        self.other_end: socket.socket | None = None
        #: Inode of the agent's end, which identifies the connection in requests; 0 until the pair is created.
        self.inode = inode
        #: Whether the agent has closed its sending side.
        self.has_ended = False
        #: Bytes for the agent that its socket did not take yet.
        self.unsent = memoryview(b"")

    def connect(self) -> None:
        """Report success to the agent that dialed, or create the pair for an accepted connection.

        Raises OSError if the agent has closed its end, or the pair cannot be created.
        """
        if self.socket is not None:
            self.socket.send(b"\0")
        else:
            # The pair is created only now: an agent gets no connection whose handshake may still fail.
            self.socket, self.other_end = socket.socketpair()
            self.socket.setblocking(False)
            self.inode = os.fstat(self.other_end.fileno()).st_ino

    def report(self, code: int) -> None:
        """Report an errno to the agent that dialed, if it has not closed its end; EIO unless `code` is 1 to 255."""
        assert self.socket is not None
        # Fails if the agent has closed its end.
        with contextlib.suppress(OSError):
            self.socket.send(bytes([code if 0 < code <= _MAX_RESULT else errno.EIO]))

    def send(self) -> bool:
        """Send as much of `unsent` as the socket accepts; return whether all was sent.

        False also if the agent has closed its end.
        """
        assert self.socket is not None
        while self.unsent:
            try:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
            except BlockingIOError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                # The agent has closed its end, which epoll reports.
                return False
        return True

    def receive(self, length: int) -> bytes | None:
        """Return up to `length` bytes, b"" at the end; None if nothing has arrived."""
        assert self.socket is not None
        try:
            return self.socket.recv(length)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            # The agent closed with unread bytes; everything that it sent was read before.
            return b""

    def shut_down(self, how: int) -> None:
        """Shut down this socket as `socket.shutdown` does, if it is still open; after SHUT_WR the agent reads EOF."""
        assert self.socket is not None
        # Raises if this socket was closed here.
        with contextlib.suppress(OSError):
            self.socket.shutdown(how)

    def close(self) -> None:
        """Close this end, and the agent's end if it was not handed over."""
        for sock in (self.socket, self.other_end):
            if sock is not None:
                sock.close()

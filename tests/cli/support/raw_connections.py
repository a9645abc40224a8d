"""Connections to a server that send no request, or not all of one."""

import socket
from contextlib import ExitStack


def refused(address, count):
    """Open connections without a request; return how many of them the server closes at once."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(count)]
        # The last one is accepted after the others.
        sockets[-1].recv(1)
        closed = 0
        for each in sockets:
            each.setblocking(False)
            try:
                closed += not each.recv(1)
            except BlockingIOError:
                pass
            except ConnectionError:
                closed += 1
        return closed


def is_ended_by_peer(connection):
    """Read until the other end closes or resets the connection; raises TimeoutError if it does neither."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True

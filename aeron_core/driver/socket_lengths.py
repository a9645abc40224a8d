"""The operating system's own socket buffer lengths."""

from __future__ import annotations

import socket
from functools import cache


@cache
def _default_length(option: int) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return probe.getsockopt(socket.SOL_SOCKET, option)


def os_default_sndbuf_length() -> int:
    """Return SO_SNDBUF of a new UDP socket, in bytes."""
    return _default_length(socket.SO_SNDBUF)


def os_default_rcvbuf_length() -> int:
    """Return SO_RCVBUF of a new UDP socket, in bytes."""
    return _default_length(socket.SO_RCVBUF)

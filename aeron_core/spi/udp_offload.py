"""UDP offload of the kernel, detected with real sockets: segmentation (GSO) and coalescing (GRO) of datagrams.

Not here: sending and receiving with it (aeron_core._native.datagrams).
"""

from __future__ import annotations

import functools
import socket
import struct
from typing import Final

SOL_UDP: Final = socket.IPPROTO_UDP
# Source: include/uapi/linux/udp.h; missing in Python's socket module.
UDP_SEGMENT: Final = 103
UDP_GRO: Final = 104

_PROBE_TIMEOUT_S: Final = 0.5  # invented: loopback takes microseconds


@functools.cache
def detect_gso() -> bool:
    """Return whether the kernel supports UDP_SEGMENT (GSO); tested once, over loopback.

    Raises OSError if no socket can be opened.
    """
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        try:
            receiver.bind(("127.0.0.1", 0))
            receiver.settimeout(_PROBE_TIMEOUT_S)
            segment = [(SOL_UDP, UDP_SEGMENT, struct.pack("=H", 2))]
            sender.sendmsg([b"abcd"], segment, 0, receiver.getsockname())
            return [receiver.recv(8), receiver.recv(8)] == [b"ab", b"cd"]
        except OSError:
            return False


@functools.cache
def detect_gro() -> bool:
    """Return whether the kernel supports UDP_GRO; tested once. Raises OSError if no socket can be opened."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.setsockopt(SOL_UDP, UDP_GRO, 1)
        except OSError:
            return False
        return True

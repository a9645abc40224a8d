"""Socket buffer lengths: the operating system's defaults, and what it grants of the configured ones.

The functions raise OSError if no UDP socket can be opened.
Source: aeron_driver.c, aeron_driver_validate_sufficient_socket_buffer_lengths (the probe).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_core.settings.driver import DriverFields


# Cached: the log of each publication and image records the defaults, and a probe costs a socket. A later
# change of the system's limits is not detected.
@cache
def _length(option: int, asked: int = 0) -> int:
    """Return the buffer length of a new UDP socket, in bytes, after requesting `asked` bytes if that is not 0."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        if asked:
            # Linux reduces a length that is too large; some systems refuse it.
            with suppress(OSError):
                probe.setsockopt(socket.SOL_SOCKET, option, asked)
        return probe.getsockopt(socket.SOL_SOCKET, option)


def os_default_sndbuf_length() -> int:
    """Return SO_SNDBUF of a new UDP socket, in bytes."""
    return _length(socket.SO_SNDBUF)


def os_default_rcvbuf_length() -> int:
    """Return SO_RCVBUF of a new UDP socket, in bytes."""
    return _length(socket.SO_RCVBUF)


def cut_lengths(settings: DriverFields, length: Callable[[int, int], int] = _length) -> Iterator[str]:
    """Yield a warning for each buffer that the system makes shorter than the settings ask for.

    Linux reports twice the granted length. So, as in the reference, a cut down to half of the request is not detected.
    """
    for option, name, asked, limit in (
        (socket.SO_RCVBUF, "SO_RCVBUF", settings.socket_so_rcvbuf_length, "net.core.rmem_max"),
        (socket.SO_SNDBUF, "SO_SNDBUF", settings.socket_so_sndbuf_length, "net.core.wmem_max"),
    ):
        given = length(option, asked)
        # A short receive buffer drops datagrams while the receiver is busy, which looks like loss on the
        # network.
        if asked > given:
            yield (
                f"AERON_SOCKET_{name}={asked}: the operating system gives {given} bytes only: raise {limit}, "
                "or ask for less"
            )

"""Port ranges: chooses the port of a channel with port 0 from the range of the driver.

A known range can be opened in a firewall. Not here: ports that the operating system chooses.
Source: aeron_port_manager.c, where a port used by another process is an error.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from aeron_core._native.datagrams import DatagramChannel
from aeron_core.spi.media import DatagramOptions, OpenDatagrams


class WildcardPorts:
    """Ports of each range, used in turn, so that a closed port is not reused at once. Used by the conductor."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, int], int] = {}

    def opener(self, ports: tuple[int, int], variable: str, open_datagrams: OpenDatagrams) -> OpenDatagrams:
        """Return a function that opens sockets, and replaces port 0 by a free port of the range `ports`.

        `ports`: first and last port; with `(0, 0)` the operating system chooses the port. `variable`: the setting of
        this range, for messages. The function raises OSError if all ports of the range are in use, and what
        `open_datagrams` raises.
        """
        if ports == (0, 0):
            return open_datagrams

        def open_within_range(options: DatagramOptions) -> DatagramChannel:
            if options.bind.port != 0:
                return open_datagrams(options)
            return self._open(ports, variable, lambda port: open_datagrams(_bound_to(options, port)))

        return open_within_range

    def _open(
        self, ports: tuple[int, int], variable: str, open_port: Callable[[int], DatagramChannel]
    ) -> DatagramChannel:
        for port in self._in_turn(ports):
            try:
                channel = open_port(port)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            self._next[ports] = port + 1
            return channel
        raise OSError(
            errno.EADDRINUSE,
            f"no available ports in range {ports[0]} {ports[1]}: other sockets use all of them: close some, or "
            f"set a wider range with {variable}",
        )

    def _in_turn(self, ports: tuple[int, int]) -> Iterator[int]:
        # Skip port 0: if a socket is bound to it, the operating system chooses a port.
        low, high = max(ports[0], 1), ports[1]
        first = self._next.get(ports, low)
        return chain(range(first, high + 1), range(low, first))


def _bound_to(options: DatagramOptions, port: int) -> DatagramOptions:
    return replace(options, bind=options.bind.with_port(port))

"""See `networks.pyx`."""

from aeron_core._native.address import SocketAddress

def network_of(source: SocketAddress) -> int: ...

"""See `interfaces.pyx`."""

from typing import NamedTuple

from aeron_core._native.address import SocketAddress

class Interface(NamedTuple):
    name: str
    address: SocketAddress
    prefix_length: int
    is_up: bool
    is_loopback: bool
    is_multicast: bool

def list_interfaces() -> list[Interface]: ...

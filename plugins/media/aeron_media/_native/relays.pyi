"""See `relays.pyx`."""

import socket
from collections.abc import Callable
from typing import final

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import ConnectionListener, DescriptorConnection

def hand_over(control: int, descriptor: int, peer: SocketAddress) -> bool: ...
def take_over(control: int) -> tuple[int, SocketAddress, int] | None: ...

@final
class RelaySocket(DescriptorConnection):
    def __init__(self, control: socket.socket) -> None: ...

@final
class RelayListener(ConnectionListener):
    def __init__(self, control: socket.socket, local: SocketAddress, close: Callable[[], None]) -> None: ...

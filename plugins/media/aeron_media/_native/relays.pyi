"""See `relays.pyx`."""

import socket
from collections.abc import Callable
from typing import final

from aeron_core._native.address import SocketAddress
from aeron_core._native.streams import DescriptorStream, StreamListener

def hand_over(control: int, descriptor: int, peer: SocketAddress) -> bool: ...
def take_over(control: int) -> tuple[int, SocketAddress, int] | None: ...

@final
class RelayedStream(DescriptorStream):
    def __init__(self, control: socket.socket) -> None: ...

@final
class RelayedListener(StreamListener):
    def __init__(self, control: socket.socket, local: SocketAddress, close: Callable[[], None]) -> None: ...

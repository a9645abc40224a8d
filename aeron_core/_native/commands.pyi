"""See `commands.pyx`."""

from collections.abc import Iterable
from typing import final

from aeron_core._native.address import SocketAddress

@final
class Command:
    @property
    def text(self) -> bytes: ...
    @property
    def code(self) -> int: ...
    @property
    def target(self) -> object: ...
    @property
    def subject(self) -> object: ...
    @property
    def numbers(self) -> tuple[int, ...]: ...
    @property
    def values(self) -> tuple[int, ...]: ...
    @property
    def source(self) -> SocketAddress: ...
    @property
    def control(self) -> SocketAddress: ...

@final
class CommandRing:
    def __init__(self, capacity: int = 1024) -> None: ...
    @property
    def size(self) -> int: ...
    def send(
        self,
        operation: int,
        target: object = None,
        subject: object = None,
        numbers: Iterable[int] = (),
        values: Iterable[int] = (),
        source: SocketAddress | None = None,
        control: SocketAddress | None = None,
    ) -> bool: ...
    def receive(self, into: Command) -> bool: ...

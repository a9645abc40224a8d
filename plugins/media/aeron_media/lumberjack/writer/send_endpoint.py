"""Send endpoint: each stream has its own connections to the readers.

Not here: the connections of a stream (`writer_stream`).
Invariant: until the sender has released the endpoint, it alone uses the connections; the conductor reads their counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core.spi.endpoints import Fault, SendChannelEndpoint, SendStream
from aeron_media.fault_slot import FaultSlot
from aeron_media.lumberjack._native import phases
from aeron_media.lumberjack.connection_counters import Snapshot
from aeron_media.lumberjack.writer.writer_stream import WriterStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from aeron_core._native.address import SocketAddress
    from aeron_core._native.connections import ByteConnection
    from aeron_media.connections.remote_host import RemoteHost
    from aeron_media.connections.tls.connections import TlsConnections
    from aeron_media.lumberjack.writer.writer_counters import WriterCounters
    from aeron_media.lumberjack.writer.writer_params import WriterParams

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION


class LumberjackSendEndpoint(SendChannelEndpoint):
    """Endpoint that sends to readers; runs on the sender except where its base classes document otherwise."""

    def __init__(
        self,
        writer: WriterParams,
        hosts: Sequence[RemoteHost],
        new_connections: Sequence[Callable[[], ByteConnection]],
        tls: Sequence[TlsConnections] = (),
    ) -> None:
        """Set the readers: `new_connections`, and `tls` if connections are encrypted, have one item for each host."""
        self._writer = writer
        self._hosts = hosts
        self._new_connections = new_connections
        self._ends: FaultSlot = writer.ends
        self._tls = tls
        self._counters: WriterCounters = writer.counters
        self._states: list[tuple[int, WriterStream]] = []
        self._next_state = 0

    def take_fault(self) -> Fault | None:
        """See `ChannelEndpoint.take_fault`."""
        # TLS first: the connection itself only reports that it is broken.
        for tls in self._tls:
            fault = tls.take_fault()
            if fault is not None:
                return fault
        return self._ends.take()

    def take_lost_names(self) -> list[str]:
        """See `ChannelEndpoint.take_lost_names`."""
        return [host.name for host in self._hosts if host.take_request()]

    def change_address(self, name: str, address: SocketAddress) -> bool:
        """See `ChannelEndpoint.change_address`."""
        has_changed = False
        for host in self._hosts:
            if host.name == name and host.change(address):
                has_changed = True
        return has_changed

    def close(self) -> None:
        """See `ChannelEndpoint.close`."""
        # A driver that ends closes its endpoints without removing their streams. Close the connections before the TLS
        # networks, whose threads still deliver the last bytes.
        for _, state in self._states:
            if not state.is_closed:
                cython.cast(WriterStream, state).close()
        for tls in self._tls:
            tls.close()
        # Without this, only the cycle collector could free the endpoint: the callbacks of the counters refer to it.
        self._counters.singly.close()

    def new_stream_state(self) -> WriterStream:
        """See `SendChannelEndpoint.new_stream_state`; `advance` connects, not this method."""
        state = WriterStream(
            self._writer, self._hosts, [new_connection() for new_connection in self._new_connections]
        )
        self._states.append((self._next_state, state))
        self._next_state += 1
        return state

    def update_counters(self) -> None:
        """See `ChannelEndpoint.update_counters`."""
        self._states = [each for each in self._states if not each[1].is_closed]
        self._counters.lag.set_release(sum(state.lag for _, state in self._states))
        if self._counters.tls is not None:
            self._counters.tls.update(self._tls)
        self._counters.singly.update(self._snapshots())

    def _snapshots(self) -> Iterator[Snapshot]:
        """Yield the counts of open connections; the sender updates them concurrently, each number on its own."""
        for number, state in self._states:
            for owner, each in enumerate(state.connections):
                key = (number, owner, each.number)
                if each.phase != phases.PHASE_UP:
                    continue
                acknowledged = each.acknowledged
                values = (
                    each.windows,
                    each.events,
                    each.bytes_sent,
                    each.acks,
                    each.keep_alives,
                    max(each.events - acknowledged, 0),
                )
                # Skip values that were read while the object began another connection.
                if each.phase == phases.PHASE_UP and key == (number, owner, each.number):
                    yield Snapshot(key, f"{each.host.name} stream={number}", values)

    def advance(self, stream: SendStream, position: int, now_ns: int) -> int:
        """See `SendChannelEndpoint.advance`."""
        state = cython.cast(cython.pointer(PyObject), stream.medium_state)
        answer: int = cython.cast(WriterStream, state).advance(stream.log, position, now_ns)
        return answer

    def has_peer(self, stream: SendStream) -> bool:
        """See `SendChannelEndpoint.has_peer`."""
        state = cython.cast(cython.pointer(PyObject), stream.medium_state)
        answer: bool = cython.cast(WriterStream, state).has_peer()
        return answer

    def remove_stream(self, stream: SendStream) -> int:
        """See `SendChannelEndpoint.remove_stream`."""
        state = cython.cast(cython.pointer(PyObject), stream.medium_state)
        answer: int = cython.cast(WriterStream, state).close()
        return answer

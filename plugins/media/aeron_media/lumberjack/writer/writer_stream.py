"""The connections of one stream, and the distribution of its windows over them.

Without `balance` one connection exists at a time: to the first reader, and to the next one whenever the connection is
lost, refused, or older than `ttl`. With it, each reader has a connection: each takes the next window when it can, and
the unacknowledged windows of a lost connection are sent over another. Windows of different connections are unordered.

Not here: the protocol of a connection (`writer_connection`), and the confirmed position (`window_ledger`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native.pointers import PointerList
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_media.lumberjack._native import bounds, phases
from aeron_media.lumberjack.writer.reconnect_backoff import ReconnectBackoff
from aeron_media.lumberjack.writer.window_ledger import WindowLedger
from aeron_media.lumberjack.writer.writer_connection import WriterConnection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aeron_core._native.connections import ByteConnection
    from aeron_media.connections.remote_host import RemoteHost
    from aeron_media.lumberjack.writer.writer_params import WriterParams


class WriterStream:
    """The connections of one stream; all but the constructor runs on the sender, `close` also on the conductor.

    `connections`: one unconnected connection for each host.
    """

    def __init__(
        self, params: WriterParams, hosts: Sequence[RemoteHost], connections: Sequence[ByteConnection]
    ) -> None:
        self._ledger = WindowLedger(len(hosts) * params.pipeline)
        self._is_balanced = params.balances
        shared = ReconnectBackoff(params.backoff_init_ns, params.backoff_max_ns, len(hosts))
        self.connections = [
            WriterConnection(
                params,
                host,
                connection,
                ReconnectBackoff(params.backoff_init_ns, params.backoff_max_ns)
                if self._is_balanced
                else shared,
                self._ledger,
                owner,
            )
            for owner, (host, connection) in enumerate(zip(hosts, connections, strict=True))
        ]
        self._pointers = PointerList()
        for connection in self.connections:
            self._pointers.append(cython.cast(cython.pointer(PyObject), connection))
        self.is_closed = False
        self.lag = 0
        self._current = 0
        self._turn = 0
        self._has_begun = False
        self._has_been_up = False
        self._up_ns = 0
        self._now_ns = 0

    def has_peer(self) -> bool:
        """Return whether a reader is connected, or was within the last 5 s (PEER_GRACE_NS)."""
        return self._has_been_up and self._now_ns - self._up_ns < bounds.PEER_GRACE_NS

    def advance(self, log: LogBuffer, position: int, now_ns: int) -> int:
        """See `SendChannelEndpoint.advance`."""
        self._now_ns = now_ns
        if not self._has_begun:
            self._has_begun = True
            self._ledger.begin(position)
        if self._is_balanced:
            for index in range(self._pointers.size):
                self._work(index, now_ns)
        else:
            self._work(self._current, now_ns)
            self._choose()
        self._fill(log)
        for index in range(self._pointers.size):
            cython.cast(WriterConnection, self._pointers.at(index)).flush()
        self.lag = max(log.producer_position() - self._ledger.confirmed, 0)
        return self._ledger.confirmed

    def close(self) -> int:
        """Close all connections; return 0. Unacknowledged events are not sent again.

        Runs on the conductor if the endpoint is closed before the sender has removed the stream.
        """
        for index in range(self._pointers.size):
            cython.cast(WriterConnection, self._pointers.at(index)).close()
        self.lag = 0
        self.is_closed = True
        return 0

    def _work(self, index: int, now_ns: int) -> int:
        cython.cast(WriterConnection, self._pointers.at(index)).work(now_ns)
        if cython.cast(WriterConnection, self._pointers.at(index)).phase == phases.PHASE_UP:
            self._has_been_up = True
            self._up_ns = now_ns
        return 0

    def _choose(self) -> int:
        """Switch to the next reader if the connection has ended; return 0."""
        if cython.cast(WriterConnection, self._pointers.at(self._current)).has_ended:
            cython.cast(WriterConnection, self._pointers.at(self._current)).has_ended = False
            self._current = (self._current + 1) % self._pointers.size
        return 0

    def _fill(self, log: LogBuffer) -> int:
        """Let the connections take windows in turn until none may send, no messages are left, or the ledger is full.

        Return 0.
        """
        idle = 0
        while idle < self._pointers.size and self._ledger.has_space():
            if cython.cast(WriterConnection, self._pointers.at(self._turn)).may_send() and cython.cast(
                WriterConnection, self._pointers.at(self._turn)
            ).build_window(log):
                idle = 0
            else:
                idle += 1
            self._turn = (self._turn + 1) % self._pointers.size
        return 0

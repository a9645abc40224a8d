"""Receive endpoint: each connection of a writer is a session, and feeds an image of each subscribed stream.

The number of connections is limited, in total and optionally for each source. If all are taken, one that has been idle
for the eviction timeout is evicted for a new one. Connections that never sent an event come first, and of several the
one that has been idle for the longest time. No event is lost: the writer resends unacknowledged events.

Not here: the protocol of a connection (`reader_connection`), and opening the listener (`transport`).
Invariant: all memory that a connection allocates while it is open (unparsed input, inflated bytes, the state of zlib)
is from one shared budget.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.pointers import PointerList, PointerMap
from aeron_core._native.readiness import ReadinessSet
from aeron_core.spi.endpoints import Fault, ReceiveChannelEndpoint
from aeron_media._native.source_counts import SourceCounts
from aeron_media.connections.feed_streams import FeedParams
from aeron_media.connections.image_feed import ImageFeed
from aeron_media.fault_slot import FaultSlot
from aeron_media.lumberjack._native import bounds, end_reasons, faults, phases
from aeron_media.lumberjack.connection_counters import Snapshot
from aeron_media.lumberjack.fault_texts import describe_fault
from aeron_media.lumberjack.reader.reader_connection import ReaderConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aeron_core._native.connections import ConnectionListener
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.protocol.frames.nak import Nak
    from aeron_core.protocol.frames.response_setup import ResponseSetup
    from aeron_core.protocol.frames.rttm import Rttm
    from aeron_core.protocol.frames.status_message import StatusMessage
    from aeron_core.spi.media import ReceiveEndpointParams
    from aeron_media.connections.tls.connections import TlsConnections
    from aeron_media.lumberjack.parameters import LumberjackParameters
    from aeron_media.lumberjack.reader.reader_params import ReaderParams

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

_PACKET_LENGTH = 1 << 17  # bytes of frames inserted into an image at once; at least the largest mtu


def _is_over_limit(reason: int) -> bool:
    return reason in (
        faults.EVENT_TOO_LONG,
        faults.FRAME_TOO_LONG,
        faults.TOO_MANY_PAIRS,
        faults.COMPRESSED_TOO_LONG,
        faults.INFLATED_TOO_LONG,
        faults.RATIO_TOO_HIGH,
        faults.NESTED_TOO_DEEP,
        faults.BUDGET_SPENT,
        end_reasons.TOO_LARGE,
    )


class LumberjackReceiveEndpoint(ReceiveChannelEndpoint):
    """Endpoint that listens on one address; runs on the receiver except where `ChannelEndpoint` documents otherwise."""

    def __init__(
        self,
        params: ReceiveEndpointParams,
        listener: ConnectionListener,
        keys: LumberjackParameters,
        reader: ReaderParams,
        tls: TlsConnections | None = None,
    ) -> None:
        if params.dispatcher is None:
            raise TypeError(
                "dispatcher=None: must be a ReceiveDispatcher: set `dispatcher` of ReceiveEndpointParams"
            )
        self.receiver_id = params.receiver_id
        self._listener = listener
        self._counters = reader.counters
        self._budget = reader.budget
        self._ends = FaultSlot(describe_fault)
        self._tls = tls
        self._bytes_received = params.counters["bytes_received"]
        feed_params = FeedParams(
            packet=AtomicBuffer.allocate(_PACKET_LENGTH),
            term_length=keys.term_length,
            mtu=keys.image_mtu,
            window_length=keys.receiver_window or 0,
        )
        # One more than may be active: a connection accepted beyond the maximum is closed, or another evicted for it.
        self._slots = [
            ReaderConnection(
                reader, listener.new_connection(), ImageFeed(self, params.dispatcher, feed_params)
            )
            for _ in range(keys.max_connections + 1)
        ]
        self._max_connections = keys.max_connections
        self._sources = SourceCounts(reader.max_per_source)
        self._eviction_timeout_ns = reader.eviction_timeout_ns
        self._next_search_ns = 0
        self._unused = PointerList()
        self._active = PointerList()
        for slot in self._slots:
            self._unused.append(cython.cast(cython.pointer(PyObject), slot))
        self._sessions = PointerMap()
        self._readiness = ReadinessSet()
        descriptor = self._listener.descriptor()
        self._is_listener_watched = descriptor != wire.NO_DESCRIPTOR and self._readiness.add(
            descriptor, cython.NULL
        )
        self._peer = SocketAddress()
        self._next_session_id = random.getrandbits(31)
        self._next = 0

    def local_addresses(self) -> list[str]:
        """See `ChannelEndpoint.local_addresses`."""
        return [str(self._listener.local_address())]

    def take_fault(self) -> Fault | None:
        """See `ChannelEndpoint.take_fault`."""
        return (self._tls.take_fault() if self._tls else None) or self._ends.take()

    def update_counters(self) -> None:
        """See `ChannelEndpoint.update_counters`."""
        if self._tls is not None and self._counters.tls is not None:
            self._counters.tls.update([self._tls])
        self._counters.singly.update(self._snapshots())

    def _snapshots(self) -> Iterator[Snapshot]:
        """Yield the counts of connections that are FED or ENDING; the receiver updates each number concurrently."""
        left = self._counters.connections.get_acquire()
        # New connections usually take slots from the end of the list: begin there, and stop after as many as are open.
        for each in reversed(self._slots):
            if left <= 0:
                return
            phase, session_id = each.phase, each.session_id
            left -= phase != phases.PHASE_FREE
            if phase not in (phases.PHASE_FED, phases.PHASE_ENDING):
                continue
            acknowledged = each.acknowledged
            values = (
                each.windows,
                each.events,
                each.bytes_received,
                each.bytes_inflated,
                each.acks,
                each.keep_alives,
                max(each.events - acknowledged, 0),
            )
            label = f"{each.peer} session={session_id}"
            # Skip the slot if it was reused for another connection while it was read.
            if each.phase in (phases.PHASE_FED, phases.PHASE_ENDING) and each.session_id == session_id:
                yield Snapshot(session_id, label, values)

    def close(self) -> None:
        """See `ChannelEndpoint.close`; writers resend unacknowledged events to their next reader."""
        # Close the connections first: those with TLS can be aborted only while the listener is open.
        for slot in self._slots:
            cython.cast(ReaderConnection, slot).connection.close(True)
        self._listener.close()
        # Release what refers to the endpoint: otherwise only the cycle collector would free it, and with it the memory
        # of a driver that has ended.
        self._readiness.close()
        self._counters.singly.close()
        for slot in self._slots:
            slot.unbind()

    def poll(self, now_ns: int) -> int:
        """See `ReceiveChannelEndpoint.poll`."""
        self._now_ns = now_ns
        has_callers = not self._is_listener_watched
        for index in range(self._readiness.wait()):
            if self._readiness.at(index) == cython.NULL:
                has_callers = True
            else:
                cython.cast(ReaderConnection, self._readiness.at(index)).is_readable = True
        if has_callers:
            self._accept(now_ns)
        received = 0
        # If a connection raises, the next call serves only those after it, and `lag` lacks the others for that call.
        lag = 0
        while self._next < self._active.size:
            index = self._next
            self._next += 1
            received += cython.cast(ReaderConnection, self._active.at(index)).work(now_ns)
            lag += cython.cast(ReaderConnection, self._active.at(index)).lag()
            if cython.cast(ReaderConnection, self._active.at(index)).phase == phases.PHASE_FREE:
                self._next = index
                self._release(cython.cast(ReaderConnection, self._active.at(index)))
        self._next = 0
        self._counters.lag.set_release(lag)
        self._counters.memory.set_release(self._budget.used)
        if received > 0:
            self._bytes_received.get_and_add(received)
        return received

    def _accept(self, now_ns: int) -> int:
        for _ in range(bounds.ACCEPTS_PER_TURN):
            slot = self._unused.at(self._unused.size - 1)
            accepted = self._listener.accept(
                cython.cast(ReaderConnection, slot).connection, cython.cast(ReaderConnection, slot).peer
            )
            if accepted != 1:
                break
            if not self._sources.has_space(cython.cast(ReaderConnection, slot).peer):
                self._refuse(
                    cython.cast(ReaderConnection, slot), end_reasons.TOO_MANY_OF_SOURCE, self._sources.limit
                )
            elif self._active.size < self._max_connections or self._evict(now_ns):
                self._begin(cython.cast(ReaderConnection, slot), now_ns)
            else:
                self._refuse(cython.cast(ReaderConnection, slot), end_reasons.TOO_MANY, self._max_connections)
        return self._report_listener()

    def _evict(self, now_ns: int) -> bool:
        """Evict an idle connection, chosen as in the module docstring; return whether one was evicted."""
        # A search examines all connections: after a search that found none, new connections must not start another one
        # at once. If `_next` is not 0, `poll` continues a turn that an exception interrupted: it would skip a
        # connection if the release of an earlier one moved all later ones forward.
        if now_ns < self._next_search_ns or self._next != 0:
            return False
        best = -1
        best_ns = self._eviction_timeout_ns
        is_best_new = False
        for index in range(self._active.size):
            idle_ns = cython.cast(ReaderConnection, self._active.at(index)).idle_ns(now_ns)
            is_new = cython.cast(ReaderConnection, self._active.at(index)).events == 0
            if idle_ns < self._eviction_timeout_ns or (is_best_new and not is_new):
                continue
            if (is_new and not is_best_new) or idle_ns > best_ns:
                best = index
                best_ns = idle_ns
                is_best_new = is_new
        if best < 0:
            self._next_search_ns = now_ns + bounds.SEARCH_INTERVAL_NS
            return False
        # A flood of new connections must not evict all idle ones at once: each may get an event meanwhile.
        self._next_search_ns = now_ns + bounds.EVICTION_INTERVAL_NS
        self._end_idle(cython.cast(ReaderConnection, self._active.at(best)), now_ns)
        return True

    def _end_idle(self, slot: ReaderConnection, now_ns: int) -> int:
        slot.end_limit = self._max_connections
        slot.abandon(end_reasons.EVICTED, now_ns)
        return self._release(slot)

    def _refuse(self, slot: ReaderConnection, reason: int, limit: int) -> int:
        """Close a connection that was accepted beyond a limit of connections, and keep a fault; return 0."""
        slot.connection.close(True)
        self._counters.turned_away.increment_release()
        self._ends.keep(reason, limit + 1, limit, 0, slot.peer)
        return 0

    def _report_listener(self) -> int:
        if self._listener.error_code != 0:
            self._peer.clear()
            self._ends.keep(0, 0, 0, self._listener.error_code, self._peer)
            self._listener.error_code = 0
        return 0

    def _begin(self, slot: ReaderConnection, now_ns: int) -> int:
        pointer = cython.cast(cython.pointer(PyObject), slot)
        self._unused.remove(pointer)
        self._active.append(pointer)
        self._sources.add(slot.peer)
        while self._sessions.get(self._next_session_id) != cython.NULL:
            self._next_session_id += 1
        slot.begin(self._next_session_id, now_ns)
        self._sessions.put(self._next_session_id, pointer)
        # Wraps from the largest to the smallest session id.
        self._next_session_id += 1
        descriptor = slot.connection.descriptor()
        slot.is_watched = descriptor != wire.NO_DESCRIPTOR and self._readiness.add(descriptor, pointer)
        self._counters.accepted.increment_release()
        self._counters.connections.set_release(self._active.size)
        return 0

    def _release(self, slot: ReaderConnection) -> int:
        pointer = cython.cast(cython.pointer(PyObject), slot)
        self._count_end(slot)
        self._sessions.remove(slot.session_id)
        self._active.remove(pointer)
        self._sources.remove(slot.peer)
        self._unused.append(pointer)
        self._counters.connections.set_release(self._active.size)
        return 0

    def _count_end(self, slot: ReaderConnection) -> int:
        reason = slot.end_reason
        if reason == 0:
            if slot.connection.error_code != 0:
                self._counters.broken.increment_release()
            return 0
        if reason in (end_reasons.IDLE, end_reasons.UNFINISHED, end_reasons.NOT_READ):
            self._counters.overdue.increment_release()
        elif reason == end_reasons.EVICTED:
            self._counters.evicted.increment_release()
        elif reason in (end_reasons.NO_IMAGE, end_reasons.ABANDONED, end_reasons.REJECTED):
            self._counters.abandoned.increment_release()
        elif _is_over_limit(reason):
            self._counters.over_limit.increment_release()
        else:
            self._counters.malformed.increment_release()
        if reason != end_reasons.IDLE:
            self._ends.keep(reason, slot.end_value, slot.end_limit, 0, slot.peer)
        return 0

    def send_status_message(self, sm: StatusMessage, control: SocketAddress) -> int:
        """Pass a status message to the feed of its session instead of sending it; return its length in bytes.

        Return 0 if the session has no connection.
        """
        found = self._sessions.get(sm.session_id)
        if found == cython.NULL:
            return 0
        cython.cast(ReaderConnection, found).feed.on_status_message(sm, self._now_ns)
        return wire.SM_HEADER_LENGTH

    def send_error(self, error: ErrorFrame, control: SocketAddress) -> int:
        """Close the connection of a rejected session instead of sending an error; return the length of its header.

        Return 0 if the session has no connection.
        """
        found = self._sessions.get(error.session_id)
        if found == cython.NULL or cython.cast(ReaderConnection, found).phase == phases.PHASE_FREE:
            return 0
        cython.cast(ReaderConnection, found).abandon(end_reasons.REJECTED, self._now_ns)
        return wire.ERR_HEADER_LENGTH

    def send_nak(self, nak: Nak, control: SocketAddress) -> int:
        """Return 0 and send nothing: TCP is reliable."""
        return 0

    def send_rttm(self, rttm: Rttm, control: SocketAddress) -> int:
        """Return 0 and send nothing: the protocol has no round-trip measurement."""
        return 0

    def send_response_setup(self, setup: ResponseSetup, control: SocketAddress) -> int:
        """Return 0 and send nothing: a writer accepts acknowledgements only."""
        return 0

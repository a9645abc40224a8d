"""Connections of one PAIR socket: accepts or makes them, reads and closes them, and admits peers.

A monogamous socket refuses other peers while it has one.

Not here: the phases of one connection (`peer`), and sending to admitted peers (`message_router`).
Invariant: connections and feeds are changed under the lock. It is not taken by `on_status_message` and `reject`, which
only the receiver calls, nor by `close_listener` and `close`, which are called when no agent uses the socket any more.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire as aeron_wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.connections import PEER_VANISHED, end_if_vanished
from aeron_core._native.readiness import ReadinessSet
from aeron_media._native.source_counts import SourceCounts
from aeron_media._native.spin_lock import SpinLock
from aeron_media.sp._native import bounds, phases, reasons, tallies
from aeron_media.sp.dialer import Dialer
from aeron_media.sp.peer import Peer

if TYPE_CHECKING:
    from aeron_core._native.connections import ByteConnection, ConnectionListener
    from aeron_core.protocol.frames.status_message import StatusMessage
    from aeron_media.connections.image_feed import ImageFeed
    from aeron_media.connections.remote_host import RemoteHost
    from aeron_media.sp.message_router import MessageRouter
    from aeron_media.sp.pair_params import PairParams
    from aeron_media.sp.peer_slots import PeerSlots


class PeerConnections:
    """Connections of one socket: accepted with a listener, made to `host` without one; see the module.

    `surplus` accepts connections beyond the limit, which are closed at once.
    """

    _listener: ConnectionListener

    def __init__(  # noqa: PLR0913 - connects these objects
        self,
        params: PairParams,
        slots: PeerSlots,
        router: MessageRouter,
        surplus: ByteConnection,
        listener: ConnectionListener | None,
        host: RemoteHost,
    ) -> None:
        self._tallies = params.tallies
        self._budget = params.budget
        self._faults = params.faults
        self._is_polyamorous = params.is_polyamorous
        self._slots = slots
        self._unused = self._slots.unused
        self._active = self._slots.active
        self._up = self._slots.up
        self._sessions = self._slots.sessions
        self._router = router
        if listener is not None:
            self._listener = listener
        self._is_local = host.address.family == socket.AF_UNIX
        self._sources = SourceCounts(params.max_per_source)
        self._listens = listener is not None
        self._host = host
        self._dialer = Dialer(params)
        self._dialed = cython.NULL
        self._surplus = surplus
        self._address = SocketAddress()
        self._lock = SpinLock()
        self._receivers = AtomicLong(0)
        self._readiness = ReadinessSet()
        descriptor = self._listener.descriptor() if listener is not None else aeron_wire.NO_DESCRIPTOR
        self._is_listener_watched = descriptor != aeron_wire.NO_DESCRIPTOR and self._readiness.add(
            descriptor, cython.NULL
        )
        self._next = 0
        self._feeds_number = 0
        # By slot: since when the peer has not answered, see `end_vanished`.
        self._since_ms = [0] * len(slots.peers)

    # Called by the conductor

    def attach(self, feeds: list[ImageFeed], now_ns: int) -> int:
        """Deliver messages to images, with one feed per slot; from now on the receiver works on the connections.

        Return a number for `detach`, which identifies these feeds: the next endpoint may attach before the last one
        detaches.
        """
        self._lock.take()
        try:
            for peer, feed in zip(self._slots.peers, feeds, strict=True):
                peer.attach(feed, now_ns)
            self._receivers.set_release(1)
            self._feeds_number += 1
            return self._feeds_number
        finally:
            self._lock.give()

    def detach(self, number: int) -> None:
        """Stop delivering messages, and let the sender work on the connections.

        No effect if another endpoint has attached since `attach` returned `number`.
        """
        self._lock.take()
        try:
            if number != self._feeds_number:
                return
            for peer in self._slots.peers:
                peer.detach()
            self._receivers.set_release(0)
        finally:
            self._lock.give()

    def local_addresses(self) -> list[str]:
        """Return the address at which the socket listens; an empty list if it connects."""
        return [str(self._listener.local_address())] if self._listens else []

    def take_lost_names(self) -> list[str]:
        """Return the name of the peer if the socket connects to it and has lost it since the last call, else nothing.

        The name is host:port; a Unix socket has none.
        """
        return (
            [self._host.name]
            if not self._listens and not self._is_local and self._host.take_request()
            else []
        )

    def change_address(self, address: SocketAddress) -> bool:
        """Use `address` for the next connection; return whether it is accepted, see `RemoteHost.change`."""
        return self._host.change(address)

    def close_listener(self) -> None:
        """Close the listener, if there is one. Call only when no agent uses the socket any more."""
        if self._listens:
            self._listener.close()

    def close(self) -> None:
        """Close the epoll set of the connections, after they are closed."""
        self._readiness.close()

    def end_vanished(self, timeout_ms: int) -> None:
        """End connections to peers that have vanished, see `end_if_vanished`; call it at regular intervals."""
        self._lock.take()
        try:
            for slot, peer in enumerate(self._slots.peers):
                descriptor = cython.cast(Peer, peer).connection.descriptor()
                if descriptor == aeron_wire.NO_DESCRIPTOR:
                    self._since_ms[slot] = 0
                    continue
                # If the connection of the slot is another one than at the last call, something has arrived since then.
                since_ms = end_if_vanished(descriptor, timeout_ms, self._since_ms[slot])
                if since_ms == PEER_VANISHED:
                    self._faults.keep(reasons.VANISHED, 0, 0, 0, cython.cast(Peer, peer).address)
                    since_ms = 0
                self._since_ms[slot] = since_ms
        finally:
            self._lock.give()

    # Called by the receiver, or by the sender without subscriptions

    def work(self, now_ns: int) -> int:
        """Accept, connect, read and close; return the number of bytes read, 0 while the lock is taken.

        Runs on the receiver.
        """
        if not self._lock.try_take():
            return 0
        try:
            return self._work(now_ns)
        finally:
            self._lock.give()

    def work_without_receiver(self, now_ns: int) -> int:
        """Do the work of `work` on the sender while there are no subscriptions; return the number of bytes read.

        Does nothing and returns 0 if there are subscriptions, or while the lock is taken.
        """
        if self._receivers.get_acquire() != 0 or not self._lock.try_take():
            return 0
        try:
            # A receiver may have attached before the lock was taken.
            return self._work(now_ns) if self._receivers.get_acquire() == 0 else 0
        finally:
            self._lock.give()

    def _work(self, now_ns: int) -> int:
        has_callers = self._listens and not self._is_listener_watched
        for index in range(self._readiness.wait()):
            if self._readiness.at(index) == cython.NULL:
                has_callers = True
            else:
                cython.cast(Peer, self._readiness.at(index)).input.is_readable = True
        if has_callers:
            self._accept(now_ns)
        if not self._listens and self._dialed == cython.NULL and self._dialer.is_due(now_ns):
            self._dial(now_ns)
        received = 0
        while self._next < self._active.size:
            index = self._next
            self._next += 1
            received += cython.cast(Peer, self._active.at(index)).work(now_ns)
            if self._follow(cython.cast(Peer, self._active.at(index)), now_ns):
                self._next = index
        self._next = 0
        self._router.flush_queues(now_ns)
        self._tallies.put(tallies.MEMORY, self._budget.used)
        return received

    def _accept(self, now_ns: int) -> int:
        for _ in range(bounds.ACCEPTS_PER_TURN):
            if self._unused.size == 0:
                self._evict(now_ns)
            if self._unused.size == 0:
                if self._listener.accept(self._surplus, self._address) != 1:
                    break
                self._turn_away(self._surplus, reasons.TOO_MANY, self._active.size, self._address)
                self._evict_silent(now_ns)
                continue
            slot = self._unused.at(self._unused.size - 1)
            if (
                self._listener.accept(cython.cast(Peer, slot).connection, cython.cast(Peer, slot).address)
                != 1
            ):
                break
            if not self._sources.has_space(cython.cast(Peer, slot).address):
                self._turn_away(
                    cython.cast(Peer, slot).connection,
                    reasons.TOO_MANY_OF_SOURCE,
                    self._sources.limit,
                    cython.cast(Peer, slot).address,
                )
                continue
            if self._is_local:
                # A connecting Unix socket usually has no path of its own: show that of the listener.
                cython.cast(Peer, slot).address.assign(self._host.address)
            self._sources.add(cython.cast(Peer, slot).address)
            self._tallies.add(tallies.ACCEPTED, 1)
            self._slots.begin(cython.cast(Peer, slot), False, now_ns)
            self._watch(cython.cast(Peer, slot))
        return self._report_listener()

    def _turn_away(self, connection: ByteConnection, reason: int, limit: int, address: SocketAddress) -> int:
        """Close a connection that exceeds a limit of connections, and keep a fault; return 0."""
        connection.close(False)
        self._tallies.add(tallies.TURNED_AWAY, 1)
        self._faults.keep(reason, limit + 1, limit, 0, address)
        return 0

    def _evict(self, now_ns: int) -> int:
        """Free the slot of a disconnected peer with messages that have waited for images too long; return 0."""
        for index in range(self._active.size):
            if cython.cast(Peer, self._active.at(index)).is_stale(now_ns):
                cython.cast(Peer, self._active.at(index)).evict(now_ns)
                self._follow(cython.cast(Peer, self._active.at(index)), now_ns)
                break
        return 0

    def _evict_silent(self, now_ns: int) -> int:
        """Free the slot of a silent connection for the next attempt of a peer that was turned away; return 0."""
        # Connections are in the order in which they were made: the first one has been silent for the longest time.
        for index in range(self._active.size):
            if cython.cast(Peer, self._active.at(index)).is_silent(now_ns):
                cython.cast(Peer, self._active.at(index)).fail(
                    reasons.EVICTED_SILENT, 0, self._active.size, now_ns
                )
                self._follow(cython.cast(Peer, self._active.at(index)), now_ns)
                break
        return 0

    def _report_listener(self) -> int:
        if self._listener.error_code != 0:
            self._address.clear()
            self._faults.keep(reasons.NO_REASON, 0, 0, self._listener.error_code, self._address)
            self._listener.error_code = 0
        return 0

    def _dial(self, now_ns: int) -> int:
        if self._unused.size == 0:
            self._evict(now_ns)
        if self._unused.size == 0:
            return 0
        slot = self._unused.at(self._unused.size - 1)
        self._dialer.on_dialed()
        self._tallies.add(tallies.ATTEMPTS, 1)
        self._host.refresh()
        cython.cast(Peer, slot).address.assign(self._host.address)
        self._dialed = slot
        self._slots.begin(cython.cast(Peer, slot), True, now_ns)
        if cython.cast(Peer, slot).connection.connect(self._host.address) < 0:
            cython.cast(Peer, slot).fail(reasons.NO_REASON, 0, 0, now_ns)
        return 0

    def _watch(self, peer: Peer) -> int:
        descriptor = peer.connection.descriptor()
        peer.input.is_watched = descriptor != aeron_wire.NO_DESCRIPTOR and self._readiness.add(
            descriptor, cython.cast(cython.pointer(PyObject), peer)
        )
        return 0

    def _follow(self, peer: Peer, now_ns: int) -> bool:
        """Admit, refuse, watch or release a peer as its phase requires; return whether its slot is free again."""
        if peer.phase == phases.PHASE_GREETED:
            if self._is_polyamorous or self._up.size == 0:
                self._router.admit(peer, now_ns)
            else:
                self._tallies.add(tallies.REFUSED, 1)
                peer.refuse(now_ns)
        if peer.phase == phases.PHASE_UP:
            if peer.is_dialed and (peer.input.has_received or peer.lived_ns(now_ns) >= bounds.REFUSAL_NS):
                self._dialer.on_good()
            return False
        if peer.phase < phases.PHASE_UP:
            if peer.is_dialed and peer.phase == phases.PHASE_GREETING and not peer.input.is_watched:
                self._watch(peer)
            return False
        if peer.is_among_peers:
            self._leave(peer)
        if self._dialed == cython.cast(cython.pointer(PyObject), peer):
            self._dialed = cython.NULL
            self._dialer.on_lost(now_ns)
            self._host.request_address()
        if peer.phase == phases.PHASE_ENDED:
            self._count_end(peer)
            if not peer.is_dialed:
                self._sources.remove(peer.address)
            self._slots.release(peer)
            return True
        return False

    def _leave(self, peer: Peer) -> int:
        unsent = self._router.remove(peer)
        self._tallies.add(tallies.LOST, 1)
        if unsent > 0:
            self._faults.keep(reasons.UNSENT, unsent, 0, 0, peer.address)
        return 0

    def _count_end(self, peer: Peer) -> int:
        reason = peer.end_reason
        if reason == reasons.NO_REASON:
            # A listening end does not report how peers disconnect; a connecting end reports why its connection failed.
            if peer.is_dialed and peer.connection.error_code != 0:
                self._faults.keep(reason, 0, 0, peer.connection.error_code, peer.address)
            return 0
        if reason == reasons.OTHER_PROTOCOL:
            self._tallies.add(tallies.MISMATCHED, 1)
        elif reason in (reasons.NOT_SP, reasons.NO_MESSAGE):
            self._tallies.add(tallies.MALFORMED, 1)
        elif reason in (reasons.SILENT, reasons.NOT_CONNECTED, reasons.UNFINISHED, reasons.EVICTED_SILENT):
            self._tallies.add(tallies.SILENT, 1)
        elif reason == reasons.REFUSED_BY_PEER:
            self._tallies.add(tallies.REFUSALS, 1)
        self._faults.keep(reason, peer.end_value, peer.end_limit, 0, peer.address)
        return 0

    def on_status_message(self, sm: StatusMessage, number: int, now_ns: int) -> int:
        """Update the limit of an image; return whether its peer exists and uses the feeds of `number`.

        Runs on the receiver.
        """
        found = self._sessions.get(sm.session_id)
        if number != self._feeds_number or found == cython.NULL or not cython.cast(Peer, found).input.is_fed:
            return 0
        cython.cast(Peer, found).input.feed.on_status_message(sm, now_ns)
        return 1

    def reject(self, session_id: int) -> int:
        """Mark the connection of a session that a subscriber rejected, for `work` to end it; return whether it exists.

        Runs on the receiver.
        """
        found = self._sessions.get(session_id)
        if found == cython.NULL:
            return 0
        cython.cast(Peer, found).is_rejected = True
        return 1

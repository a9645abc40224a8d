"""PAIR socket: its peers, their admission, and the routing of messages.

Publications and subscriptions of one channel share a socket. Two agents work on it, each under its own lock. The
keeping side makes, reads and closes connections: this is the receiver if there are subscriptions, otherwise the sender.
The sending side is always the sender. The set of admitted peers is changed under both locks.

A monogamous socket refuses other peers while it has one. On a polyamorous socket, a message goes to the peer whose
session id it names, and to no other; without a session id it goes to the oldest peer.

Not here: the work on one connection (`peer`, `input`, `output`).
"""

from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import peers
from aeron_core._native import wire as aeron_wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.cell import AtomicLong
from aeron_core._native.peers import PeerCounter
from aeron_core._native.pointers import PointerList, PointerMap
from aeron_core._native.readiness import ReadinessSet
from aeron_core.spi.stream_counter import detached_peer_counter
from aeron_media._native.spin_lock import SpinLock
from aeron_media.connections.log_message import LogMessage
from aeron_media.sp._native import phases, tallies
from aeron_media.sp.dialer import Dialer
from aeron_media.sp.pair_publication import PairPublication
from aeron_media.sp.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.connections import ByteConnection, ConnectionListener
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_core.protocol.frames.status_message import StatusMessage
    from aeron_core.spi.endpoints import Fault
    from aeron_media.connections.image_feed import ImageFeed
    from aeron_media.sp.pair_params import PairParams


class PairSocket:
    """One PAIR socket; see the module. With a listener it accepts peers, without one it connects to `remote`."""

    _listener: ConnectionListener

    def __init__(
        self,
        params: PairParams,
        slot_count: int,
        new_connection: Callable[[], ByteConnection],
        listener: ConnectionListener | None,
        remote: SocketAddress,
    ) -> None:
        self.params = params
        self.tallies = params.tallies
        self._budget = params.budget
        self._faults = params.faults
        self._losses = params.losses
        self._is_polyamorous = params.is_polyamorous
        if listener is not None:
            self._listener = listener
        self._is_local = remote.family == socket.AF_UNIX
        self._listens = listener is not None
        self._remote = remote
        self._dialer = Dialer(params)
        self._dialed = cython.NULL
        self.peers = [Peer(params, new_connection()) for _ in range(slot_count)]
        self._first = cython.cast(cython.pointer(PyObject), self.peers[0])
        self._unused = PointerList()
        self._active = PointerList()
        self._up = PointerList()
        for peer in reversed(self.peers):
            self._unused.append(cython.cast(cython.pointer(PyObject), peer))
        self._sessions = PointerMap()
        self._next_session_id = random.getrandbits(31)
        self._surplus = new_connection()
        self._address = SocketAddress()
        self._message = LogMessage()
        self._keeping = SpinLock()
        self._sending = SpinLock()
        self._receivers = AtomicLong(0)
        self._has_peer = AtomicLong(0)
        self._has_publisher = AtomicLong(0)
        self._readiness = ReadinessSet()
        descriptor = self._listener.descriptor() if listener is not None else aeron_wire.NO_DESCRIPTOR
        self._is_listener_watched = descriptor != aeron_wire.NO_DESCRIPTOR and self._readiness.add(
            descriptor, cython.NULL
        )
        self._next = 0
        self._feeds_number = 0
        self._rooms_number = 0

    # Conductor

    def attach_receiver(self, feeds: list[ImageFeed], now_ns: int) -> int:
        """Deliver messages to images, with one feed per slot; from now on the receiver keeps connections.

        Return a number that identifies these feeds: another endpoint may attach before this one is closed.
        """
        self._keeping.take()
        try:
            for peer, feed in zip(self.peers, feeds, strict=True):
                peer.attach(feed, now_ns)
            self._receivers.set_release(1)
            self._feeds_number += 1
            return self._feeds_number
        finally:
            self._keeping.give()

    def detach_receiver(self, number: int) -> None:
        """Stop delivering messages, unless another endpoint has attached since."""
        self._keeping.take()
        try:
            if number != self._feeds_number:
                return
            for peer in self.peers:
                peer.detach()
            self._receivers.set_release(0)
        finally:
            self._keeping.give()

    def attach_publisher(self, counters: list[PeerCounter]) -> int:
        """Publish the peers in `counters`, which clients read; return a number like `attach_receiver`."""
        self._has_publisher.set_release(1)
        self.show_rooms(counters)
        self._rooms_number += 1
        return self._rooms_number

    def detach_publisher(self, number: int) -> None:
        """Release those counters; queued messages are still sent while the socket exists."""
        if number != self._rooms_number:
            return
        self.show_rooms([detached_peer_counter("sp-room") for _ in self.peers])
        self._has_publisher.set_release(0)

    def show_rooms(self, counters: list[PeerCounter]) -> None:
        """Publish each peer, and the longest message that it accepts, in the counter of its slot.

        A monogamous socket may use one counter for all slots.
        """
        self._sending.take()
        try:
            for peer, counter in zip(self.peers, counters, strict=True):
                cython.cast(Peer, peer).room = counter
                if cython.cast(Peer, peer).is_among_peers:
                    self._introduce(cython.cast(Peer, peer))
        finally:
            self._sending.give()

    def local_addresses(self) -> list[str]:
        """Return the address at which the socket listens, if it does."""
        return [str(self._listener.local_address())] if self._listens else []

    def take_fault(self) -> Fault | None:
        """Remove and return the last fault of a connection; None if there is none."""
        return self._faults.take()

    def take_loss(self) -> Fault | None:
        """Remove and return the last fault of a message that was not sent; None if there is none."""
        return self._losses.take()

    def close(self) -> None:
        """Close all connections. Call only when no agent uses the socket any more."""
        if self._listens:
            self._listener.close()
        for peer in self.peers:
            if cython.cast(Peer, peer).is_among_peers:
                self._finish(cython.cast(Peer, peer))
            cython.cast(Peer, peer).close()
        self._readiness.close()

    def _finish(self, peer: Peer) -> int:
        peer.output.flush()
        unsent = peer.output.end()
        if unsent > 0:
            self._losses.keep(phases.CLOSED_WITH, unsent, 0, 0, peer.address)
        return 0

    # Keeping side

    def keep(self, now_ns: int) -> int:
        """Accept, connect, read and close; return the bytes read. Runs on the receiver."""
        if not self._keeping.try_take():
            return 0
        try:
            return self._keep(now_ns)
        finally:
            self._keeping.give()

    def keep_without_receiver(self, now_ns: int) -> int:
        """Run `keep` on the sender, while there are no subscriptions."""
        if self._receivers.get_acquire() != 0 or not self._keeping.try_take():
            return 0
        try:
            # A receiver may have attached before the lock was taken.
            return self._keep(now_ns) if self._receivers.get_acquire() == 0 else 0
        finally:
            self._keeping.give()

    def _keep(self, now_ns: int) -> int:
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
        if self._has_publisher.get_acquire() == 0:
            self._flush_queues(now_ns)
        self.tallies.put(tallies.MEMORY, self._budget.used)
        return received

    def _flush_queues(self, now_ns: int) -> int:
        """Send queued messages after the last publication was closed, when the sender is not called; return 0."""
        if self._sending.try_take():
            for index in range(self._up.size):
                self._flush(cython.cast(Peer, self._up.at(index)), now_ns)
            self._sending.give()
        return 0

    def _accept(self, now_ns: int) -> int:
        for _ in range(phases.ACCEPTS_PER_TURN):
            if self._unused.size == 0:
                self._evict(now_ns)
            if self._unused.size == 0:
                if self._listener.accept(self._surplus, self._address) != 1:
                    break
                self._surplus.close(False)
                self.tallies.add(tallies.TURNED_AWAY, 1)
                self._faults.keep(phases.TOO_MANY, self._active.size + 1, self._active.size, 0, self._address)
                continue
            slot = self._unused.at(self._unused.size - 1)
            if (
                self._listener.accept(cython.cast(Peer, slot).connection, cython.cast(Peer, slot).address)
                != 1
            ):
                break
            if self._is_local:
                # A connecting Unix socket usually has no path of its own: show that of the listener.
                cython.cast(Peer, slot).address.assign(self._remote)
            self.tallies.add(tallies.ACCEPTED, 1)
            self._begin(cython.cast(Peer, slot), False, now_ns)
            self._watch(cython.cast(Peer, slot))
        return self._report_listener()

    def _evict(self, now_ns: int) -> int:
        """Free the slot of a disconnected peer whose messages are not consumed; return 0."""
        for index in range(self._active.size):
            if cython.cast(Peer, self._active.at(index)).is_stale(now_ns):
                cython.cast(Peer, self._active.at(index)).evict(now_ns)
                self._follow(cython.cast(Peer, self._active.at(index)), now_ns)
                break
        return 0

    def _report_listener(self) -> int:
        if self._listener.error_code != 0:
            self._address.clear()
            self._faults.keep(phases.NO_REASON, 0, 0, self._listener.error_code, self._address)
            self._listener.error_code = 0
        return 0

    def _dial(self, now_ns: int) -> int:
        if self._unused.size == 0:
            self._evict(now_ns)
        if self._unused.size == 0:
            return 0
        slot = self._unused.at(self._unused.size - 1)
        self._dialer.on_dialed()
        self.tallies.add(tallies.ATTEMPTS, 1)
        cython.cast(Peer, slot).address.assign(self._remote)
        self._dialed = slot
        self._begin(cython.cast(Peer, slot), True, now_ns)
        if cython.cast(Peer, slot).connection.connect(self._remote) < 0:
            cython.cast(Peer, slot).fail(phases.NO_REASON, 0, 0, now_ns)
        return 0

    def _begin(self, peer: Peer, is_dialed: bool, now_ns: int) -> int:
        pointer = cython.cast(cython.pointer(PyObject), peer)
        self._unused.remove(pointer)
        self._active.append(pointer)
        while self._sessions.get(self._next_session_id) != cython.NULL:
            self._next_session_id += 1
        peer.begin(self._next_session_id, is_dialed, now_ns)
        self._sessions.put(self._next_session_id, pointer)
        # Wraps around from the largest to the smallest int32.
        self._next_session_id += 1
        return 0

    def _watch(self, peer: Peer) -> int:
        descriptor = peer.connection.descriptor()
        peer.input.is_watched = descriptor != aeron_wire.NO_DESCRIPTOR and self._readiness.add(
            descriptor, cython.cast(cython.pointer(PyObject), peer)
        )
        return 0

    def _follow(self, peer: Peer, now_ns: int) -> bool:
        """React to the phase of a peer; return whether its slot is free again."""
        if peer.phase == phases.PHASE_GREETED:
            if self._is_polyamorous or self._up.size == 0:
                self._admit(peer, now_ns)
            else:
                self.tallies.add(tallies.REFUSED, 1)
                peer.refuse(now_ns)
        if peer.phase == phases.PHASE_UP:
            if peer.is_dialed and (peer.input.has_received or peer.lived_ns(now_ns) >= phases.REFUSAL_NS):
                self._dialer.on_good()
            return False
        if peer.phase < phases.PHASE_UP:
            if peer.is_dialed and peer.phase == phases.PHASE_GREETING and not peer.input.is_watched:
                self._watch(peer)
            return False
        if peer.is_among_peers:
            self._leave(peer, now_ns)
        if self._dialed == cython.cast(cython.pointer(PyObject), peer):
            self._dialed = cython.NULL
            self._dialer.on_lost(now_ns)
        if peer.phase == phases.PHASE_ENDED:
            self._release(peer)
            return True
        return False

    def _admit(self, peer: Peer, now_ns: int) -> int:
        self._sending.take()
        peer.admit(now_ns)
        peer.is_among_peers = True
        self._up.append(cython.cast(cython.pointer(PyObject), peer))
        self._count_peers()
        self._introduce(peer)
        self._sending.give()
        return 0

    def _introduce(self, peer: Peer) -> int:
        return peer.room.admit(peer.session_id, self._room(peer), peer.address)

    def _leave(self, peer: Peer, now_ns: int) -> int:
        self._sending.take()
        self._up.remove(cython.cast(cython.pointer(PyObject), peer))
        peer.is_among_peers = False
        unsent = peer.output.end()
        # After removal from the list: another connection may reuse the descriptor at once.
        peer.connection.close(False)
        self._count_peers()
        peer.room.leave()
        self._sending.give()
        self.tallies.add(tallies.LOST, 1)
        if unsent > 0:
            self._faults.keep(phases.UNSENT, unsent, 0, 0, peer.address)
        return 0

    def _count_peers(self) -> int:
        self.tallies.put(tallies.PEERS, self._up.size)
        self._has_peer.set_release(self._up.size)
        return 0

    def _release(self, peer: Peer) -> int:
        pointer = cython.cast(cython.pointer(PyObject), peer)
        self._count_end(peer)
        self._sessions.remove(peer.session_id)
        self._active.remove(pointer)
        self._unused.append(pointer)
        return 0

    def _count_end(self, peer: Peer) -> int:
        reason = peer.end_reason
        if reason == phases.NO_REASON:
            # A listening end does not report how peers disconnect; a connecting end reports why it fails.
            if peer.is_dialed and peer.connection.error_code != 0:
                self._faults.keep(reason, 0, 0, peer.connection.error_code, peer.address)
            return 0
        if reason == phases.OTHER_PROTOCOL:
            self.tallies.add(tallies.MISMATCHED, 1)
        elif reason in (phases.NOT_SP, phases.NO_MESSAGE):
            self.tallies.add(tallies.MALFORMED, 1)
        elif reason in (phases.SILENT, phases.NOT_CONNECTED, phases.UNFINISHED):
            self.tallies.add(tallies.SILENT, 1)
        elif reason == phases.REFUSED_BY_PEER:
            self.tallies.add(tallies.REFUSALS, 1)
        self._faults.keep(reason, peer.end_value, peer.end_limit, 0, peer.address)
        return 0

    def on_status_message(self, sm: StatusMessage, number: int, now_ns: int) -> int:
        """Update the limit of an image; return whether its peer exists. Runs on the receiver."""
        found = self._sessions.get(sm.session_id)
        if number != self._feeds_number or found == cython.NULL or not cython.cast(Peer, found).input.is_fed:
            return 0
        cython.cast(Peer, found).input.feed.on_status_message(sm, now_ns)
        return 1

    def reject(self, session_id: int) -> int:
        """End a connection that a subscriber rejected; return whether it exists. Runs on the receiver."""
        found = self._sessions.get(session_id)
        if found == cython.NULL:
            return 0
        cython.cast(Peer, found).is_rejected = True
        return 1

    # Sending side

    def has_peer(self) -> bool:
        """Return whether there is a peer to send to."""
        return self._has_peer.get_acquire() != 0

    def advance(self, publication: PairPublication, log: LogBuffer, position: int, now_ns: int) -> int:
        """Send messages of a publication from `position` on; return the position up to which they were sent."""
        if not self._sending.try_take():
            return position
        try:
            if publication.is_cut:
                position = cython.cast(Peer, self._first).output.settle(publication, log, position)
            if self._up.size == 0 or not cython.cast(Peer, self._up.at(0)).is_confirmed(now_ns):
                return position
            if self._is_polyamorous:
                return self._distribute(log, position, now_ns)
            return self._send_to_partner(publication, log, position)
        finally:
            self._sending.give()

    def _send_to_partner(self, publication: PairPublication, log: LogBuffer, position: int) -> int:
        answer: int = cython.cast(Peer, self._up.at(0)).output.draw(publication, log, position)
        return answer

    def _distribute(self, log: LogBuffer, position: int, now_ns: int) -> int:
        for _ in range(phases.MESSAGES_PER_TURN):
            if not self._message.look(log, position):
                break
            if self._message.is_message:
                self._put(log)
            position += self._message.step
        for index in range(self._up.size):
            self._flush(cython.cast(Peer, self._up.at(index)), now_ns)
            self._show_room(cython.cast(Peer, self._up.at(index)))
        return position

    def _flush(self, peer: Peer, now_ns: int) -> int:
        return peer.output.flush() if peer.is_confirmed(now_ns) else 0

    def _put(self, log: LogBuffer) -> int:
        """Queue a message for its peer; return 0."""
        peer = self._up.at(0)
        if self._message.reserved_value & peers.RESERVED_HAS_PEER:
            peer = self._sessions.get(self._message.reserved_value >> peers.RESERVED_PEER_SHIFT)
            if peer == cython.NULL or not cython.cast(Peer, peer).is_among_peers:
                peer = self._first
                cython.cast(Peer, peer).output.pass_over(phases.NO_PEER, self._message.payload_length)
                return 0
        reason = cython.cast(Peer, peer).output.reason_against(
            self._message, cython.cast(Peer, peer).session_id
        )
        if reason == phases.NO_REASON and not cython.cast(Peer, peer).output.enqueue(log, self._message):
            reason = phases.PEER_FULL
        if reason != phases.NO_REASON:
            cython.cast(Peer, peer).output.pass_over(reason, self._message.payload_length)
        return 0

    def _show_room(self, peer: Peer) -> int:
        return peer.room.show(peer.session_id, self._room(peer))

    def _room(self, peer: Peer) -> int:
        """Return the longest message accepted now; a monogamous socket has no limit, it leaves messages in the log."""
        return peer.output.longest() if self._is_polyamorous else peers.ROOM_MASK

    def forget(self, publication: PairPublication) -> int:
        """Forget a publication that was closed; return 0."""
        self._sending.take()
        for index in range(self._up.size):
            cython.cast(Peer, self._up.at(index)).output.forget(publication)
        self._sending.give()
        return 0

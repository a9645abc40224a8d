"""Sending side of one PAIR socket: routes messages to the admitted peers, and shows these in counters.

A message with the session id of a peer goes to that peer, and is dropped if it is not connected. Without a session id
it goes to the only peer of a monogamous socket, or to the oldest peer of a polyamorous one.

Not here: sending to one peer (`output`), and which peers are admitted (`peer_connections`).
Invariant: the outputs of peers and the list of admitted peers are changed under the lock, which all public methods but
`has_peer` take; `advance` and `flush_queues` do nothing if it is taken. If both are needed, the lock of
`peer_connections` is taken first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import peers
from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.pointers import PointerMap
from aeron_core.spi.stream_counter import detached_peer_counter
from aeron_media._native.spin_lock import SpinLock
from aeron_media.connections.log_message import LogMessage
from aeron_media.sp._native import bounds, reasons, tallies
from aeron_media.sp.pair_publication import PairPublication
from aeron_media.sp.peer import Peer

if TYPE_CHECKING:
    from aeron_core._native.peers import PeerCounter
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_media.sp.pair_params import PairParams
    from aeron_media.sp.peer_slots import PeerSlots


class MessageRouter:
    """Sending side of one socket; see the module."""

    def __init__(self, params: PairParams, slots: PeerSlots) -> None:
        self._is_polyamorous = params.is_polyamorous
        self._tallies = params.tallies
        self._slots = slots
        self._up = self._slots.up
        self._sessions = PointerMap()
        self._first = cython.cast(cython.pointer(PyObject), self._slots.peers[0])
        self._message = LogMessage()
        self._lock = SpinLock()
        self._has_peer = AtomicLong(0)
        self._has_publisher = AtomicLong(0)
        self._publisher_number = 0

    # Called by the conductor

    def attach(self, counters: list[PeerCounter]) -> int:
        """Publish the peers in `counters`, one for each slot, for clients to read; return a number for `detach`.

        The next endpoint may attach before the last one detaches.
        """
        self._has_publisher.set_release(1)
        self.set_peer_counters(counters)
        self._publisher_number += 1
        return self._publisher_number

    def detach(self, number: int) -> None:
        """Release the counters of `attach`, unless another endpoint has attached since.

        `flush_queues` sends the messages that are still queued while the socket exists.
        """
        if number != self._publisher_number:
            return
        self.set_peer_counters([detached_peer_counter("sp-space") for _ in self._slots.peers])
        self._has_publisher.set_release(0)

    def set_peer_counters(self, counters: list[PeerCounter]) -> None:
        """Publish each admitted peer, and the length of the longest message for it, in the counter of its slot.

        `counters` has one counter for each slot; a monogamous socket may use the same one for all. Lengths are bytes.
        """
        self._lock.take()
        try:
            for peer, counter in zip(self._slots.peers, counters, strict=True):
                cython.cast(Peer, peer).counter = counter
                if cython.cast(Peer, peer).is_among_peers:
                    self._introduce(cython.cast(Peer, peer))
        finally:
            self._lock.give()

    # Called by `peer_connections`

    def admit(self, peer: Peer, now_ns: int) -> int:
        """Admit a peer, so that messages are exchanged with it; return 0."""
        pointer = cython.cast(cython.pointer(PyObject), peer)
        self._lock.take()
        try:
            peer.admit(now_ns)
            peer.is_among_peers = True
            self._up.append(pointer)
            self._sessions.put(peer.session_id, pointer)
            self._count_peers()
            self._introduce(peer)
        finally:
            self._lock.give()
        return 0

    def remove(self, peer: Peer) -> int:
        """Stop sending to a peer and close its connection; return how many queued bytes are lost."""
        self._lock.take()
        try:
            self._up.remove(cython.cast(cython.pointer(PyObject), peer))
            self._sessions.remove(peer.session_id)
            peer.is_among_peers = False
            unsent = peer.output.end()
            # Close only after the removal above: another connection may reuse the descriptor at once.
            peer.connection.close(False)
            self._count_peers()
            peer.counter.leave()
            return unsent
        finally:
            self._lock.give()

    def flush_queues(self, now_ns: int) -> int:
        """Send queued messages after the last publication was closed, when the sender is not called; return 0.

        Does nothing while a send endpoint is attached, or the lock is taken.
        """
        if self._has_publisher.get_acquire() != 0 or not self._lock.try_take():
            return 0
        try:
            for index in range(self._up.size):
                self._flush(cython.cast(Peer, self._up.at(index)), now_ns)
        finally:
            self._lock.give()
        return 0

    def _introduce(self, peer: Peer) -> int:
        return peer.counter.admit(peer.session_id, self._space_of(peer), peer.address)

    def _count_peers(self) -> int:
        self._tallies.put(tallies.PEERS, self._up.size)
        self._has_peer.set_release(self._up.size)
        return 0

    # Called by the sender

    def has_peer(self) -> bool:
        """Return whether a peer is admitted; any thread may call it."""
        return self._has_peer.get_acquire() != 0

    def advance(self, publication: PairPublication, log: LogBuffer, position: int, now_ns: int) -> int:
        """Send messages of a publication from `position` on; return the position of the first that remains in the log.

        Those before it are sent or dropped on a monogamous socket, queued or dropped on a polyamorous one. None is sent
        or queued while there is no peer, the oldest one is not confirmed, or the lock is taken.
        """
        if not self._lock.try_take():
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
            self._lock.give()

    def _send_to_partner(self, publication: PairPublication, log: LogBuffer, position: int) -> int:
        answer: int = cython.cast(Peer, self._up.at(0)).output.draw(publication, log, position)
        return answer

    def _distribute(self, log: LogBuffer, position: int, now_ns: int) -> int:
        for _ in range(bounds.MESSAGES_PER_TURN):
            if not self._message.read(log, position):
                break
            if self._message.is_message:
                self._put(log)
            position += self._message.step
        for index in range(self._up.size):
            self._flush(cython.cast(Peer, self._up.at(index)), now_ns)
            self._show_space(cython.cast(Peer, self._up.at(index)))
        return position

    def _flush(self, peer: Peer, now_ns: int) -> int:
        return peer.output.flush() if peer.is_confirmed(now_ns) else 0

    def _put(self, log: LogBuffer) -> int:
        """Queue a message for its peer, or drop and count it, see `Output.pass_over`; return 0."""
        peer = self._up.at(0)
        if self._message.reserved_value & peers.RESERVED_HAS_PEER:
            peer = self._sessions.get(self._message.reserved_value >> peers.RESERVED_PEER_SHIFT)
            if peer == cython.NULL:
                peer = self._first
                cython.cast(Peer, peer).output.pass_over(reasons.NO_PEER, self._message.payload_length)
                return 0
        reason = cython.cast(Peer, peer).output.reason_against(
            self._message, cython.cast(Peer, peer).session_id
        )
        if reason == reasons.NO_REASON and not cython.cast(Peer, peer).output.enqueue(log, self._message):
            reason = reasons.PEER_FULL
        if reason != reasons.NO_REASON:
            cython.cast(Peer, peer).output.pass_over(reason, self._message.payload_length)
        return 0

    def _show_space(self, peer: Peer) -> int:
        return peer.counter.show(peer.session_id, self._space_of(peer))

    def _space_of(self, peer: Peer) -> int:
        """Return the length in bytes of the longest message accepted now, negative if none is.

        A monogamous socket leaves messages in the log, so the length is PEER_SPACE_MASK, which means no limit.
        """
        return peer.output.longest() if self._is_polyamorous else peers.PEER_SPACE_MASK

    def forget(self, publication: PairPublication) -> int:
        """Forget a publication that was closed; return 0.

        A peer is disconnected if the rest of a message for it is only in the log of that publication.
        """
        self._lock.take()
        try:
            for index in range(self._up.size):
                cython.cast(Peer, self._up.at(index)).output.forget(publication)
        finally:
            self._lock.give()
        return 0

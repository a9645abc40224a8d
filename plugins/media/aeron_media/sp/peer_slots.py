"""Slots of one PAIR socket, one per possible peer: which are unused, active or admitted, and their session ids.

Not here: the phases of a peer (`peer`), and when one is admitted (`peer_connections`).
Invariant: each slot is either unused or active, and only active ones are admitted and have a session id in `sessions`.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native.pointers import PointerList, PointerMap
from aeron_media.sp.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.connections import ByteConnection
    from aeron_media.sp.pair_params import PairParams


class PeerSlots:
    """All peers of a socket.

    `unused`, `active` and `sessions` change under the lock of `peer_connections`; `message_router` changes `up`.
    """

    def __init__(self, params: PairParams, count: int, new_connection: Callable[[], ByteConnection]) -> None:
        self.peers = [Peer(params, new_connection()) for _ in range(count)]
        self.unused = PointerList()
        self.active = PointerList()
        self.up = PointerList()
        for peer in reversed(self.peers):
            self.unused.append(cython.cast(cython.pointer(PyObject), peer))
        self.sessions = PointerMap()
        self._next_session_id = random.getrandbits(31)

    def begin(self, peer: Peer, is_dialed: bool, now_ns: int) -> int:
        """Make an unused peer active, with a session id of its own; return 0."""
        pointer = cython.cast(cython.pointer(PyObject), peer)
        self.unused.remove(pointer)
        self.active.append(pointer)
        while self.sessions.get(self._next_session_id) != cython.NULL:
            self._next_session_id += 1
        peer.begin(self._next_session_id, is_dialed, now_ns)
        self.sessions.put(self._next_session_id, pointer)
        # Wraps around from the largest to the smallest int32.
        self._next_session_id += 1
        return 0

    def release(self, peer: Peer) -> int:
        """Make an active peer unused; return 0."""
        pointer = cython.cast(cython.pointer(PyObject), peer)
        self.sessions.remove(peer.session_id)
        self.active.remove(pointer)
        self.unused.append(pointer)
        return 0

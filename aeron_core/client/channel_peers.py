"""The peers that a publication's channel is connected to, one by one, as the driver's counters show them.

Not here: what is sent to them. A channel whose medium does not tell its peers apart has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import peers, positions, wire
from aeron_core._native.counter import Counter
from aeron_core._native.pointers import PointerList

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.logbuffer.descriptor import LogBuffer

# Source: AERON_COUNTER_SENDER_POSITION_TYPE_ID.
_SENDER_POSITION_TYPE_ID: Final = 2


@dataclass(frozen=True, slots=True)
class ChannelPeer:
    """Who is connected to a channel."""

    session_id: int
    """By which messages are addressed to it, and the session of the image with its messages."""
    source_identity: str
    """Where it is: `host:port`, or the path of a Unix socket."""


class ChannelPeers:
    """Of the channel with that status counter; any thread."""

    def __init__(self, reader: CountersReader, channel_status_id: int, registration_id: int) -> None:
        self._reader = reader
        self._counters: list[Counter] = []
        self._slots = PointerList()
        self._last = 0
        self._is_sent = False
        if channel_status_id < 0:
            return
        endpoint_id = reader.registration_id(channel_status_id)
        for record in reader:
            if record.registration_id == endpoint_id and record.type_id == peers.COUNTER_TYPE_PEER:
                self._counters.append(reader.counter(record.id))
                self._slots.append(cython.cast(cython.pointer(PyObject), self._counters[-1]))
        sender_position_id = reader.find(_SENDER_POSITION_TYPE_ID, registration_id)
        if sender_position_id >= 0:
            self._sender_position = reader.counter(sender_position_id)
            self._is_sent = True
        else:
            self._counters.clear()
            self._slots = PointerList()

    @property
    def are_told_apart(self) -> bool:
        """Whether a message may name its peer."""
        return len(self._counters) > 0

    def refusal(self, session_id: int, length: int, position: int) -> int:
        """Return why a message of `length` bytes cannot go to a peer, or 0; `position` is the publication's.

        RESULT_NO_PEER, or RESULT_PEER_FULL where the peer may have no room for it behind all that the driver has not
        taken yet, as if that were all for the same peer.
        """
        if self._slots.size == 0:
            return peers.RESULT_NO_PEER
        # The sender's position first: what it has passed is out of the room that is read next.
        waiting = position - self._sender_position.get_acquire()
        value = self._find(session_id)
        if value == 0:
            return peers.RESULT_NO_PEER
        room = value & peers.ROOM_MASK
        # Without room not even a message without a body goes, which has a head.
        return peers.RESULT_PEER_FULL if room == 0 or length + waiting > room else 0

    def count_taken(  # noqa: PLR0913
        self,
        session_id: int,
        boundaries: AtomicBuffer,
        first: int,
        count: int,
        position: int,
        log: LogBuffer,
    ) -> int:
        """Return how many messages of a batch a peer takes one after another, or as `refusal` why not even one."""
        taken = 0
        while taken < count:
            offset = (first + taken) * 8
            length = boundaries.get_i64(offset + 8) - boundaries.get_i64(offset)
            if length < 0 or length > log.max_message_length:
                # The appender ends there, and says why.
                return taken + 1
            reason = self.refusal(session_id, length, position)
            if reason != 0:
                return taken or reason
            if length <= log.max_payload_length:
                position += positions.align_frame(wire.DATA_HEADER_LENGTH + length)
            else:
                position += positions.fragmented_length(length, log.max_payload_length)
            taken += 1
        return taken

    def unsent_length(self, position: int) -> int:
        """Return the bytes up to `position` that the driver has not sent, or handed to queues of peers.

        None where nothing is sent, as with IPC: subscribers have it at once.
        """
        return position - self._sender_position.get_acquire() if self._is_sent else 0

    def _find(self, session_id: int) -> int:
        """Return the value of the counter of a peer, 0 where it is not there."""
        for index in range(-1, self._slots.size):
            at = self._last if index < 0 else index
            value: int = cython.cast(Counter, self._slots.at(at)).get_acquire()
            if value & peers.ROOM_IS_PEER and value >> peers.ROOM_SESSION_SHIFT == session_id:
                self._last = at
                return value
        return 0

    def connected(self) -> list[ChannelPeer]:
        """Return who is connected now."""
        found = []
        for counter in self._counters:
            value = counter.get_acquire()
            key = self._reader.key(counter.id)
            # Else it went, or another came, while the key was read.
            if value & peers.ROOM_IS_PEER and _session_of(value) == _session_of(counter.get_acquire()):
                length = min(int.from_bytes(key[: peers.PEER_KEY_TEXT_OFFSET], "little"), len(key))
                text = key[peers.PEER_KEY_TEXT_OFFSET :][:length]
                found.append(ChannelPeer(_session_of(value), text.decode(errors="replace")))
        return found


def addressed(peer: int, hops: int) -> int:
    """Return the reserved value of a message to a peer that has so many hops behind it."""
    if not 0 <= hops <= peers.RESERVED_HOPS_MASK:
        raise ValueError(
            f"reserved_value={hops}: must be the hops of a message to a peer, from 0 to {peers.RESERVED_HOPS_MASK}"
        )
    return (peer << peers.RESERVED_PEER_SHIFT) | peers.RESERVED_HAS_PEER | hops


def _session_of(value: int) -> int:
    return value >> peers.ROOM_SESSION_SHIFT

"""Peers of a publication's channel, read from the driver's counters.

Not here: sending. A medium that does not distinguish peers has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import peers, positions, wire
from aeron_core._native.buffer import fence_acquire
from aeron_core._native.counter import AtomicCounter
from aeron_core._native.pointers import PointerList
from aeron_core.concurrent import counter_types
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.logbuffer.descriptor import LogBuffer


@frozen(slots=True)
class ChannelPeer:
    """A peer that is connected to a channel."""

    session_id: int
    """The address of the peer in `offer(peer=...)`, and the session of the image with its messages."""
    source_identity: str
    """Its address: `host:port`, or the path of a Unix socket; `aeron:ipc` for an image of IPC."""


class ChannelPeers:
    """Peers of the channel with the status counter `channel_status_id`; any thread may use it.

    `registration_id` is the `original_registration_id` of the publication. There are no peers if the medium does not
    distinguish them, or if the driver has no sender position of the publication.
    """

    def __init__(self, reader: CountersReader, channel_status_id: int, registration_id: int) -> None:
        self._reader = reader
        self._counters: list[AtomicCounter] = []
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
        sender_position_id = reader.find(counter_types.SENDER_POSITION, registration_id)
        if sender_position_id >= 0:
            self._sender_position = reader.counter(sender_position_id)
            self._is_sent = True
        else:
            self._counters.clear()
            self._slots = PointerList()

    @property
    def are_distinguished(self) -> bool:
        """Whether the medium distinguishes peers, so that a message can be addressed to one."""
        return len(self._counters) > 0

    def refusal(self, session_id: int, length: int, position: int) -> int:
        """Return 0 if a message of `length` bytes can be sent to the peer `session_id`, or the negative reason.

        RESULT_NO_PEER if the peer is not connected. RESULT_PEER_FULL if its queue may lack space: the check
        assumes that all bytes before `position`, the publication's, that the driver has not sent yet are for this peer.
        """
        if self._slots.size == 0:
            return peers.RESULT_NO_PEER
        # Read the sender's position before the peer's space, in this order because of the acquire load: bytes that are
        # sent in between are then counted twice, and never left out.
        waiting = position - self._sender_position.get_acquire()
        value = self._find(session_id)
        if value == 0:
            return peers.RESULT_NO_PEER
        space = value & peers.PEER_SPACE_MASK
        # Even an empty message needs space for its header.
        return peers.RESULT_PEER_FULL if space == 0 or length + waiting > space else 0

    def count_taken(  # noqa: PLR0913
        self,
        session_id: int,
        boundaries: AtomicBuffer,
        first: int,
        count: int,
        position: int,
        log: LogBuffer,
    ) -> int:
        """Return how many messages of a batch a peer accepts in sequence, or the `refusal` of the first one.

        `boundaries`: int64, one more than messages; message i is from byte boundaries[i] to boundaries[i + 1]. The
        batch is `count` messages from index `first` on, `position` is the publication's. A message with a negative
        length or one above the maximum is counted and ends the count: the appender then returns the error.
        """
        taken = 0
        while taken < count:
            offset = (first + taken) * 8
            length = boundaries.get_i64(offset + 8) - boundaries.get_i64(offset)
            if length < 0 or length > log.max_message_length:
                # Count it: the appender then reports the message as invalid.
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
        """Return the bytes up to `position` that the driver has neither sent nor queued for peers.

        0 if the channel has no endpoint, as with IPC, or the driver has no sender position of the publication.
        """
        return position - self._sender_position.get_acquire() if self._is_sent else 0

    def _find(self, session_id: int) -> int:
        """Return the counter value of a peer, 0 if it is not connected."""
        for index in range(-1, self._slots.size):
            at = self._last if index < 0 else index
            value: int = cython.cast(AtomicCounter, self._slots.at(at)).get_acquire()
            if value & peers.PEER_IS_CONNECTED and value >> peers.PEER_SESSION_SHIFT == session_id:
                self._last = at
                return value
        return 0

    def connected(self) -> list[ChannelPeer]:
        """Return the peers that are connected now."""
        found = []
        for counter in self._counters:
            value = counter.get_acquire()
            key = self._reader.key(counter.id)
            # Keeps the loads of the key before the second load of the value; pairs with the release fence of the
            # driver: a load that saw a byte of the next peer is followed by a load that sees a changed value.
            fence_acquire()
            # If the session differs, the peer disconnected, or another peer got its slot, while the key was read.
            again = counter.get_acquire()
            is_connected = value & again & peers.PEER_IS_CONNECTED
            if is_connected and _session_of(value) == _session_of(again):
                length = min(int.from_bytes(key[: peers.PEER_KEY_TEXT_OFFSET], "little"), len(key))
                text = key[peers.PEER_KEY_TEXT_OFFSET :][:length]
                found.append(ChannelPeer(_session_of(value), text.decode(errors="replace")))
        return found


def addressed(peer: int, hops: int) -> int:
    """Return the reserved value, an int64, of a message that is addressed to `peer` and has passed `hops` devices.

    `peer` is a session id, an int32. Raises ValueError unless `hops` is from 0 to 255.
    """
    if not 0 <= hops <= peers.RESERVED_HOPS_MASK:
        raise ValueError(
            f"reserved_value={hops}: must be a number of hops from 0 to {peers.RESERVED_HOPS_MASK} if peer= is given"
        )
    return (peer << peers.RESERVED_PEER_SHIFT) | peers.RESERVED_HAS_PEER | hops


def _session_of(value: int) -> int:
    return value >> peers.PEER_SESSION_SHIFT

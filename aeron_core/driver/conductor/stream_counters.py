"""Counters of streams and channels: their types, keys and labels, which tools of any origin parse.

Source: aeron_position.c, aeron_counters.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core._native import peers, wire
from aeron_core._native.counter import Counter
from aeron_core._native.peers import PeerCounter

if TYPE_CHECKING:
    from aeron_core.concurrent.counters import CounterRecord, CountersManager

PUBLISHER_LIMIT: Final = 1
SENDER_POSITION: Final = 2
RECEIVER_HWM: Final = 3
SUBSCRIBER_POSITION: Final = 4
RECEIVER_POSITION: Final = 5
SEND_CHANNEL_STATUS: Final = 6
RECEIVE_CHANNEL_STATUS: Final = 7
SENDER_LIMIT: Final = 9
PER_IMAGE: Final = 10
CLIENT_HEARTBEAT: Final = 11
PUBLISHER_POSITION: Final = 12
SENDER_BPE: Final = 13
LOCAL_SOCKADDR: Final = 14
FLOW_CONTROL_RECEIVERS: Final = 17
MDC_DESTINATIONS: Final = 18
SENDER_NAKS_RECEIVED: Final = 19
RECEIVER_NAKS_SENT: Final = 20
#: Ours: what a medium counts of one channel endpoint. Beyond what Aeron and its archive and cluster use.
MEDIA: Final = 1020
PEER: Final = peers.COUNTER_TYPE_PEER
REFUSALS: Final = peers.COUNTER_TYPE_REFUSALS

#: Those whose key tells session, stream and channel.
STREAM_TYPES: Final = frozenset(
    {
        PUBLISHER_LIMIT,
        SENDER_POSITION,
        RECEIVER_HWM,
        SUBSCRIBER_POSITION,
        RECEIVER_POSITION,
        SENDER_LIMIT,
        PER_IMAGE,
        PUBLISHER_POSITION,
        SENDER_BPE,
        FLOW_CONTROL_RECEIVERS,
        SENDER_NAKS_RECEIVED,
        RECEIVER_NAKS_SENT,
    }
)

CHANNEL_STATUS_ERRORED: Final = -1
CHANNEL_STATUS_ACTIVE: Final = 1
CHANNEL_STATUS_CLOSING: Final = 2

_STREAM_KEY_CHANNEL: Final = 20
_STREAM_KEY_CHANNEL_MAX: Final = wire.COUNTER_KEY_MAX_LENGTH - _STREAM_KEY_CHANNEL
_CHANNEL_KEY_CHANNEL_MAX: Final = wire.COUNTER_KEY_MAX_LENGTH - 4
_ADDRESS_MAX: Final = wire.COUNTER_KEY_MAX_LENGTH - 9


def _i32(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def _i64(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


@dataclass(frozen=True)
class CounterOwner:
    """Which stream a counter is of, and whose it is; `client_id` -1 is the driver."""

    registration_id: int
    session_id: int
    stream_id: int
    channel: str
    client_id: int = -1

    def key(self) -> bytes:
        """Return the key of a stream's counter."""
        channel = self.channel.encode()[:_STREAM_KEY_CHANNEL_MAX]
        return (
            _i64(self.registration_id)
            + _i32(self.session_id)
            + _i32(self.stream_id)
            + _i32(len(channel))
            + channel
        )


def owner_of(record: CounterRecord) -> CounterOwner | None:
    """Return which stream a counter is of, as its key says; None where the key cannot be one of a stream."""
    length = int.from_bytes(record.key[16:20], "little", signed=True)
    if not 0 <= length <= len(record.key) - _STREAM_KEY_CHANNEL:
        return None
    channel = record.key[_STREAM_KEY_CHANNEL : _STREAM_KEY_CHANNEL + length].decode(errors="replace")
    if length == _STREAM_KEY_CHANNEL_MAX:
        # The label has more of it.
        channel = (record.label.split(" ")[4:5] or [channel])[0]
    return CounterOwner(
        int.from_bytes(record.key[0:8], "little", signed=True),
        int.from_bytes(record.key[8:12], "little", signed=True),
        int.from_bytes(record.key[12:16], "little", signed=True),
        channel,
        record.owner_id,
    )


def allocate_stream_counter(  # noqa: PLR0913
    manager: CountersManager,
    type_id: int,
    name: str,
    owner: CounterOwner,
    *,
    suffix: str = "",
    reference_id: int = 0,
) -> Counter:
    """Return a new counter of a stream."""
    label = f"{name}: {owner.registration_id} {owner.session_id} {owner.stream_id} {owner.channel}{suffix}"
    counter_id = manager.allocate(
        type_id,
        label,
        owner.key(),
        registration_id=owner.registration_id,
        owner_id=owner.client_id,
        reference_id=reference_id,
    )
    return Counter(manager.values, counter_id)


def allocate_media_counter(
    manager: CountersManager, type_id: int, name: str, channel: str, registration_id: int
) -> Counter:
    """Return a new counter of a channel endpoint; its key is that of a channel status."""
    text = channel.encode()[:_CHANNEL_KEY_CHANNEL_MAX]
    counter_id = manager.allocate(
        type_id, f"{name}: {channel}", _i32(len(text)) + text, registration_id=registration_id
    )
    return Counter(manager.values, counter_id)


def allocate_peer_counter(
    manager: CountersManager, name: str, channel: str, registration_id: int
) -> PeerCounter:
    """Return a new counter of a peer of a channel endpoint; its key says where the peer is, once there is one."""
    counter_id = manager.allocate(PEER, f"{name}: {channel}", registration_id=registration_id)
    return PeerCounter(Counter(manager.values, counter_id), manager.metadata)


def allocate_channel_status(
    manager: CountersManager, type_id: int, name: str, channel: str, registration_id: int
) -> Counter:
    """Return a new channel status, initialising."""
    text = channel.encode()[:_CHANNEL_KEY_CHANNEL_MAX]
    counter_id = manager.allocate(
        type_id, f"{name}: {channel}", _i32(len(text)) + text, registration_id=registration_id
    )
    return Counter(manager.values, counter_id)


def allocate_local_address(
    manager: CountersManager, name: str, channel_status_id: int, address: str, registration_id: int
) -> Counter:
    """Return a new counter that states a bound address, active."""
    text = address.encode()[:_ADDRESS_MAX]
    counter_id = manager.allocate(
        LOCAL_SOCKADDR,
        f"{name}: {channel_status_id} {address}",
        _i32(channel_status_id) + _i32(len(text)) + text,
        registration_id=registration_id,
    )
    counter = Counter(manager.values, counter_id)
    counter.set_release(CHANNEL_STATUS_ACTIVE)
    return counter


def allocate_client_heartbeat(manager: CountersManager, client_id: int) -> Counter:
    """Return a new heartbeat of a client."""
    counter_id = manager.allocate(
        CLIENT_HEARTBEAT,
        f"client-heartbeat: id={client_id}",
        _i64(client_id),
        registration_id=client_id,
        owner_id=client_id,
    )
    return Counter(manager.values, counter_id)

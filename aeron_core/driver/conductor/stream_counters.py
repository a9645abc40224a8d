"""Allocation of the counters of streams, channel endpoints and clients. Used by the conductor only.

Each function raises StorageError if no counter is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.counter import AtomicCounter
from aeron_core._native.peers import PeerCounter
from aeron_core.concurrent import counter_types

if TYPE_CHECKING:
    from aeron_core.concurrent.counter_types import CounterOwner
    from aeron_core.concurrent.counters import CountersManager


def allocate_stream_counter(
    manager: CountersManager, type_id: int, name: str, owner: CounterOwner, *, reference_id: int = 0
) -> AtomicCounter:
    """Return a new counter of a stream, with the value 0; its label and key name the stream and its owner."""
    counter_id = manager.allocate(
        type_id,
        owner.label(name),
        owner.key(),
        registration_id=owner.registration_id,
        owner_id=owner.client_id,
        reference_id=reference_id,
    )
    return AtomicCounter(manager.values, counter_id)


def allocate_channel_counter(
    manager: CountersManager, type_id: int, name: str, channel: str, registration_id: int
) -> AtomicCounter:
    """Return a new counter of a channel endpoint; its value is 0, which as a status means initialising.

    It is the status, the number of destinations, or a counter of the medium.
    """
    counter_id = manager.allocate(
        type_id,
        f"{name}: {channel}",
        counter_types.channel_key(channel),
        registration_id=registration_id,
    )
    return AtomicCounter(manager.values, counter_id)


def allocate_peer_counter(
    manager: CountersManager, name: str, channel: str, registration_id: int
) -> PeerCounter:
    """Return a new counter of a peer of a channel endpoint; the medium stores the peer's address in its key."""
    counter_id = manager.allocate(counter_types.PEER, f"{name}: {channel}", registration_id=registration_id)
    return PeerCounter(AtomicCounter(manager.values, counter_id), manager.metadata)


def allocate_local_address(
    manager: CountersManager, name: str, channel_status_id: int, address: str, registration_id: int
) -> AtomicCounter:
    """Return a new counter whose label and key name a bound address; its value is the active status."""
    counter_id = manager.allocate(
        counter_types.LOCAL_SOCKADDR,
        f"{name}: {channel_status_id} {address}",
        counter_types.local_address_key(channel_status_id, address),
        registration_id=registration_id,
    )
    counter = AtomicCounter(manager.values, counter_id)
    # Release: a client that sees the active status also sees the address, with the port even if the operating system
    # chose it.
    counter.set_release(counter_types.CHANNEL_STATUS_ACTIVE)
    return counter


def allocate_client_heartbeat(manager: CountersManager, client_id: int) -> AtomicCounter:
    """Return a new heartbeat counter of a client, with the value 0 until the first keepalive."""
    counter_id = manager.allocate(
        counter_types.CLIENT_HEARTBEAT,
        # The client finds the counter by its type and registration id, and stores the time in it.
        f"client-heartbeat: id={client_id}",
        counter_types.client_key(client_id),
        registration_id=client_id,
        owner_id=client_id,
    )
    return AtomicCounter(manager.values, counter_id)

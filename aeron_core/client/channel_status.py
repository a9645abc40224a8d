"""State and bound addresses of a channel, read from the driver's counters.

Source: aeronc.h (AERON_CHANNEL_STATUS_…), aeron_counters.h, aeron_position.h, LocalSocketAddressStatus.java.
"""

from __future__ import annotations

import re
import struct
from enum import IntEnum
from typing import Final

from aeron_core.concurrent.counter_types import LOCAL_SOCKADDR
from aeron_core.concurrent.counters import NULL_COUNTER_ID, CountersReader

# First fields of the key, two int32: id of the channel status counter, length in bytes of the address that follows.
_KEY: Final = struct.Struct("<ii")
_ENDPOINT_WITH_PORT_0: Final = re.compile(r"(?<=[?|]endpoint=)([^|]*):0(?=\||$)")


class ChannelStatus(IntEnum):
    """State of the endpoint of a channel in the driver."""

    ERRORED = -1  # it cannot send or receive; the cause is in the error log
    INITIALIZING = 0  # the driver has not opened it yet
    ACTIVE = 1  # it is open
    CLOSING = 2  # no longer used


def channel_status(counters: CountersReader, status_id: int) -> ChannelStatus:
    """Return the state that counter `status_id` holds, ERRORED for an unknown value.

    A channel without an endpoint, `status_id` -1, is always ACTIVE.
    """
    if status_id == NULL_COUNTER_ID:
        return ChannelStatus.ACTIVE
    try:
        return ChannelStatus(counters.value(status_id))
    except ValueError:
        return ChannelStatus.ERRORED


def local_addresses(counters: CountersReader, status_id: int) -> list[str]:
    """Return the bound addresses, `address:port`, of the channel with the status counter `status_id`.

    The list is empty unless the channel is ACTIVE.
    """
    if status_id == NULL_COUNTER_ID or channel_status(counters, status_id) is not ChannelStatus.ACTIVE:
        return []
    addresses = []
    for record in counters:
        if record.type_id != LOCAL_SOCKADDR or record.value != ChannelStatus.ACTIVE:
            continue
        channel_status_id, length = _KEY.unpack_from(record.key)
        if channel_status_id == status_id and length > 0:
            addresses.append(record.key[_KEY.size : _KEY.size + length].decode("ascii", "replace"))
    return addresses


def resolved_channel(counters: CountersReader, channel: str, status_id: int) -> str | None:
    """Return `channel` with port 0 of its endpoint replaced by the bound port; None while no address is bound.

    A channel whose endpoint does not have port 0 is returned unchanged.
    """
    if not _ENDPOINT_WITH_PORT_0.search(channel):
        return channel
    addresses = local_addresses(counters, status_id)
    if not addresses:
        return None
    port = addresses[0].rpartition(":")[2]
    return _ENDPOINT_WITH_PORT_0.sub(lambda match: f"{match[1]}:{port}", channel)

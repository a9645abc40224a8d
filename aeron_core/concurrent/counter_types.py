"""Types, keys and labels of the counters of streams, channels and clients, which tools of any origin parse.

    stream          key: registration id i64, session id i32, stream id i32, channel length i32, channel
                    label: "<name>: <registration id> <session id> <stream id> <channel>"; that of a
                    subscriber position ends with " @<join position>"
    channel         key: channel length i32, channel
                    label: "<name>: <channel>"; that of a name resolver has "name resolver" for a channel
    bound address   key: counter id of the channel status i32, address length i32, address
                    label: "<name>: <counter id of the channel status> <address>"
    client          key: client id i64
                    label: "client-heartbeat: id=<client id>"; the client may append its name and version

A channel or address that is too long for its field in the key is cut there; the label holds up to 380 bytes.

Not here: names and labels of the system counters (`driver.agents.system_counters`), and the allocation of counters.
Source: aeron_position.c, aeron_counters.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_core._native import peers, wire
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core.concurrent.counters import CounterRecord

SYSTEM: Final = 0  # a counter of the driver itself, whose id is fixed
PUBLISHER_LIMIT: Final = 1  # position up to which publishers may start a message
SENDER_POSITION: Final = 2  # position up to which the sender has sent
RECEIVER_HWM: Final = 3  # end of the highest packet received, even if packets before it are missing
SUBSCRIBER_POSITION: Final = 4  # position up to which one subscriber has consumed
RECEIVER_POSITION: Final = 5  # position up to which the receiver has all frames
SEND_CHANNEL_STATUS: Final = 6  # one of CHANNEL_STATUS_…
RECEIVE_CHANNEL_STATUS: Final = 7  # one of CHANNEL_STATUS_…
SENDER_LIMIT: Final = 9  # position up to which flow control allows sending
PER_IMAGE: Final = 10  # any other counter of one image, named by its label
CLIENT_HEARTBEAT: Final = 11  # last activity of a client in ms since the epoch
PUBLISHER_POSITION: Final = 12  # position up to which publishers have claimed, as the driver last saw it
SENDER_BPE: Final = 13  # how often the sender was stopped by its limit
LOCAL_SOCKADDR: Final = 14  # status of a bound address, which is in the key
FLOW_CONTROL_RECEIVERS: Final = 17  # number of receivers that flow control takes into account
MDC_DESTINATIONS: Final = 18  # number of destinations of a channel with several
SENDER_NAKS_RECEIVED: Final = 19  # number of NAKs received for one publication
RECEIVER_NAKS_SENT: Final = 20  # number of NAKs sent for one image
#: Position up to which a recording is stored. The key has recording id i64, session id i32, and the source identity.
#: Source: RecordingPos.java of Aeron Archive.
RECORDING_POSITION: Final = 100
# Not of Aeron: above the ids of its driver, archive and cluster, of which only 2001 is higher (`csv_table` of
# `aeron_resolvers`). 1021 and 1022 are in `_native.peers`, 1023 is in `aeron_resolvers.driver`. The next free
# id is 1026.
#: Counters of a medium for one channel endpoint.
MEDIA: Final = 1020
PEER: Final = peers.COUNTER_TYPE_PEER
REFUSALS: Final = peers.COUNTER_TYPE_REFUSALS
#: What an archive that is served has refused. Source: aeron_core.archive.server.limit_counters.
ARCHIVE_LIMITS: Final = 1024
#: What a datagram protector has done at one channel endpoint, named by its label; key as that of a channel. The value
#: only grows. Source: aeron_core.spi.protection.
PROTECTION: Final = 1025
#: Names of the counters of protectors, of type PROTECTION or REFUSALS, begin with the first text. Those that begin with
#: the second one count datagrams that were not opened, and end with the reason.
SECURITY_NAME: Final = "security-"
SECURITY_REFUSED_NAME: Final = "security-refused-"

#: Types whose key holds a session id, a stream id and a channel.
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

#: Id of the system counter that holds the version of the control protocol. Source: aeron_system_counters.h.
SYSTEM_CONTROL_PROTOCOL_VERSION: Final = 43

#: Owner of the counters that the driver keeps.
DRIVER_OWNER_ID: Final = -1

# The reference also has 0, initializing, and -1, errored.
CHANNEL_STATUS_ACTIVE: Final = 1
CHANNEL_STATUS_CLOSING: Final = 2

_I32_LENGTH: Final = 4
_STREAM_KEY_CHANNEL_OFFSET: Final = 20  # registration id, session id, stream id, channel length
_STREAM_KEY_CHANNEL_MAX: Final = wire.COUNTER_KEY_MAX_LENGTH - _STREAM_KEY_CHANNEL_OFFSET
_CHANNEL_KEY_CHANNEL_MAX: Final = wire.COUNTER_KEY_MAX_LENGTH - _I32_LENGTH
# One byte shorter than its field, which the reference terminates with a zero.
_ADDRESS_MAX: Final = wire.COUNTER_KEY_MAX_LENGTH - 2 * _I32_LENGTH - 1


@frozen()
class CounterOwner:
    """The stream of a counter, and the client that owns the counter; `client_id` may be DRIVER_OWNER_ID."""

    registration_id: int
    session_id: int
    stream_id: int
    channel: str
    client_id: int = DRIVER_OWNER_ID

    def key(self) -> bytes:
        """Return the key of a counter of the stream, as in the table of this module."""
        return (
            _i64(self.registration_id)
            + _i32(self.session_id)
            + _i32(self.stream_id)
            + _text(self.channel, _STREAM_KEY_CHANNEL_MAX)
        )

    def label(self, name: str) -> str:
        """Return the label of a counter of the stream; `name`: what it measures, such as `snd-pos`."""
        return f"{name}: {self.registration_id} {self.session_id} {self.stream_id} {self.channel}"


def owner_of(record: CounterRecord) -> CounterOwner | None:
    """Return stream and owner of a counter; None if the key cannot be that of a stream.

    The stream is that of the key. If the channel fills its field of 92 bytes, it is taken from the label, provided
    that the label has one.
    """
    length = int.from_bytes(record.key[16:20], "little", signed=True)
    if not 0 <= length <= len(record.key) - _STREAM_KEY_CHANNEL_OFFSET:
        return None
    channel = record.key[_STREAM_KEY_CHANNEL_OFFSET : _STREAM_KEY_CHANNEL_OFFSET + length].decode(
        errors="replace"
    )
    if length == _STREAM_KEY_CHANNEL_MAX:
        # The key is full: the label may hold more of the channel.
        channel = (record.label.partition(": ")[2].split(" ")[3:4] or [channel])[0]
    return CounterOwner(
        int.from_bytes(record.key[0:8], "little", signed=True),
        int.from_bytes(record.key[8:12], "little", signed=True),
        int.from_bytes(record.key[12:16], "little", signed=True),
        channel,
        record.owner_id,
    )


def channel_key(channel: str) -> bytes:
    """Return the key of a counter of a channel, with at most 108 bytes of the channel."""
    return _text(channel, _CHANNEL_KEY_CHANNEL_MAX)


def local_address_key(channel_status_id: int, address: str) -> bytes:
    """Return the key of a counter that states a bound address of a channel, with at most 103 bytes of the address."""
    return _i32(channel_status_id) + _text(address, _ADDRESS_MAX)


def client_key(client_id: int) -> bytes:
    """Return the key of the heartbeat of a client: its id as a little-endian int64."""
    return _i64(client_id)


def _text(text: str, max_length: int) -> bytes:
    # Cut after a number of bytes, perhaps within a character: readers replace what they cannot decode. Surrogates stand
    # for the bytes of a channel that are not UTF-8.
    data = text.encode(errors="surrogateescape")[:max_length]
    return _i32(len(data)) + data


def _i32(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def _i64(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)

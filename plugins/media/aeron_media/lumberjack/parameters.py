"""Parameters of an `aeron:lumberjack` URI."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from aeron_core._native import wire
from aeron_core.errors import ConfigurationError
from aeron_core.uri.addresses import HostPort, parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_media.connections.connection_parameters import (
    MIB,
    ConnectionParameters,
    Duration,
    Interval,
    Size,
)
from aeron_media.connections.tls.parameters import Switch
from aeron_media.lumberjack.codec.frame_limits import FrameLimits

S: Final = 1_000_000_000


_MAX_READERS: Final = 64


def _parse_endpoints(text: str) -> tuple[HostPort, ...]:
    parts = text.split(",")
    if len(parts) > _MAX_READERS:
        raise ConfigurationError(f"must have at most {_MAX_READERS} addresses, has {len(parts)}")
    return tuple(parse_address(each) for each in parts)


Addresses = Annotated[tuple[HostPort, ...], BeforeValidator(_parse_endpoints)]

#: Parameters of sending endpoints.
_OF_WRITERS: Final = (
    "window",
    "pipeline",
    "compression",
    "wrap",
    "timeout",
    "progress_timeout",
    "backoff_init",
    "backoff_max",
    "ttl",
    "balance",
    "max_memory",
    "connection_counters",
    "sndbuf_length",
    "rcvbuf_length",
)

#: Parameters of receiving endpoints, which all subscriptions share; those of TLS are in `tls_identity`.
_OF_READERS: Final = (
    *ConnectionParameters.of_images,
    "ack",
    "ack_partial",
    "keep_alive",
    "keep_alive_v1",
    "max_window",
    "max_event",
    "max_frame",
    "max_compressed",
    "max_inflated",
    "max_ratio",
    "max_nesting",
    "max_pairs",
    "max_memory",
    "connection_counters",
    "max_connections",
    "max_per_source",
    "eviction_timeout",
    "window_timeout",
    "idle_timeout",
    "write_timeout",
)


class AckWhen(Enum):
    """Event after which a reader acknowledges a window."""

    CONSUMED = "consumed"
    RECEIVED = "received"


class LumberjackParameters(ConnectionParameters):
    """Parameters of a Lumberjack channel; those of the stream are ignored. Lengths are bytes, durations nanoseconds."""

    example = "aeron:lumberjack?endpoint=host:port"

    endpoint: Addresses = Field(
        description="Address to listen on, or to send to: host:port; several readers are separated by commas."
    )
    ack: AckWhen = Field(
        AckWhen.CONSUMED,
        description="When to acknowledge a window: `consumed` by all subscribers, or `received`.",
    )
    ack_partial: Switch = Field(
        False,
        alias="ack-partial",
        description="Acknowledge parts of an incomplete window as subscribers consume them.",
    )
    keep_alive: Interval = Field(
        5 * S,
        alias="keep-alive",
        description="Interval of keep-alives to a writer that waits for subscribers.",
    )
    keep_alive_v1: Switch = Field(
        False, alias="keep-alive-v1", description="Send keep-alives to writers of version 1, too."
    )
    max_window: int = Field(
        10_000,
        ge=1,
        alias="max-window",
        description="Number of events after which a longer window is acknowledged in part.",
    )
    max_event: Size = Field(
        wire.MAX_MESSAGE_LENGTH, alias="max-event", description="Maximum length of an event."
    )
    max_frame: Size = Field(
        wire.MAX_MESSAGE_LENGTH, alias="max-frame", description="Maximum length of a J or D frame."
    )
    max_compressed: Size = Field(16 * MIB, alias="max-compressed", description="Maximum length of a C frame.")
    max_inflated: Size = Field(
        100 * MIB, alias="max-inflated", description="Maximum inflated length of a C frame."
    )
    max_ratio: int = Field(
        1000,
        alias="max-ratio",
        description="Maximum ratio of inflated to compressed length of a C frame, from 1 MiB on.",
    )
    max_nesting: int = Field(1, alias="max-nesting", description="Maximum nesting depth of C frames.")
    max_pairs: int = Field(1024, alias="max-pairs", description="Maximum number of pairs in a D frame.")
    max_memory: Size = Field(
        128 * MIB,
        ge=512 * 1024,
        alias="max-memory",
        description="Memory of all connections for data that is not yet parsed, or not yet sent; at least 512k.",
    )
    connection_counters: int = Field(
        16,
        ge=0,
        le=256,
        alias="connection-counters",
        description="Maximum number of connections with counters of their own; the endpoint's counters include all.",
    )
    max_connections: int = Field(
        256,
        ge=1,
        le=65536,
        alias="max-connections",
        description="Maximum number of connections; each takes 10 KiB. Further ones are refused.",
    )
    # No limit by default: a proxy, a load balancer or address translation gives many honest writers one address.
    max_per_source: int = Field(
        0,
        ge=0,
        le=65536,
        alias="max-per-source",
        description="Maximum number of connections from one IPv4 address or one IPv6 network of 64 bits; 0 for no "
        "limit. Further ones are refused.",
    )
    eviction_timeout: Interval = Field(
        5 * S,
        alias="eviction-timeout",
        description="Time without events after which a connection is evicted for a new one if all are taken.",
    )
    window_timeout: Interval = Field(
        30 * S,
        alias="window-timeout",
        description="Maximum wait for the next event of an incomplete window or frame.",
    )
    idle_timeout: Interval = Field(
        60 * S,
        alias="idle-timeout",
        description="Maximum time without events of a writer that waits for no acknowledgement.",
    )
    write_timeout: Interval = Field(
        30 * S,
        alias="write-timeout",
        description="Maximum time that a writer leaves its acknowledgements unread.",
    )

    window: int = Field(
        2048, ge=1, le=1 << 20, description="Maximum number of events in a window that is sent."
    )
    pipeline: int = Field(
        2, ge=1, le=64, description="Maximum number of unacknowledged windows of a connection."
    )
    compression: int = Field(3, ge=0, le=9, description="0 for plain frames, or a compression level up to 9.")
    wrap: Switch = Field(False, description='Send messages, which can be any bytes, as {"message": "..."}.')
    timeout: Interval = Field(
        30 * S,
        description="Maximum wait for a connection, and for an acknowledgement or keep-alive after sending.",
    )
    progress_timeout: Duration = Field(
        0,
        alias="progress-timeout",
        description="Maximum time with keep-alives but no acknowledgement; 0 for no limit, as in other writers.",
    )
    backoff_init: Interval = Field(
        1 * S,
        alias="backoff-init",
        description="Initial delay before readers that were lost are tried again.",
    )
    backoff_max: Interval = Field(60 * S, alias="backoff-max", description="Maximum delay between attempts.")
    ttl: Duration = Field(
        0,
        description="Lifetime of a connection, after which the next reader of `endpoint` is used; 0 for no limit.",
    )
    balance: Switch = Field(
        False,
        description="Distribute windows, unordered, over all readers of `endpoint` instead of using one at a time.",
    )

    @property
    def writer_identity(self) -> str:
        """The sending parameters that differ from their defaults, as `-WRITER(key=value,…)`; empty if none does.

        Publications share an endpoint only if this text, the readers and the TLS parameters are equal.
        """
        fields = type(self).model_fields
        items = [
            f"{fields[name].alias or name}={getattr(self, name)}"
            for name in _OF_WRITERS
            if getattr(self, name) != fields[name].default
        ]
        return "-WRITER(" + ",".join(items) + ")" if items else ""

    def check_shared(self, uri: ChannelUri, existing: LumberjackParameters) -> None:
        """Raise ChannelUriError if a receive parameter differs from `existing`, of a channel at the same address.

        TLS parameters are not compared: they are part of the channel's canonical form.
        """
        self.check_same(uri, existing, _OF_READERS)

    def frame_limits(self) -> FrameLimits:
        """Return the parser's limits; raises ValueError naming one that is out of range."""
        return FrameLimits(
            max_event_length=self.max_event,
            max_frame_length=self.max_frame,
            max_compressed_length=self.max_compressed,
            max_inflated_length=self.max_inflated,
            max_ratio=self.max_ratio,
            max_nesting=self.max_nesting,
            max_pairs=self.max_pairs,
        )

"""The keys of an `aeron:lumberjack` URI."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from aeron_core._native import wire
from aeron_core.uri.addresses import HostPort, parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_media.connections.connection_parameters import (
    MIB,
    ConnectionParameters,
    Duration,
    Interval,
    Size,
)
from aeron_media.connections.tls_parameters import Switch
from aeron_media.lumberjack.codec.frame_limits import FrameLimits

S: Final = 1_000_000_000


def _parse_endpoints(text: str) -> tuple[HostPort, ...]:
    return tuple(parse_address(each) for each in text.split(","))


Addresses = Annotated[tuple[HostPort, ...], BeforeValidator(_parse_endpoints), Field(max_length=64)]

#: Keys that say how an endpoint sends.
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

#: Keys that say how an endpoint receives, whoever subscribes; those of TLS are in its identity.
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
    "window_timeout",
    "idle_timeout",
    "write_timeout",
)


class AckWhen(Enum):
    """When a reader acknowledges a window."""

    CONSUMED = "consumed"
    RECEIVED = "received"


class LumberjackParameters(ConnectionParameters):
    """Parameters of a Lumberjack channel; keys of the stream are passed over."""

    example = "aeron:lumberjack?endpoint=host:port"

    endpoint: Addresses = Field(
        description="Where to listen, or whom to send to, host:port; several readers are separated by commas."
    )
    ack: AckWhen = Field(
        AckWhen.CONSUMED,
        description="When a window is acknowledged: once all subscribers have passed it, or once it was received.",
    )
    ack_partial: Switch = Field(
        False, alias="ack-partial", description="Acknowledge a window while it comes, as subscribers get on."
    )
    keep_alive: Interval = Field(
        5 * S,
        alias="keep-alive",
        description="Between two signs of life to a writer that waits for subscribers.",
    )
    keep_alive_v1: Switch = Field(
        False, alias="keep-alive-v1", description="Whether writers of version 1 get them, too."
    )
    max_window: int = Field(
        10_000,
        ge=1,
        alias="max-window",
        description="Events after which a longer window is acknowledged in part.",
    )
    max_event: Size = Field(wire.MAX_MESSAGE_LENGTH, alias="max-event", description="Longest event.")
    max_frame: Size = Field(wire.MAX_MESSAGE_LENGTH, alias="max-frame", description="Longest J or D frame.")
    max_compressed: Size = Field(16 * MIB, alias="max-compressed", description="Longest C frame.")
    max_inflated: Size = Field(
        100 * MIB, alias="max-inflated", description="Most that comes out of a C frame."
    )
    max_ratio: int = Field(
        1000, alias="max-ratio", description="Of what comes out of a C frame to its length, from 1 MiB on."
    )
    max_nesting: int = Field(1, alias="max-nesting", description="How deep C frames may lie in one another.")
    max_pairs: int = Field(1024, alias="max-pairs", description="Pairs of a D frame.")
    max_memory: Size = Field(
        128 * MIB,
        ge=512 * 1024,
        alias="max-memory",
        description="That all connections may hold for what is not yet parsed, or not yet sent; at least 512k.",
    )
    connection_counters: int = Field(
        16,
        ge=0,
        le=256,
        alias="connection-counters",
        description="Connections that have counters of their own, at most; all are counted in those of the endpoint.",
    )
    max_connections: int = Field(
        256,
        ge=1,
        le=65536,
        alias="max-connections",
        description="More are turned away. Room for one is 10 KiB.",
    )
    window_timeout: Interval = Field(
        30 * S, alias="window-timeout", description="For the next event of a window or frame that was begun."
    )
    idle_timeout: Interval = Field(
        60 * S, alias="idle-timeout", description="For a writer that sends nothing, and is owed nothing."
    )
    write_timeout: Interval = Field(
        30 * S, alias="write-timeout", description="For a writer that does not read its acknowledgements."
    )

    window: int = Field(2048, ge=1, le=1 << 20, description="Most events that a writer sends as one window.")
    pipeline: int = Field(2, ge=1, le=64, description="Windows that a writer sends before it waits.")
    compression: int = Field(3, ge=0, le=9, description="0 for plain frames, or a level up to 9.")
    wrap: Switch = Field(
        False, description='Whether messages are any bytes, to be sent as {"message": "..."}.'
    )
    timeout: Interval = Field(
        30 * S, description="For a connection, and for a sign of life of a reader that was sent everything."
    )
    progress_timeout: Duration = Field(
        0,
        alias="progress-timeout",
        description="For a reader that gives signs of life and acknowledges nothing; 0 for ever, as other writers do.",
    )
    backoff_init: Interval = Field(
        1 * S, alias="backoff-init", description="Before readers that were lost are tried again."
    )
    backoff_max: Interval = Field(60 * S, alias="backoff-max", description="Before any attempt, at most.")
    ttl: Duration = Field(
        0, description="After which a connection is made anew, to the next reader of `endpoint`; 0 for never."
    )
    balance: Switch = Field(
        False,
        description="Whether windows go to all readers of `endpoint`, in no order among them, or to one at a time.",
    )

    @property
    def writer_identity(self) -> str:
        """What publications must have in common, beside their readers and TLS, to share an endpoint."""
        fields = type(self).model_fields
        says = [
            f"{fields[name].alias or name}={getattr(self, name)}"
            for name in _OF_WRITERS
            if getattr(self, name) != fields[name].default
        ]
        return "-WRITER(" + ",".join(says) + ")" if says else ""

    def check_shared(self, uri: ChannelUri, existing: LumberjackParameters) -> None:
        """Raise ChannelUriError where those who have subscribed to this address want other than `uri` does."""
        self.check_same(uri, existing, _OF_READERS)

    def frame_limits(self) -> FrameLimits:
        """Return the bounds of what is parsed; raises ValueError that names one out of its range."""
        return FrameLimits(
            max_event_length=self.max_event,
            max_frame_length=self.max_frame,
            max_compressed_length=self.max_compressed,
            max_inflated_length=self.max_inflated,
            max_ratio=self.max_ratio,
            max_nesting=self.max_nesting,
            max_pairs=self.max_pairs,
        )

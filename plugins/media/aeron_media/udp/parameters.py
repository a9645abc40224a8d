"""Keys of an `aeron:udp` URI that concern the channel, not the stream: for tools, and for media that reuse UDP.

Not here: what the driver reads, with error codes for clients (aeron_core.uri.endpoint_parameters, `channel`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from aeron_core.uri.addresses import HostPort, InterfaceSpec, parse_address
from aeron_core.uri.values import parse_size

Address = Annotated[HostPort, BeforeValidator(parse_address)]
Interface = Annotated[InterfaceSpec, BeforeValidator(InterfaceSpec.parse)]
Size = Annotated[int, BeforeValidator(parse_size)]


class UdpParameters(BaseModel):
    """Parameters of a UDP channel, for tools; keys of the stream are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True)

    endpoint: Address | None = Field(None, description="Address of the receivers, host:port.")
    interface: Interface | None = Field(
        None, description="Local interface: address[:port][/prefix] or {name}[:port]."
    )
    control: Address | None = Field(
        None, description="Address that a publication sends from and that receivers answer to, host:port."
    )
    control_mode: str = Field(
        "", alias="control-mode", description="How destinations are found: manual, dynamic or response."
    )
    tags: str | None = Field(None, description="Channel tag and entity tag, numbers separated by a comma.")
    ttl: int = Field(0, description="Multicast TTL, 0 for the default of the driver.")
    security: str = Field(
        "",
        description="Security profile of the driver's settings by which datagrams are sealed; empty for none.",
    )
    socket_sndbuf_length: Size = Field(
        0, alias="so-sndbuf", description="SO_SNDBUF in bytes, 0 for the default of the driver."
    )
    socket_rcvbuf_length: Size = Field(
        0, alias="so-rcvbuf", description="SO_RCVBUF in bytes, 0 for the default of the driver."
    )
    media_rcv_timestamp_offset: str | None = Field(
        None,
        alias="media-rcv-ts-offset",
        description="Where to write the kernel's receive timestamp: an offset in the payload in bytes, or reserved.",
    )
    channel_rcv_timestamp_offset: str | None = Field(
        None,
        alias="channel-rcv-ts-offset",
        description="Where to write the driver's receive timestamp: an offset in the payload in bytes, or reserved.",
    )
    channel_snd_timestamp_offset: str | None = Field(
        None,
        alias="channel-snd-ts-offset",
        description="Where to write the driver's send timestamp: an offset in the payload in bytes, or reserved.",
    )

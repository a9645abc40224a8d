"""The keys of an `aeron:udp` URI that concern the channel, not the stream that runs over it.

Not here: the checks with the error codes that clients are told (aeron_core.uri.endpoint_parameters, channel).
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
    """Parameters of a UDP channel; keys of the stream are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True)

    endpoint: Address | None = Field(None, description="Where receivers listen, host:port.")
    interface: Interface | None = Field(
        None, description="Local interface: address[:port][/prefix] or {name}[:port]."
    )
    control: Address | None = Field(
        None, description="Where a publication sends from and hears its receivers, host:port."
    )
    control_mode: str = Field(
        "", alias="control-mode", description="How destinations are known: manual, dynamic or response."
    )
    tags: str | None = Field(None, description="Channel tag and entity tag, numbers with a comma between.")
    ttl: int = Field(0, description="Hops of multicast, 0 for the driver's default.")
    socket_sndbuf_length: Size = Field(
        0, alias="so-sndbuf", description="SO_SNDBUF, 0 for the driver's default."
    )
    socket_rcvbuf_length: Size = Field(
        0, alias="so-rcvbuf", description="SO_RCVBUF, 0 for the driver's default."
    )
    media_rcv_timestamp_offset: str | None = Field(
        None, alias="media-rcv-ts-offset", description="Where the kernel's time of reception goes."
    )
    channel_rcv_timestamp_offset: str | None = Field(
        None, alias="channel-rcv-ts-offset", description="Where the driver's time of reception goes."
    )
    channel_snd_timestamp_offset: str | None = Field(
        None, alias="channel-snd-ts-offset", description="Where the driver's time of sending goes."
    )

"""The keys of an `aeron:sp` URI."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Final
from urllib.parse import unquote_to_bytes

from pydantic import BeforeValidator, Field

from aeron_core._native import positions
from aeron_core._native.address import SocketAddress
from aeron_core.uri.addresses import HostPort, parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import parse_bool
from aeron_media.connections.connection_parameters import (
    MIB,
    ConnectionParameters,
    Interval,
    OptionalSize,
    Size,
)
from aeron_media.connections.image_keys import longest_message
from aeron_media.connections.tls.parameters import Switch
from aeron_media.sp._native import wire as sp_wire

S: Final = 1_000_000_000
MS: Final = 1_000_000

Address = Annotated[HostPort, BeforeValidator(parse_address)]


class Mode(Enum):
    """Who makes the connection."""

    LISTEN = "listen"
    DIAL = "dial"


class Transport(Enum):
    """What carries messages."""

    TCP = "tcp"
    IPC = "ipc"
    ABSTRACT = "abstract"
    TLS = "tls"
    WS = "ws"
    WSS = "wss"

    @property
    def is_local(self) -> bool:
        """Whether it is a Unix socket."""
        return self in (Transport.IPC, Transport.ABSTRACT)

    @property
    def is_encrypted(self) -> bool:
        """Whether it has keys of TLS."""
        return self in (Transport.TLS, Transport.WSS)

    @property
    def is_websocket(self) -> bool:
        """Whether messages are those of WebSocket."""
        return self in (Transport.WS, Transport.WSS)


class Protocol(Enum):
    """Which PAIR."""

    PAIR0 = "pair0"
    PAIR1 = "pair1"

    @property
    def number(self) -> int:
        """The protocol's number in greetings."""
        return sp_wire.PROTOCOL_PAIR0 if self is Protocol.PAIR0 else sp_wire.PROTOCOL_PAIR1

    @property
    def subprotocol(self) -> str:
        """The protocol's name in requests of WebSocket. Source: sp-websocket-v1."""
        return "pair.sp.nanomsg.org" if self is Protocol.PAIR0 else "pair1.sp.nanomsg.org"

    @property
    def hops_length(self) -> int:
        """Bytes before the body of a message."""
        return 0 if self is Protocol.PAIR0 else sp_wire.HOPS_LENGTH


def _parse_permissions(value: object) -> int:
    try:
        permissions = int(str(value), 8)
    except ValueError:
        permissions = -1
    if not 0 <= permissions <= 0o777:
        raise ValueError("must be octal, from 0 to 777, such as 660")
    return permissions


Permissions = Annotated[int, BeforeValidator(_parse_permissions)]


#: Fields in which those who share a socket may differ.
_OF_STREAMS: Final = {*ConnectionParameters.of_images, "sndbuf_length", "rcvbuf_length"}


class PairParameters(ConnectionParameters):
    """Parameters of a PAIR channel; keys of the stream are passed over."""

    example = "aeron:sp?endpoint=host:port|mode=dial"

    mode: Mode = Field(description="Whether to wait for peers or to connect to one.")
    transport: Transport = Field(Transport.TCP, description="What carries messages.")
    endpoint: Address | None = Field(None, description="Where to listen or whom to connect to, host:port.")
    path: str | None = Field(
        None,
        description="Of a Unix socket, or its abstract name, with %XX for any byte; or of a WebSocket, / if not said.",
    )
    permissions: Permissions | None = Field(None, description="Of the path of a Unix socket, octal.")
    protocol: Protocol = Field(Protocol.PAIR1, description="The protocol that both ends must speak.")
    poly: Switch = Field(False, description="Whether there may be several peers at a time.")
    ttl: int = Field(
        sp_wire.DEFAULT_TTL, ge=1, le=sp_wire.MAX_HOPS, description="Hops after which messages are discarded."
    )
    accept_zero_hop: Switch = Field(
        False, alias="accept-zero-hop", description="Take messages without a hop, as mangos sends them."
    )
    confirm: Switch = Field(
        False,
        description="Send the first message once the peer is known to have taken us: it has sent one, or has stayed.",
    )
    max_message: OptionalSize = Field(
        None,
        alias="max-message",
        description="Longest message, either way; 1m, unless an eighth of term-length is less.",
    )
    max_memory: Size = Field(
        128 * MIB, alias="max-memory", description="That all peers may hold, for messages that are not whole."
    )
    max_connections: int = Field(
        64, ge=1, le=4096, alias="max-connections", description="More are turned away."
    )
    peer_queue: Size = Field(
        1 * MIB, alias="peer-queue", description="Bytes that wait for each peer, with poly=true."
    )
    handshake_timeout: Interval = Field(
        10 * S, alias="handshake-timeout", description="For a connection, and for the peer's greeting."
    )
    message_timeout: Interval = Field(
        30 * S, alias="message-timeout", description="For more of a message that was begun."
    )
    backoff_init: Interval = Field(
        100 * MS, alias="backoff-init", description="Before the first new attempt."
    )
    backoff_max: Interval = Field(5 * S, alias="backoff-max", description="Before any attempt, at most.")

    @classmethod
    def parse(cls, uri: ChannelUri) -> PairParameters:
        """See `ConnectionParameters.parse`."""
        params = super().parse(uri)
        params._check(uri)
        return params

    @classmethod
    def _values_of(cls, uri: ChannelUri) -> Mapping[str, str]:
        # What encrypts is said by the transport.
        return {**uri.params, "tls": str(_is_encrypted(uri)).lower()}

    def _check(self, uri: ChannelUri) -> None:
        if "tls" in uri.params and parse_bool(uri.params["tls"]) != self.transport.is_encrypted:
            raise uri.fault("tls", "is said by transport=tls")
        if self.transport.is_local:
            self._check_path(uri)
        elif self.endpoint is None:
            raise uri.fault("endpoint", f"must be given, such as {self.example}")
        if self.path is not None and not self.transport.is_local and not self.transport.is_websocket:
            raise uri.fault("path", f"means nothing with transport={self.transport.value}")
        if self.permissions is not None and self.transport is not Transport.IPC:
            raise uri.fault("permissions", "means nothing without transport=ipc")
        longest = positions.max_message_length(self.term_length)
        if self.max_message is not None and not 0 <= self.max_message <= longest:
            raise uri.fault(
                "max-message", f"must be from 0 to {longest}, an eighth of term-length, at most 16m"
            )
        if self.backoff_max < self.backoff_init:
            raise uri.fault("backoff-max", "must not be less than backoff-init")

    def _check_path(self, uri: ChannelUri) -> None:
        if not self.path:
            raise uri.fault("path", f"must be given with transport={self.transport.value}")
        if self.endpoint is not None:
            raise uri.fault(
                "endpoint", f"means nothing with transport={self.transport.value}, which has path="
            )
        try:
            self.local_address()
        except ValueError as error:
            raise uri.fault("path", str(error)) from error

    def check_images(self, uri: ChannelUri) -> None:
        """Raise ChannelUriError where there could be no images of messages; for subscriptions."""
        self.check_image_keys(uri)
        longest = longest_message(self.term_length, self.image_mtu, self.receiver_window)
        if longest < self.max_message_length:
            raise uri.fault(
                "rcv-wnd", f"has room for messages of {longest} bytes alone: max-message= must say so"
            )

    def local_address(self) -> SocketAddress:
        """Return the address of a Unix socket; raises ValueError."""
        path = unquote_to_bytes(self.path or "")
        if self.transport is Transport.ABSTRACT:
            return SocketAddress.unix(b"\0" + path)
        if b"\0" in path:
            raise ValueError("must not have a zero byte; transport=abstract is for names without a file")
        return SocketAddress.unix(path)

    @property
    def max_message_length(self) -> int:
        """The longest message in bytes."""
        if self.max_message is not None:
            return self.max_message
        return min(1 * MIB, positions.max_message_length(self.term_length))

    def check_shared_socket(self, uri: ChannelUri, existing: PairParameters) -> None:
        """Raise ChannelUriError where those who hold the socket want other than `uri` does."""
        self.check_same(uri, existing, (name for name in type(self).model_fields if name not in _OF_STREAMS))

    def check_shared_images(self, uri: ChannelUri, existing: PairParameters) -> None:
        """Raise ChannelUriError where those who have subscribed want other images than `uri` does."""
        self.check_same(uri, existing, self.of_images)


def _is_encrypted(uri: ChannelUri) -> bool:
    try:
        return Transport(uri.params.get("transport", "tcp")).is_encrypted
    except ValueError:
        # Its own field says what is wrong with it.
        return False

"""Keys of an `aeron:sp` channel URI."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Final
from urllib.parse import unquote_to_bytes

from pydantic import BeforeValidator, Field

from aeron_core._native import positions
from aeron_core._native.address import SocketAddress
from aeron_core.errors import ConfigurationError
from aeron_core.uri.addresses import HostPort, parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import BOOL_ALLOWED, format_duration_ns, parse_bool
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

#: Bytes of the path of a Unix socket, or of an abstract name with the zero byte before it. Source: unix(7).
_MAX_PATH_LENGTH: Final = 107

Address = Annotated[HostPort, BeforeValidator(parse_address)]


class Mode(Enum):
    """Role of this end: it connects, or it listens."""

    LISTEN = "listen"
    DIAL = "dial"


class Transport(Enum):
    """Transport below SP: TCP, TLS, a Unix socket with a path (ipc) or an abstract name, WebSocket (wss: with TLS)."""

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
        """Whether it uses TLS."""
        return self in (Transport.TLS, Transport.WSS)

    @property
    def is_websocket(self) -> bool:
        """Whether it uses WebSocket messages."""
        return self in (Transport.WS, Transport.WSS)


class Protocol(Enum):
    """The version of PAIR."""

    PAIR0 = "pair0"
    PAIR1 = "pair1"

    @property
    def number(self) -> int:
        """The number of the protocol in greetings."""
        return sp_wire.PROTOCOL_PAIR0 if self is Protocol.PAIR0 else sp_wire.PROTOCOL_PAIR1

    @property
    def subprotocol(self) -> str:
        """The WebSocket subprotocol. Source: sp-websocket-v1."""
        return "pair.sp.nanomsg.org" if self is Protocol.PAIR0 else "pair1.sp.nanomsg.org"

    @property
    def hops_length(self) -> int:
        """Length in bytes of the hop count before the body of a message."""
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


#: Fields in which channels that share a socket may differ.
_OF_STREAMS: Final = {*ConnectionParameters.of_images, "sndbuf_length", "rcvbuf_length"}


class PairParameters(ConnectionParameters):
    """Parameters of a PAIR channel; keys of the stream are ignored."""

    example = "aeron:sp?endpoint=host:port|mode=dial"
    tls_switch = "transport=tls or transport=wss"

    mode: Mode = Field(description="Listen for peers, or connect to one (dial).")
    transport: Transport = Field(
        Transport.TCP, description="Transport of messages: tcp, ipc, abstract, tls, ws or wss."
    )
    endpoint: Address | None = Field(None, description="Address to listen at or to connect to, host:port.")
    path: str | None = Field(
        None,
        description="Path or abstract name of a Unix socket, %XX for any byte; or path of a WebSocket, / by default.",
    )
    permissions: Permissions | None = Field(
        None,
        description="Permissions of the path of a Unix socket, octal; without it only the driver's user can connect.",
    )
    protocol: Protocol = Field(
        Protocol.PAIR1, description="The protocol, which must be the same at both ends."
    )
    poly: Switch = Field(False, description="Accept several peers at a time (polyamorous).")
    ttl: int = Field(
        sp_wire.DEFAULT_TTL, ge=1, le=sp_wire.MAX_HOPS, description="Messages with more hops are discarded."
    )
    accept_zero_hop: Switch = Field(
        False,
        alias="accept-zero-hop",
        description="Accept messages with a hop count of 0, which mangos sends.",
    )
    confirm: Switch = Field(
        False,
        description="Send nothing until the peer has accepted this end: it has sent a message or stayed connected.",
    )
    max_message: OptionalSize = Field(
        None,
        alias="max-message",
        description="Longest message in both directions; 1m, or an eighth of term-length if that is less.",
    )
    max_memory: Size = Field(
        128 * MIB,
        alias="max-memory",
        description="Memory that all peers together may use for incomplete messages.",
    )
    max_connections: int = Field(
        64,
        ge=1,
        le=4096,
        alias="max-connections",
        description="Connections at a time; further ones are closed.",
    )
    max_per_source: int = Field(
        0,
        ge=0,
        le=4096,
        alias="max-per-source",
        description="Connections at a time from one IPv4 address or one IPv6 network of 64 bits, except Unix sockets; "
        "0 for no limit. Further ones are closed.",
    )
    peer_queue: Size = Field(
        1 * MIB, alias="peer-queue", description="Bytes queued for each peer, with poly=true."
    )
    handshake_timeout: Interval = Field(
        10 * S,
        alias="handshake-timeout",
        description="Time to connect, and to receive the greeting of the peer.",
    )
    message_timeout: Interval = Field(
        30 * S, alias="message-timeout", description="Time for the next bytes of an incomplete message."
    )
    peer_timeout: Interval = Field(
        30 * S,
        alias="peer-timeout",
        description="Time without anything from the peer, while TCP repeats data for it, after which it has vanished "
        "and its connection ends, up to two intervals of the conductor's timer later (2 s by default). It begins when "
        "data is sent that the peer does not acknowledge; each arrival begins it again. A peer that is alive and does "
        "not read stays.",
    )
    backoff_init: Interval = Field(
        100 * MS, alias="backoff-init", description="Pause before the first reconnection attempt."
    )
    backoff_max: Interval = Field(5 * S, alias="backoff-max", description="Longest pause before an attempt.")

    @classmethod
    def parse(cls, uri: ChannelUri) -> PairParameters:
        """See `ConnectionParameters.parse`; keys that contradict each other are wrong, too."""
        params = super().parse(uri)
        params._check(uri)
        return params

    @classmethod
    def _values_of(cls, uri: ChannelUri) -> Mapping[str, str]:
        # The transport determines whether TLS is used.
        return {**uri.params, "tls": str(_is_encrypted(uri)).lower()}

    def _check(self, uri: ChannelUri) -> None:
        self._check_switch(uri)
        if self.transport.is_local:
            self._check_path(uri)
        elif self.endpoint is None:
            raise uri.fault("endpoint", f"must be given, such as {self.example}")
        if self.path is not None and not self.transport.is_local and not self.transport.is_websocket:
            raise uri.fault(
                "path",
                f"has no effect with transport={self.transport.value}: remove it, or set transport= to ipc, abstract, "
                "ws or wss",
            )
        if self.permissions is not None and self.transport is not Transport.IPC:
            raise uri.fault(
                "permissions",
                "requires transport=ipc, the only one with a file: use that, or remove this key",
            )
        longest = positions.max_message_length(self.term_length)
        if self.max_message is not None and not 0 <= self.max_message <= longest:
            raise uri.fault(
                "max-message", f"must be from 0 to {longest} bytes, an eighth of term-length, at most 16m"
            )
        if self.backoff_max < self.backoff_init:
            default = "" if "backoff-max" in uri else f"the default, {format_duration_ns(self.backoff_max)}, "
            raise uri.fault(
                "backoff-max",
                f"{default}must be at least backoff-init={format_duration_ns(self.backoff_init)}",
            )

    def _check_switch(self, uri: ChannelUri) -> None:
        if "tls" not in uri.params:
            return
        try:
            is_encrypted = parse_bool(uri.params["tls"])
        except ConfigurationError as error:
            raise uri.fault("tls", BOOL_ALLOWED) from error
        if is_encrypted != self.transport.is_encrypted:
            raise uri.fault(
                "tls",
                f"must agree with transport={self.transport.value}: true for tls and wss, false for the others: "
                "change one of them, or remove this key",
            )

    def _check_path(self, uri: ChannelUri) -> None:
        if not self.path:
            raise uri.fault(
                "path", f"must be given with transport={self.transport.value}, such as path=/run/pair.sock"
            )
        if self.endpoint is not None:
            raise uri.fault(
                "endpoint",
                f"has no effect with transport={self.transport.value}, which uses path=: remove it",
            )
        try:
            self.local_address()
        except ValueError as error:
            raise uri.fault("path", str(error)) from error

    def check_images(self, uri: ChannelUri) -> None:
        """Raise ChannelUriError if images cannot hold the longest message, or a length of images is not allowed.

        For subscriptions only: publications have no images.
        """
        self.check_image_keys(uri)
        longest = longest_message(self.term_length, self.image_mtu, self.receiver_window)
        if longest < self.max_message_length:
            raise uri.fault(
                "rcv-wnd",
                f"images hold messages of at most {longest} bytes, but max-message is {self.max_message_length} bytes: "
                "reduce max-message=, or increase rcv-wnd= and term-length=",
            )

    def local_address(self) -> SocketAddress:
        """Return the address of a Unix socket, with `path` as its path or abstract name.

        Raises ValueError if a path does not have 1 to 107 bytes or contains a zero byte, or an abstract name does not
        have 1 to 106 bytes.
        """
        path = unquote_to_bytes(self.path or "")
        is_abstract = self.transport is Transport.ABSTRACT
        longest = _MAX_PATH_LENGTH - is_abstract
        if not 1 <= len(path) <= longest:
            raise ValueError(f"must have from 1 to {longest} bytes, has {len(path)}")
        if is_abstract:
            return SocketAddress.unix(b"\0" + path)
        if b"\0" in path:
            raise ValueError(
                "must not contain a zero byte (%00): use transport=abstract for names without a file"
            )
        return SocketAddress.unix(path)

    @property
    def max_message_length(self) -> int:
        """Length of the longest message in bytes, in both directions.

        Without max-message= it is 1 MiB, or an eighth of a term if that is less.
        """
        if self.max_message is not None:
            return self.max_message
        return min(1 * MIB, positions.max_message_length(self.term_length))

    def check_shared_socket(self, uri: ChannelUri, existing: PairParameters) -> None:
        """Raise ChannelUriError if `uri` differs from the channel that opened the shared socket.

        The keys of images, so-sndbuf and so-rcvbuf may differ.
        """
        self.check_same(uri, existing, (name for name in type(self).model_fields if name not in _OF_STREAMS))

    def check_shared_images(self, uri: ChannelUri, existing: PairParameters) -> None:
        """Raise ChannelUriError if `uri` differs in its images from the existing subscriptions."""
        self.check_same(uri, existing, self.of_images)


def _is_encrypted(uri: ChannelUri) -> bool:
    try:
        return Transport(uri.params.get("transport", "tcp")).is_encrypted
    except ValueError:
        # The field `transport` reports the error.
        return False

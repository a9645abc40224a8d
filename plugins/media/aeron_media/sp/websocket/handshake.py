"""The HTTP that comes before WebSocket, at both ends: bytes in and out until there is a connection.

    GET /path HTTP/1.1, Upgrade: websocket, Sec-WebSocket-Protocol: pair1.sp.nanomsg.org  →  ← 101 | 4xx | 505

Who dials names one subprotocol, since peers compare the whole value; who listens takes a list that has it. Host is
not looked at: it says how a peer has reached us, which nobody here can know.

Source: RFC 6455 section 4; the answers to what is refused are those of nng's websocket.c and http_server.c.
"""

from __future__ import annotations

import base64
import binascii
import re
from abc import ABC, abstractmethod
from typing import Final, NoReturn

from wsproto.connection import Connection, ConnectionType
from wsproto.events import AcceptConnection, RejectConnection, Request
from wsproto.extensions import Extension
from wsproto.handshake import H11Handshake
from wsproto.utilities import ProtocolError

from aeron_media.connections.relay.session import SessionError
from aeron_media.sp.websocket.params import WsParams

#: Bytes of a request or an answer. Source: h11, which would hold so many; nng has 8192.
HEAD_LIMIT: Final = 16384
_KEY_LENGTH: Final = 16
_SHOWN: Final = 80


class WsHandshake(ABC):
    """One end; used up when there is a connection."""

    def __init__(self, params: WsParams, extensions: list[Extension], role: ConnectionType) -> None:
        self._params = params
        self._extensions = extensions
        self._role = role
        self._http = H11Handshake(role)
        self._head = bytearray()
        #: What is to be sent; something for the peer may be there even after an error.
        self.outgoing = b""

    def feed(self, data: bytes) -> Connection | None:
        """Take what has come; return a connection once there is one. Raises SessionError."""
        # An end that has come in two pieces begins in the first.
        searched = max(0, len(self._head) - 3)
        self._head += data
        if not self._speaks_http(bytes(self._head[:5])):
            raise SessionError("the peer speaks no HTTP")
        end = self._head.find(b"\r\n\r\n", searched, HEAD_LIMIT)
        if end >= 0:
            # What comes behind it is no HTTP.
            head, rest = bytes(self._head[: end + 4]), bytes(self._head[end + 4 :])
            self._agree(head)
            return Connection(self._role, self._extensions, rest)
        if len(self._head) >= HEAD_LIMIT:
            self._on_long_head()
        return None

    @staticmethod
    @abstractmethod
    def _speaks_http(begin: bytes) -> bool: ...

    @abstractmethod
    def _agree(self, head: bytes) -> None: ...

    @abstractmethod
    def _on_long_head(self) -> NoReturn: ...


class WsAnswer(WsHandshake):
    """The end that listens."""

    def __init__(self, params: WsParams, extensions: list[Extension]) -> None:
        super().__init__(params, extensions, ConnectionType.SERVER)

    @staticmethod
    def _speaks_http(begin: bytes) -> bool:
        # Methods are letters; TLS and SP without WebSocket begin otherwise.
        return not begin or begin[:1].isalpha()

    def _on_long_head(self) -> NoReturn:
        self._refuse(431, f"the peer's request is longer than {HEAD_LIMIT} bytes")

    def _agree(self, head: bytes) -> None:
        self._check_line(head[: head.index(b"\r\n")])
        request = self._read(head)
        wanted = self._params.subprotocol
        if wanted not in request.subprotocols:
            offered = ", ".join(request.subprotocols)
            self._refuse(400, f"the peer offers the subprotocol {_shown(offered)}, not {wanted}")
        self.outgoing = self._http.send(AcceptConnection(subprotocol=wanted))

    def _check_line(self, line: bytes) -> None:
        match = re.fullmatch(rb"(\S+) (\S+) (HTTP/\d\.\d)", line)
        if match is None:
            self._refuse(400, f"the peer's request begins with {_shown(line)}")
        method, target, version = match.groups()
        if version != b"HTTP/1.1":
            self._refuse(505, f"the peer speaks {version.decode()}, not HTTP/1.1")
        if target.partition(b"?")[0] != self._params.path.encode():
            self._refuse(404, f"the peer asks for {_shown(target)}, not {self._params.path}")
        if method != b"GET":
            self._refuse(405, f"the peer has sent {_shown(method)}, not GET", (b"Allow", b"GET"))

    def _read(self, head: bytes) -> Request:
        try:
            self._http.receive_data(head)
            (request,) = self._http.events()
        except ValueError:
            self._refuse(400, "the peer asks for no WebSocket: a header is no text")
        except ProtocolError as error:
            said = (b"Sec-WebSocket-Version", b"13") if "Version" in str(error) else None
            self._refuse(400, f"the peer asks for no WebSocket: {_said(error)}", said)
        assert isinstance(request, Request)
        keys = [value for name, value in request.extra_headers if name == b"sec-websocket-key"]
        if len(keys) != 1 or not _is_key(keys[0]):
            self._refuse(400, "the peer's Sec-WebSocket-Key is not one of 16 bytes")
        return request

    def _refuse(self, status: int, text: str, said: tuple[bytes, bytes] | None = None) -> NoReturn:
        headers = [(b"Connection", b"close")] + ([said] if said else [])
        self.outgoing = self._http.send(RejectConnection(status_code=status, headers=headers))
        raise SessionError(f"{text}: answered with {status}")


class WsRequest(WsHandshake):
    """The end that dials; its request is outgoing from the beginning."""

    def __init__(self, params: WsParams, extensions: list[Extension]) -> None:
        super().__init__(params, extensions, ConnectionType.CLIENT)
        self.outgoing = self._http.send(
            Request(host=params.host, target=params.path, subprotocols=[params.subprotocol])
        )

    @staticmethod
    def _speaks_http(begin: bytes) -> bool:
        return b"HTTP/".startswith(begin)

    def _on_long_head(self) -> NoReturn:
        raise SessionError(f"the peer's answer is longer than {HEAD_LIMIT} bytes")

    def _agree(self, head: bytes) -> None:
        try:
            self._http.receive_data(head)
            event = next(self._http.events(), None)
        except ValueError as error:
            raise SessionError("the peer's answer is no WebSocket: a header is no text") from error
        except ProtocolError as error:
            raise SessionError(f"the peer's answer is no WebSocket: {_said(error)}") from error
        if isinstance(event, RejectConnection):
            raise SessionError(f"the peer has answered {event.status_code} to {self._params.path}, not 101")
        wanted = self._params.subprotocol
        if not isinstance(event, AcceptConnection) or event.subprotocol != wanted:
            raise SessionError(f"the peer has taken no subprotocol, not even {wanted}")


def _is_key(value: bytes) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == _KEY_LENGTH
    except binascii.Error:
        return False


def _said(error: ProtocolError) -> str:
    """Return what wsproto says, which may have in it what the peer has sent."""
    text = str(error)
    return _printable(text[:1].lower() + text[1:])


def _shown(value: bytes | str) -> str:
    """Return what a peer has sent so that it can stand in a log."""
    return f"'{_printable(value.decode('latin-1') if isinstance(value, bytes) else value)}'"


def _printable(text: str) -> str:
    return text[:_SHOWN].encode("unicode_escape").decode() + ("..." if len(text) > _SHOWN else "")

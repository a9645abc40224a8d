"""WebSocket handshake: the HTTP request and response before a connection, at both ends.

    GET /path HTTP/1.1, Upgrade: websocket, Sec-WebSocket-Protocol: pair1.sp.nanomsg.org  →  ← 101 | 4xx | 505

The connecting end names one subprotocol, because some peers compare the whole header value; the listening end accepts
a list that contains it. The Host header is not checked: proxies and NAT may have changed the name or address.

Source: RFC 6455 section 4; status codes of refusals as in nng's websocket.c and http_server.c.
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

#: Longest request or response in bytes. Source: h11, which holds as much; nng has 8192.
HEAD_LIMIT: Final = 16384
_KEY_LENGTH: Final = 16
_MAX_QUOTED_LENGTH: Final = 80
#: Status codes that a server for WebSocket or a proxy answers. Others are only in the event log: a peer could send 900.
_USUAL_STATUS_CODES: Final = (200, 400, 401, 403, 404, 405, 426, 431, 500, 502, 503, 505)
_CHECK_SERVER: Final = "endpoint= and path= must be those of a WebSocket server for SP"


class WsHandshake(ABC):
    """One end of a handshake; it serves for one connection."""

    def __init__(self, params: WsParams, extensions: list[Extension], role: ConnectionType) -> None:
        self._params = params
        self._extensions = extensions
        self._role = role
        self._http = H11Handshake(role)
        self._head = bytearray()
        #: Bytes to be sent; also set when `feed` raises, if the peer gets a response.
        self.outgoing = b""

    def feed(self, data: bytes) -> Connection | None:
        """Accept received bytes; return the connection once the handshake is complete, None before that.

        Raises SessionError if the handshake fails; `outgoing` then has the response for the peer, if it gets one.
        """
        # The empty line that ends the head, four bytes, may arrive in several pieces.
        searched = max(0, len(self._head) - 3)
        self._head += data
        if not self._is_http(bytes(self._head[:5])):
            raise SessionError("the peer does not speak HTTP: use WebSocket at both ends, or at none")
        end = self._head.find(b"\r\n\r\n", searched, HEAD_LIMIT)
        if end >= 0:
            # The bytes after the empty line belong to WebSocket.
            head, rest = bytes(self._head[: end + 4]), bytes(self._head[end + 4 :])
            self._accept_head(head)
            return Connection(self._role, self._extensions, rest)
        if len(self._head) >= HEAD_LIMIT:
            self._on_long_head()
        return None

    @staticmethod
    @abstractmethod
    def _is_http(begin: bytes) -> bool: ...

    @abstractmethod
    def _accept_head(self, head: bytes) -> None: ...

    @abstractmethod
    def _on_long_head(self) -> NoReturn: ...


class WsServerHandshake(WsHandshake):
    """The handshake of the listening end."""

    def __init__(self, params: WsParams, extensions: list[Extension]) -> None:
        super().__init__(params, extensions, ConnectionType.SERVER)

    @staticmethod
    def _is_http(begin: bytes) -> bool:
        # HTTP methods are letters; TLS and SP without WebSocket begin with other bytes.
        return not begin or begin[:1].isalpha()

    def _on_long_head(self) -> NoReturn:
        self._refuse(
            431,
            f"the request of the peer is longer than {HEAD_LIMIT} bytes",
            "the peer must send fewer or shorter headers",
        )

    def _accept_head(self, head: bytes) -> None:
        self._check_line(head[: head.index(b"\r\n")])
        request = self._parse_request(head)
        wanted = self._params.subprotocol
        if wanted not in request.subprotocols:
            offered = ", ".join(request.subprotocols)
            self._refuse(
                400,
                f"the peer does not offer the subprotocol {wanted}",
                "use the same protocol= at both ends",
                detail=f"the peer offers {_quoted(offered)}",
            )
        self.outgoing = self._http.send(AcceptConnection(subprotocol=wanted))

    def _check_line(self, line: bytes) -> None:
        match = re.fullmatch(rb"(\S+) (\S+) (HTTP/\d\.\d)", line)
        if match is None:
            self._refuse(
                400,
                "the peer sent a malformed request line",
                f"it must be GET {self._params.path} HTTP/1.1",
                detail=f"request line {_quoted(line)}",
            )
        method, target, version = match.groups()
        if version != b"HTTP/1.1":
            self._refuse(
                505,
                "the peer does not speak HTTP/1.1",
                "connect with a WebSocket client",
                detail=f"the peer speaks {version.decode()}",
            )
        if target.partition(b"?")[0] != self._params.path.encode():
            self._refuse(
                404,
                f"the peer asks for another path than {self._params.path}",
                "use the same path= at both ends",
                detail=f"the peer asks for {_quoted(target)}",
            )
        if method != b"GET":
            self._refuse(
                405,
                "the peer sent another method than GET",
                "connect with a WebSocket client",
                (b"Allow", b"GET"),
                detail=f"the peer sent {_quoted(method)}",
            )

    def _parse_request(self, head: bytes) -> Request:
        try:
            self._http.receive_data(head)
            (request,) = self._http.events()
        except ValueError:
            self._refuse(
                400,
                "the request of the peer is not a WebSocket request: a header is not text",
                "connect with a WebSocket client",
            )
        except ProtocolError as error:
            extra = (b"Sec-WebSocket-Version", b"13") if "Version" in str(error) else None
            self._refuse(
                400,
                "the request of the peer is not a WebSocket request",
                "connect with a WebSocket client",
                extra,
                detail=_error_text(error),
            )
        assert isinstance(request, Request)
        keys = [value for name, value in request.extra_headers if name == b"sec-websocket-key"]
        if len(keys) != 1 or not _is_key(keys[0]):
            self._refuse(
                400,
                "the Sec-WebSocket-Key of the peer does not encode 16 bytes",
                "it must be 16 bytes in base64",
            )
        return request

    def _refuse(
        self,
        status: int,
        text: str,
        remedy: str,
        extra: tuple[bytes, bytes] | None = None,
        *,
        detail: str = "",
    ) -> NoReturn:
        headers = [(b"Connection", b"close")] + ([extra] if extra else [])
        self.outgoing = self._http.send(RejectConnection(status_code=status, headers=headers))
        raise SessionError(f"{text}: answered with {status}; {remedy}", detail=detail)


class WsClientHandshake(WsHandshake):
    """The handshake of the connecting end; its request is outgoing from the start."""

    def __init__(self, params: WsParams, extensions: list[Extension]) -> None:
        super().__init__(params, extensions, ConnectionType.CLIENT)
        self.outgoing = self._http.send(
            Request(host=params.host, target=params.path, subprotocols=[params.subprotocol])
        )

    @staticmethod
    def _is_http(begin: bytes) -> bool:
        return b"HTTP/".startswith(begin)

    def _on_long_head(self) -> NoReturn:
        raise SessionError(
            f"the response of the peer is longer than {HEAD_LIMIT} bytes, the maximum: {_CHECK_SERVER}"
        )

    def _accept_head(self, head: bytes) -> None:
        try:
            self._http.receive_data(head)
            event = next(self._http.events(), None)
        except ValueError as error:
            raise SessionError(
                f"the response of the peer is not a WebSocket response: a header is not text: {_CHECK_SERVER}"
            ) from error
        except ProtocolError as error:
            raise SessionError(
                f"the response of the peer is not a WebSocket response: {_CHECK_SERVER}",
                detail=_error_text(error),
            ) from error
        if isinstance(event, RejectConnection):
            status = event.status_code
            shown = status if status in _USUAL_STATUS_CODES else "a status that the event log has"
            raise SessionError(
                f"the peer answered {shown} to {self._params.path}, not 101: {_CHECK_SERVER}; "
                "use the same protocol= at both ends",
                detail=f"status {status}",
            )
        wanted = self._params.subprotocol
        if not isinstance(event, AcceptConnection) or event.subprotocol != wanted:
            raise SessionError(
                f"the peer did not accept the subprotocol {wanted}: use the same protocol= at both ends"
            )


def _is_key(value: bytes) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == _KEY_LENGTH
    except binascii.Error:
        return False


def _error_text(error: ProtocolError) -> str:
    """Return the message of wsproto, printable: it may quote bytes of the peer."""
    text = str(error)
    return _printable(text[:1].lower() + text[1:])


def _quoted(value: bytes | str) -> str:
    """Return a quoted, printable form of bytes of the peer."""
    return f"'{_printable(value.decode('latin-1') if isinstance(value, bytes) else value)}'"


def _printable(text: str) -> str:
    return text[:_MAX_QUOTED_LENGTH].encode("unicode_escape").decode() + (
        "..." if len(text) > _MAX_QUOTED_LENGTH else ""
    )

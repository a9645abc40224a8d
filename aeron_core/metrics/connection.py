"""One HTTP connection of the metrics endpoint: reads a request of limited length, then sends the answer and ends.

Not here: when it is closed without having ended, and when it may compute its answer (server).
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import selectors
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication, WSGIEnvironment

METRICS_PATH: Final = "/metrics"
#: Maximum length of a request with its headers. Invented: the limit of common servers for one header.
MAX_REQUEST_LENGTH: Final = 8192

_END_OF_HEADERS: Final = b"\r\n\r\n"
#: Control characters, except a tab. The answer repeats a part of the header Accept: a line feed would begin a header.
_FORBIDDEN: Final = re.compile("[\\x00-\\x08\\x0a-\\x1f\\x7f]")
_AUTHORIZATION: Final = "HTTP_AUTHORIZATION"
#: Headers that prometheus_client reads: they choose the text format and its compression; and that of the token.
_PASSED_HEADERS: Final = {
    "accept": "HTTP_ACCEPT",
    "accept-encoding": "HTTP_ACCEPT_ENCODING",
    "authorization": _AUTHORIZATION,
}


@frozen()
class _Refusal:
    """The answer to a request that is not one for the metrics; an empty `text` is the phrase of the status."""

    status: HTTPStatus
    text: str = ""


class MetricsConnection:
    """A connection and its state; used by one thread."""

    def __init__(
        self, sock: socket.socket, deadline: float, token: str = "", host: str | None = None
    ) -> None:
        """Use a connected socket.

        `token`: what a request must have in its header Authorization, empty for nothing. `host`: refuse a name in the
        header Host other than this one and localhost, None for any.
        """
        sock.setblocking(False)
        self._token = token
        self._host = host
        self.socket = sock
        #: Time at which the server closes this connection, in seconds of the monotonic clock.
        self.deadline = deadline
        #: The request that waits for `answer`, as the environment of an application.
        self.request: WSGIEnvironment | None = None
        self._received = b""
        self._unsent: memoryview | None = None

    def work(self) -> int | None:
        """Read or send without blocking; return the events to wait for, 0 if `answer` is due, None at the end.

        An error of the connection ends it too. Events are those of `selectors`.
        """
        try:
            return self._read() if self._unsent is None else self._send(self._unsent)
        except BlockingIOError:
            return selectors.EVENT_READ if self._unsent is None else selectors.EVENT_WRITE
        except OSError:
            return None

    def answer(self, app: WSGIApplication) -> int | None:
        """Create the answer to `request`, which must be set, and begin to send it; returns as `work`."""
        request = self.request
        assert request is not None
        self.request = None
        head: list[str] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_: object) -> object:
            head.append(status)
            head.extend(f"{name}: {value}" for name, value in headers)
            return None

        try:
            body = b"".join(app(request, start_response))  # type: ignore[arg-type]
        except Exception:  # a counter that cannot be shown must not end the thread
            return self._refuse(_Refusal(HTTPStatus.INTERNAL_SERVER_ERROR))
        return self._begin(head, body)

    def _read(self) -> int | None:
        data = self.socket.recv(MAX_REQUEST_LENGTH)
        if not data:
            return None
        self._received += data
        end = self._received.find(_END_OF_HEADERS)
        if end < 0 and len(self._received) < MAX_REQUEST_LENGTH:
            return selectors.EVENT_READ
        if not 0 <= end < MAX_REQUEST_LENGTH:
            return self._refuse(_Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))
        parsed = _parse(self._received[:end].decode("latin-1"), self._host)
        if isinstance(parsed, _Refusal):
            return self._refuse(parsed)
        if self._token and not self._is_authorized(parsed.pop(_AUTHORIZATION, "")):
            return self._refuse(_Refusal(HTTPStatus.UNAUTHORIZED, "a token is required"))
        self.request = parsed
        return 0

    def _is_authorized(self, header: str) -> bool:
        scheme, _, token = header.partition(" ")
        # Compared in constant time; latin-1 as the headers were decoded.
        is_equal = hmac.compare_digest(token.strip().encode("latin-1"), self._token.encode("latin-1"))
        return is_equal and scheme.lower() == "bearer"

    def _refuse(self, refusal: _Refusal) -> int | None:
        text = (refusal.text or refusal.status.phrase) + "\n"
        head = [f"{refusal.status:d} {refusal.status.phrase}", "Content-Type: text/plain; charset=utf-8"]
        if refusal.status is HTTPStatus.UNAUTHORIZED:
            head.append("WWW-Authenticate: Bearer")
        return self._begin(head, text.encode())

    def _begin(self, head: list[str], body: bytes) -> int | None:
        lines = [
            f"HTTP/1.1 {head[0]}",
            *head[1:],
            f"Content-Length: {len(body)}",
            "Connection: close",
            "",
            "",
        ]
        self._unsent = memoryview("\r\n".join(lines).encode("latin-1") + body)
        return self.work()

    def _send(self, unsent: memoryview) -> int | None:
        sent = self.socket.send(unsent)
        self._unsent = unsent[sent:]
        if self._unsent:
            return selectors.EVENT_WRITE
        # The answer is complete. The close that follows still resets the connection if bytes of the peer are unread.
        self.socket.shutdown(socket.SHUT_WR)
        return None


def _parse(text: str, host: str | None) -> WSGIEnvironment | _Refusal:
    """Return the environment of a request for the metrics, and for `host` if it is given; else a refusal."""
    first, *lines = text.split("\r\n")
    words = first.split(" ")
    is_malformed = len(words) != 3 or not words[2].startswith("HTTP/1.")
    if is_malformed or any(map(_FORBIDDEN.search, (first, *lines))):
        return _Refusal(HTTPStatus.BAD_REQUEST)
    method, target, _ = words
    if method != "GET":
        return _Refusal(HTTPStatus.METHOD_NOT_ALLOWED)
    path, _, query = target.partition("?")
    if unquote(path) != METRICS_PATH:
        return _Refusal(HTTPStatus.NOT_FOUND, f"metrics are at {METRICS_PATH}")
    environ: WSGIEnvironment = {"REQUEST_METHOD": method, "PATH_INFO": METRICS_PATH, "QUERY_STRING": query}
    for line in lines:
        name, _, value = line.partition(":")
        # A page of another site that rebinds its name to this machine sends that name.
        if host is not None and name.lower() == "host" and not _is_for(value.strip(), host):
            return _Refusal(HTTPStatus.MISDIRECTED_REQUEST, f"use an address, localhost or {host}")
        if name.lower() in _PASSED_HEADERS:
            environ[_PASSED_HEADERS[name.lower()]] = value.strip()
    return environ


def _is_for(header: str, host: str) -> bool:
    """Return whether the header Host names `host`, this machine, or an address, which no name server can change."""
    name = header.lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    if name in ("localhost", host.lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

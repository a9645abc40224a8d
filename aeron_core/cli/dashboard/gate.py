"""Gate in front of the page: decides which requests reach NiceGUI, and adds headers to each answer.

    host        on loopback, the header Host must be a name of this machine: a page elsewhere that rebinds its name to
                127.0.0.1 sends its own name
    origin      a WebSocket, or a POST, must come from a page of this server
    site        what a page of another site may cause a browser to request is a visit of the page, nothing else
    path        the page, its assets, its connection, and what this module answers itself; nothing else
    token       with a token, `Authorization: Bearer`, or the cookie that a log-in has set
    sessions    at most `MAX_SESSIONS` pages, and as many connections of pages

Not here: connections and their limits (`server`), and reading the token (`access`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Final

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aeron_core.cli.dashboard.access import Access
from aeron_core.cli.dashboard.exchange import SNAPSHOTS_PATH
from aeron_core.cli.dashboard.tokens import TokenCheck, header

#: Invented.
MAX_SESSIONS: Final = 16
_PAGE: Final = "/"
_SOCKET: Final = "/_nicegui_ws/"
_ASSETS: Final = "/_nicegui/"
_ICON: Final = "/favicon.ico"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
#: Headers that would change how NiceGUI answers.
_DROPPED: Final = frozenset(
    {b"forwarded", b"purpose", b"sec-purpose", b"x-nicegui-client-id", b"x-forwarded-prefix"}
)
#: NiceGUI needs inline scripts, and compiles templates in the browser.
_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Gate:
    """An ASGI application around that of the page; `pages` returns how many pages are open."""

    def __init__(self, app: ASGIApp, access: Access, port: int, pages: Callable[[], int]) -> None:
        self._app = app
        self._pages = pages
        self._sockets = 0
        self._scheme = "http" if access.tls is None else "https"
        self._tokens = TokenCheck(access.token, port, is_tls=access.tls is not None) if access.token else None
        self._hosts = frozenset(f"{host}:{port}" for host in access.hosts)
        if port == _DEFAULT_PORTS[self._scheme]:
            # Browsers leave it out.
            self._hosts |= access.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass on a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        else:
            await self._answer(scope, receive, _with_headers(send))

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_refused = (
            not scope["path"].startswith(_SOCKET)
            or not self._is_of_host(scope)
            or not self._is_of_origin(scope)
            # Browsers have the cookie; a token would be an attempt without a delay.
            or (self._tokens is not None and not self._tokens.is_logged_in(scope))
            or self._sockets >= MAX_SESSIONS
        )
        if is_refused:
            # Before the connection is accepted, uvicorn answers with 403.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        self._sockets += 1
        try:
            await self._app(_cleaned(scope), receive, send)
        finally:
            self._sockets -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
        elif self._tokens is not None and not self._tokens.is_known(scope):
            response = await self._tokens.answer(scope, receive, is_page=scope["path"] == _PAGE)
            await response(scope, receive, send)
        else:
            await self._app(_cleaned(scope), receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        if not self._is_of_host(scope):
            return _plain(HTTPStatus.MISDIRECTED_REQUEST, f"use one of {', '.join(sorted(self._hosts))}")
        path, method = scope["path"], scope["method"]
        if self._tokens is not None and (method, path) == ("POST", TokenCheck.PATH):
            return None if self._is_of_origin(scope) else _plain(HTTPStatus.FORBIDDEN, "log in on this page")
        if header(scope, b"sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(scope):
            return _plain(HTTPStatus.FORBIDDEN, "not from another site")
        if method not in ("GET", "HEAD"):
            return _plain(HTTPStatus.METHOD_NOT_ALLOWED)
        return self._refusal_of(path)

    def _refusal_of(self, path: str) -> Response | None:
        if path not in (_PAGE, _ICON, SNAPSHOTS_PATH) and not path.startswith(_ASSETS):
            return _plain(HTTPStatus.NOT_FOUND)
        if path == _PAGE and self._pages() >= MAX_SESSIONS:
            text = f"{MAX_SESSIONS} pages are open, which is the limit: close one, and wait some seconds"
            return _plain(HTTPStatus.SERVICE_UNAVAILABLE, text)
        return None

    def _is_of_host(self, scope: Scope) -> bool:
        return not self._hosts or header(scope, b"host").lower() in self._hosts

    def _is_of_origin(self, scope: Scope) -> bool:
        """Return whether a request comes from a page of this server, or from a program that is no browser."""
        origin = header(scope, b"origin")
        return not origin or origin.lower() == f"{self._scheme}://{header(scope, b'host').lower()}"


def _is_visit(scope: Scope) -> bool:
    """Return whether a browser requests the page to show it in a tab, not in a frame of another page."""
    return (header(scope, b"sec-fetch-mode"), header(scope, b"sec-fetch-dest")) == ("navigate", "document")


def _cleaned(scope: Scope) -> Scope:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return {**scope, "headers": [each for each in headers if each[0] not in _DROPPED]}


def _plain(status: HTTPStatus, text: str = "") -> Response:
    return PlainTextResponse(f"{text or status.phrase}\n", status)


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return wrapped

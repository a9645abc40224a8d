"""Requests to the dashboard: none reaches the page that must not, and each has one answer.

An input begins with a byte: 1 for a dashboard with a token, which any host reaches. Requests follow, each a byte, 1 for
a WebSocket, and a block: a line with method and path, lines with headers, and after an empty line the body. `$COOKIE`
stands for the cookie of the last log-in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Scope, Send

from aeron_core.cli.dashboard import tokens
from aeron_core.cli.dashboard.access import LOOPBACK_NAMES, Access
from aeron_core.cli.dashboard.gate import Gate
from aeron_core.cli.dashboard.tokens import MAX_BROWSERS
from aeron_core.uri.addresses import HostPort
from targets._script import Script, block

PORT = 8900
TOKEN = "0123456789abcdef"
GUARDED, SOCKET = 1, 1
LOCAL = Access(HostPort("127.0.0.1", PORT), LOOPBACK_NAMES)
OPEN = Access(HostPort("0.0.0.0", PORT), frozenset(), TOKEN)
HOST = b"host: 127.0.0.1:8900"
PATHS = ("/", "/favicon.ico", "/snapshots", "/_nicegui/", "/_nicegui_ws/")
MAX_REQUESTS = 100


def request(first: bytes, *headers: bytes, body: bytes = b"", operation: int = 0) -> bytes:
    return block(b"\n".join([first, HOST, *headers, b"", body]), operation)


def seeds() -> list[bytes]:
    log_in = request(b"POST /login", b"origin: http://127.0.0.1:8900", body=b"x=1&token=" + TOKEN.encode())
    return [
        b"\0" + request(b"GET /") + request(b"GET /_nicegui_ws/socket.io/", operation=SOCKET),
        b"\1" + request(b"GET /snapshots", b"authorization: Bearer " + TOKEN.encode()),
        b"\1" + log_in + request(b"GET /_nicegui/a.js", b'cookie: a="b; aeron-dashboard-8900=$COOKIE; c'),
        b"\1"
        + log_in * 2
        + request(b"GET /_nicegui_ws/", b"cookie: aeron-dashboard-8900=$COOKIE", operation=SOCKET),
        b"\0"
        + request(
            b"GET /", b"sec-fetch-site: cross-site", b"sec-fetch-mode: navigate", b"sec-fetch-dest: document"
        ),
    ]


class Page:
    """The application behind the gate; notes the requests that reach it."""

    def __init__(self) -> None:
        self.reached: Scope | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached = scope
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"the page"})


@contextmanager
def without_penalty() -> Iterator[None]:
    before, tokens.PENALTY_S = tokens.PENALTY_S, 0.0  # type: ignore[misc]
    try:
        yield
    finally:
        tokens.PENALTY_S = before  # type: ignore[misc]


def check(data: bytes) -> bool:
    with without_penalty():
        return asyncio.run(_check_requests(data[:1] == b"\1", Script(data[1:])))


async def _check_requests(is_guarded: bool, script: Script) -> bool:
    page = Page()
    gate = Gate(page, OPEN if is_guarded else LOCAL, PORT, lambda: 0)
    cookies: list[str] = [""]
    accepted = False
    for operation, content in script.blocks(MAX_REQUESTS):
        head, _, body = content.replace(b"$COOKIE", cookies[-1].encode()).partition(b"\n\n")
        scope = _scope_of(head, is_socket=bool(operation & SOCKET))
        page.reached = None
        answer = await _answer_of(gate, scope, body)
        if page.reached is not None:
            accepted = True
            assert_may_reach(scope, head, cookies[1:] if is_guarded else None)
        cookie = answer.get(b"set-cookie", b"").decode()
        if cookie:
            assert TOKEN in body.decode("latin-1") or "%" in body.decode("latin-1")
            cookies.append(cookie.partition(";")[0].partition("=")[2])
    assert gate._tokens is None or len(gate._tokens._browsers) <= MAX_BROWSERS
    assert gate._tokens is None or not gate._tokens._attempts
    return accepted


def _scope_of(head: bytes, *, is_socket: bool) -> Scope:
    """Return what uvicorn makes of a request: names of headers are in lower case, none has a line feed."""
    first, *lines = head.split(b"\n")
    method, _, path = first.partition(b" ")
    pairs = [line.partition(b":") for line in lines]
    return {
        "type": "websocket" if is_socket else "http",
        "method": method.decode("latin-1"),
        "path": path.partition(b"?")[0].decode("utf-8", "replace"),
        "headers": [(name.lower(), value.strip()) for name, _, value in pairs],
        "client": ("10.0.0.1", 1),
    }


async def _answer_of(gate: Gate, scope: Scope, body: bytes) -> dict[bytes, bytes]:
    """Return the headers of the answer, which must be one."""
    sent: list[Message] = []
    pieces = [body[at : at + 4000] for at in range(0, len(body), 4000)] or [b""]

    async def receive() -> Message:
        if scope["type"] == "websocket":
            return {"type": "websocket.connect"}
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    await gate(scope, receive, send)
    if scope["type"] == "websocket":
        assert [each["type"] for each in sent] in (["websocket.accept"], ["websocket.close"])
        return {}
    start, *rest = sent
    assert start["type"] == "http.response.start"
    assert [each["type"] for each in rest] == ["http.response.body"]
    headers = dict(start["headers"])
    assert b"content-security-policy" in headers
    assert all(b"\n" not in value and b"\r" not in value for value in headers.values())
    return headers


def assert_may_reach(scope: Scope, head: bytes, cookies: list[str] | None) -> None:
    """Assert that a request may reach the page; `cookies` are those given out, None without a token."""
    headers = scope["headers"]
    assert scope["path"].startswith(PATHS), scope["path"]
    assert scope["type"] == "websocket" or scope["method"] in {"GET", "HEAD"}
    hosts = [value.lower().decode("latin-1") for name, value in headers if name == b"host"]
    host = hosts[0] if len(hosts) == 1 else ""
    if cookies is None:
        assert host in {f"{name}:{PORT}" for name in LOOPBACK_NAMES}
    else:
        text = head.decode("latin-1")
        # A cookie may have escapes.
        assert TOKEN in text or any(cookie in text for cookie in cookies) or "\\" in text
    origins = [value.lower().decode("latin-1") for name, value in headers if name == b"origin"]
    if scope["type"] == "websocket" and len(origins) == 1:
        assert origins[0] in {"", f"http://{host}"}

"""Log-in with a token: the form, and cookies of the browsers that have sent the token.

Invariant: the number of cookies that are valid is bounded, and each expires. A wrong token delays the next attempt of
its source.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope

# All are invented.
#: Browsers that are logged in; the oldest is logged out.
MAX_BROWSERS: Final = 64
#: Seconds after which a browser must log in again.
VALID_S: Final = 12 * 3600
#: Seconds from a wrong token to the next attempt of the same source, and attempts of a source that may wait.
PENALTY_S: Final = 1.0
_MAX_WAITING: Final = 8
_MAX_FORM_LENGTH: Final = 8192
#: Seconds in which a form must arrive.
_FORM_S: Final = 5.0

_FORM: Final = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>aeron-core dashboard</title><style>
:root { color-scheme: light dark; font: 14px/20px system-ui, sans-serif; }
body { margin: 64px auto; max-width: 320px; padding: 0 16px; }
h1 { font-size: 16px; }
label, input, button { display: block; width: 100%%; box-sizing: border-box; font: inherit; }
input, button { margin-top: 8px; padding: 8px; }
</style></head><body><h1>aeron-core dashboard</h1>
<form method="post" action="/login"><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button></form><p role="alert">%s</p></body></html>
"""


class _Attempts:
    """Attempts of one source, one after the other."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


class TokenCheck:
    """Compares tokens and cookies in constant time; used by the event loop only."""

    #: Path that the form is sent to.
    PATH: Final = "/login"

    def __init__(self, token: str, port: int, *, is_tls: bool) -> None:
        # Digests have one length: that of the token does not show in the time of the comparison.
        self._digest = hashlib.sha256(token.encode()).digest()
        # Browsers send cookies of a host to all of its ports.
        self._name = f"aeron-dashboard-{port}"
        self._is_tls = is_tls
        #: Times in seconds of the monotonic clock at which cookies expire, the oldest first.
        self._browsers: dict[str, float] = {}
        # By the address of the source: one host's wrong tokens must not keep the users of others out.
        self._attempts: dict[str, _Attempts] = {}

    def is_known(self, scope: Scope) -> bool:
        """Return whether a request has the token, or the cookie of a browser that is logged in."""
        token = _bearer_of(scope)
        return self.is_logged_in(scope) if token is None else self._is_token(token)

    def is_logged_in(self, scope: Scope) -> bool:
        """Return whether a request has the cookie of a browser that is logged in."""
        # Not http.cookies, which discards all cookies if one is malformed: other servers of this host set those.
        found = cookie_parser(header(scope, b"cookie")).get(self._name, "")
        now = time.monotonic()
        is_known = False
        for each, until in self._browsers.items():
            # All are compared, so that the time does not depend on which one is equal.
            is_known |= hmac.compare_digest(each.encode(), found.encode()) and until > now
        return is_known

    async def answer(self, scope: Scope, receive: Receive, *, is_page: bool) -> Response:
        """Return the answer to a request without token: the form, or the result of the form."""
        if scope["path"] == self.PATH:
            return await self._log_in(scope, receive)
        if _bearer_of(scope) is not None:
            # The delay of a wrong token in the form: guesses in headers must not be faster.
            return await self._attempt(scope, None)
        if is_page:
            return HTMLResponse(_FORM % "", HTTPStatus.UNAUTHORIZED, {"Cache-Control": "no-store"})
        return _required()

    async def _log_in(self, scope: Scope, receive: Receive) -> Response:
        try:
            token = await asyncio.wait_for(_token_of(receive), _FORM_S)
        except TimeoutError:
            return PlainTextResponse("the form is incomplete\n", HTTPStatus.REQUEST_TIMEOUT)
        return await self._attempt(scope, token)

    async def _attempt(self, scope: Scope, token: str | None) -> Response:
        """Return the answer to the token of a form, or to a wrong one in a header, for which `token` is None."""
        source = (scope.get("client") or ("",))[0]
        attempts = self._attempts.setdefault(source, _Attempts())
        if attempts.waiting >= _MAX_WAITING:
            return PlainTextResponse("too many attempts\n", HTTPStatus.TOO_MANY_REQUESTS)
        attempts.waiting += 1
        try:
            async with attempts.lock:
                if token is None or not self._is_token(token):
                    await asyncio.sleep(PENALTY_S)
                    return _required() if token is None else _refused()
        finally:
            attempts.waiting -= 1
            if not attempts.waiting:
                del self._attempts[source]
        response = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        response.set_cookie(
            self._name, self._new_cookie(), VALID_S, secure=self._is_tls, httponly=True, samesite="strict"
        )
        return response

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(hashlib.sha256(text.encode()).digest(), self._digest)

    def _new_cookie(self) -> str:
        cookie = secrets.token_urlsafe(32)
        while len(self._browsers) >= MAX_BROWSERS:
            del self._browsers[next(iter(self._browsers))]
        self._browsers[cookie] = time.monotonic() + VALID_S
        return cookie


def _required() -> Response:
    return PlainTextResponse("a token is required\n", HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": "Bearer"})


def _refused() -> Response:
    return HTMLResponse(_FORM % "This is not the token.", HTTPStatus.FORBIDDEN, {"Cache-Control": "no-store"})


def _bearer_of(scope: Scope) -> str | None:
    """Return the token in the header Authorization, None if it has none."""
    kind, _, token = header(scope, b"authorization").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def header(scope: Scope, name: bytes) -> str:
    """Return a header of a request, empty if it is missing or is there more than once."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""


async def _token_of(receive: Receive) -> str:
    """Return the token of a form, empty if it has none, or if the form is too long."""
    body = b""
    is_complete = False
    while not is_complete:
        message = await receive()
        if message["type"] != "http.request":
            return ""
        body += message.get("body", b"")
        if len(body) > _MAX_FORM_LENGTH:
            return ""
        is_complete = not message.get("more_body", False)
    return parse_qs(body.decode("latin-1")).get("token", [""])[0]

"""Requests that reach the page, and those that are refused; without NiceGUI."""

import asyncio
from http import HTTPStatus

import pytest

from aeron_core.cli.dashboard import tokens
from aeron_core.cli.dashboard.access import LOOPBACK_NAMES, Access
from aeron_core.cli.dashboard.gate import MAX_SESSIONS, Gate
from aeron_core.cli.dashboard.tokens import MAX_BROWSERS, TokenCheck
from aeron_core.uri.addresses import HostPort

HERE = HostPort("127.0.0.1", 8900)
LOCAL = Access(HERE, LOOPBACK_NAMES)
TOKEN = "0123456789abcdef"
GUARDED = Access(HostPort("0.0.0.0", 8900), frozenset(), TOKEN)


async def page(scope, receive, send):
    """An application in the place of the page."""
    page.headers = dict(scope["headers"])
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the page"})


class Answer:
    def __init__(self, messages):
        self.messages = messages
        self.status = messages[0].get("status")
        self.headers = {name.decode(): value.decode() for name, value in messages[0].get("headers", ())}
        self.text = b"".join(each.get("body", b"") for each in messages[1:]).decode()

    @property
    def is_connected(self):
        return self.messages[0]["type"] == "websocket.accept"


def gate(access=LOCAL, pages=0):
    return Gate(page, access, 8900, lambda: pages)


def ask(gate, path="/", method="GET", body=b"", kind="http", **headers):
    """Return the answer of a gate; `headers` with `_` for `-`."""
    headers = {"host": "127.0.0.1:8900", **headers}
    scope = {
        "type": kind,
        "path": path,
        "method": method,
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": body} if kind == "http" else {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    asyncio.run(gate(scope, receive, send))
    return Answer(sent)


def log_in(gate, token):
    return ask(gate, "/login", "POST", f"token={token}".encode(), origin="http://127.0.0.1:8900")


def cookie_of(answer):
    return answer.headers["set-cookie"].partition(";")[0]


@pytest.mark.parametrize("host", ["127.0.0.1:8900", "localhost:8900", "LOCALHOST:8900", "[::1]:8900"])
def test_the_page_is_served_under_the_names_of_this_machine(host):
    assert ask(gate(), host=host).text == "the page"


@pytest.mark.parametrize(
    "host", ["evil.example:8900", "evil.example", "127.0.0.1:1", "127.0.0.1", "", "127.0.0.1.evil:8900"]
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(host):
    assert ask(gate(), host=host).status == HTTPStatus.MISDIRECTED_REQUEST
    assert not ask(gate(), "/_nicegui_ws/socket.io/", kind="websocket", host=host).is_connected


def test_a_request_with_two_hosts_is_refused():
    scope = {"type": "http", "path": "/", "method": "GET", "headers": [(b"host", b"127.0.0.1:8900")] * 2}
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(gate()(scope, None, send))
    assert sent[0]["status"] == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize(
    ("origin", "is_accepted"),
    [
        ("http://127.0.0.1:8900", True),
        ("https://127.0.0.1:8900", False),
        ("http://evil.example", False),
        ("http://localhost:8900", False),
        ("null", False),
    ],
)
def test_only_the_page_itself_may_open_a_connection(origin, is_accepted):
    answer = ask(gate(), "/_nicegui_ws/socket.io/", kind="websocket", origin=origin)

    assert answer.is_connected is is_accepted


@pytest.mark.parametrize(
    "path",
    ["/docs", "/login", "/_nicegui_ws/socket.io/", "/_nicegui", "/index.html", "/../etc/passwd", "/metrics"],
)
def test_other_paths_do_not_reach_nicegui(path):
    assert ask(gate(), path).status == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_other_methods_are_refused(method):
    assert ask(gate(), method=method).status == HTTPStatus.METHOD_NOT_ALLOWED


@pytest.mark.parametrize(
    ("site", "mode", "dest", "is_accepted"),
    [
        ("none", "navigate", "document", True),
        ("same-origin", "no-cors", "script", True),
        ("cross-site", "navigate", "document", True),
        ("cross-site", "navigate", "iframe", False),
        ("cross-site", "no-cors", "image", False),
        ("same-site", "cors", "empty", False),
    ],
)
def test_a_page_of_another_site_may_only_lead_to_this_one(site, mode, dest, is_accepted):
    answer = ask(gate(), sec_fetch_site=site, sec_fetch_mode=mode, sec_fetch_dest=dest)

    assert answer.status == (HTTPStatus.OK if is_accepted else HTTPStatus.FORBIDDEN)


def test_headers_that_change_answers_do_not_reach_nicegui():
    ask(gate(), x_forwarded_prefix="/<script>", sec_purpose="prefetch", accept="text/html")

    assert set(page.headers) == {b"host", b"accept"}


def test_answers_forbid_other_origins_and_frames():
    headers = ask(gate()).headers

    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert ask(gate(), "/other").headers.keys() >= headers.keys()


def test_the_number_of_pages_is_bounded():
    answer = ask(gate(pages=MAX_SESSIONS))

    assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "close one" in answer.text
    assert ask(gate(pages=MAX_SESSIONS), "/snapshots").status == HTTPStatus.OK


def test_the_number_of_connections_of_pages_is_bounded():
    async def run():
        is_over, accepted = asyncio.Event(), []

        async def held(scope, receive, send):
            accepted.append(scope)
            await is_over.wait()

        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            closed.append(message)

        closed = []
        front = Gate(held, LOCAL, 8900, lambda: 0)
        headers = [(b"host", b"127.0.0.1:8900")]
        scope = {"type": "websocket", "path": "/_nicegui_ws/socket.io/", "headers": headers}
        tasks = [asyncio.create_task(front(scope, receive, send)) for _ in range(MAX_SESSIONS + 3)]
        while len(accepted) + len(closed) < len(tasks):
            await asyncio.sleep(0)
        is_over.set()
        await asyncio.gather(*tasks)
        return len(accepted), len(closed)

    assert asyncio.run(run()) == (MAX_SESSIONS, 3)


def test_without_the_token_there_is_only_the_form():
    front = gate(GUARDED)

    form = ask(front)
    assert form.status == HTTPStatus.UNAUTHORIZED
    assert '<input id="token" name="token" type="password"' in form.text
    assert ask(front, "/snapshots").status == HTTPStatus.UNAUTHORIZED
    assert ask(front, "/_nicegui/3/static/vue.js").status == HTTPStatus.UNAUTHORIZED
    assert not ask(front, "/_nicegui_ws/socket.io/", kind="websocket").is_connected


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer  {TOKEN}"])
def test_programs_send_the_token_in_a_header(header):
    assert ask(gate(GUARDED), "/snapshots", authorization=header).status == HTTPStatus.OK


@pytest.mark.parametrize(
    "header", ["Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer é"]
)
def test_another_header_is_no_token(header, monkeypatch):
    monkeypatch.setattr(tokens, "PENALTY_S", 0)

    assert ask(gate(GUARDED), "/snapshots", authorization=header).status == HTTPStatus.UNAUTHORIZED


def test_a_browser_that_has_sent_the_token_is_known_by_its_cookie():
    front = gate(GUARDED)

    answer = log_in(front, TOKEN)

    assert answer.status == HTTPStatus.SEE_OTHER
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert "Secure" not in answer.headers["set-cookie"]
    assert TOKEN not in answer.headers["set-cookie"]
    assert ask(front, cookie=cookie_of(answer)).text == "the page"
    assert ask(front, "/_nicegui_ws/socket.io/", kind="websocket", cookie=cookie_of(answer)).is_connected
    assert ask(front, cookie=cookie_of(answer) + "x").status == HTTPStatus.UNAUTHORIZED
    assert ask(gate(GUARDED), cookie=cookie_of(answer)).status == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    "cookie",
    ["", "aeron-dashboard-8900", "aeron-dashboard-8900=", "a=b; ;;=", "\x01=\x02", "aeron-dashboard-8900=é"],
)
def test_another_cookie_is_not_known(cookie):
    assert ask(gate(GUARDED), cookie=cookie).status == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize("other", ['prefs={"a":1}', "a b=1", "=", "\x01=\x02", "é=é"])
def test_a_malformed_cookie_of_another_server_of_the_host_does_not_log_a_browser_out(other):
    front = gate(GUARDED)
    cookie = cookie_of(log_in(front, TOKEN))

    assert ask(front, cookie=f"{other}; {cookie}").status == HTTPStatus.OK
    assert ask(front, cookie=f"{cookie}; {other}").status == HTTPStatus.OK


def test_a_wrong_token_is_refused_after_a_delay(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(tokens.asyncio, "sleep", sleep)

    answer = log_in(gate(GUARDED), "wrong")

    assert answer.status == HTTPStatus.FORBIDDEN
    assert "This is not the token." in answer.text
    assert "set-cookie" not in answer.headers
    assert slept == [tokens.PENALTY_S]


def test_a_wrong_token_in_a_header_is_refused_after_the_same_delay(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(tokens.asyncio, "sleep", sleep)
    front = gate(GUARDED)

    assert ask(front, "/snapshots", authorization="Bearer wrong").status == HTTPStatus.UNAUTHORIZED
    assert slept == [tokens.PENALTY_S]
    token = f"Bearer {TOKEN}"
    assert not ask(front, "/_nicegui_ws/socket.io/", kind="websocket", authorization=token).is_connected


def test_wrong_tokens_of_one_source_do_not_delay_another():
    async def run():
        check = TokenCheck(TOKEN, 8900, is_tls=False)

        async def log_in_from(source, token):
            async def receive():
                return {"type": "http.request", "body": f"token={token}".encode()}

            scope = {"path": "/login", "headers": [], "client": (source, 1)}
            return (await check.answer(scope, receive, is_page=False)).status_code

        tasks = [asyncio.create_task(log_in_from("10.0.0.1", "wrong")) for _ in range(20)]
        await asyncio.sleep(0)
        other = await log_in_from("10.0.0.2", TOKEN)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        return other, [each for each in ended if isinstance(each, int)], check._attempts

    other, refused, attempts = asyncio.run(run())

    assert other == HTTPStatus.SEE_OTHER
    assert set(refused) == {HTTPStatus.TOO_MANY_REQUESTS}
    assert attempts == {}


def test_a_form_of_another_page_is_refused():
    answer = ask(gate(GUARDED), "/login", "POST", f"token={TOKEN}".encode(), origin="http://evil.example")

    assert answer.status == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("body", [b"", b"token=" + b"x" * 10_000, b"\xff=%ff&token", b"a=1&" * 20])
def test_a_damaged_form_has_no_token(body, monkeypatch):
    monkeypatch.setattr(tokens, "PENALTY_S", 0)

    answer = ask(gate(GUARDED), "/login", "POST", body)

    assert answer.status == HTTPStatus.FORBIDDEN


def test_the_number_of_browsers_that_are_logged_in_is_bounded():
    front = gate(GUARDED)

    first = cookie_of(log_in(front, TOKEN))
    assert ask(front, cookie=first).status == HTTPStatus.OK
    for _ in range(MAX_BROWSERS):
        log_in(front, TOKEN)

    assert ask(front, cookie=first).status == HTTPStatus.UNAUTHORIZED


def test_a_cookie_expires(monkeypatch):
    front = gate(GUARDED)
    cookie = cookie_of(log_in(front, TOKEN))
    now_s = tokens.time.monotonic()

    monkeypatch.setattr(tokens.time, "monotonic", lambda: now_s + tokens.VALID_S + 1)

    assert ask(front, cookie=cookie).status == HTTPStatus.UNAUTHORIZED


def test_with_tls_the_cookie_is_not_sent_without():
    check = TokenCheck(TOKEN, 8900, is_tls=True)

    async def receive():
        return {"type": "http.request", "body": f"token={TOKEN}".encode()}

    answer = asyncio.run(check.answer({"path": "/login", "headers": []}, receive, is_page=False))

    assert "Secure" in answer.headers["set-cookie"]

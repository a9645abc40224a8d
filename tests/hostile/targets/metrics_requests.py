"""Requests to the metrics endpoint: an answer of the right form, of bounded memory, with metrics for those that may.

The first byte of an input: 1 for an endpoint with a token, 2 for one on loopback, which refuses names of other hosts,
4 for a peer that reads nothing until the end, 8 for one that sends no more; the rest selects the length of pieces.
"""

from __future__ import annotations

import gzip
import re
import selectors
import socket
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from prometheus_client import make_wsgi_app

from aeron_core.metrics.connection import MAX_REQUEST_LENGTH, METRICS_PATH, MetricsConnection
from aeron_core.metrics.prometheus import registry_of
from aeron_core.metrics.samples import HEARTBEAT_AGE, STREAM_METRICS, Sample

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

TOKEN = "0123456789abcdef"
HOST = "driver.example"
GUARDED, LOCAL, SLOW, ENDS = 1, 2, 4, 8
STEPS = (MAX_REQUEST_LENGTH * 4, 1000, 30, 7)
STATUSES = {200, 400, 401, 404, 405, 421, 431}
GET = b"GET /metrics HTTP/1.1\r\n"
AUTHORIZATION = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
HOSTS = re.compile(
    rb"(?i)(localhost|driver\.example|[0-9.]+)(:|\s*$)|\[[0-9a-f:.]+([%\]]|$)|\[(localhost|driver\.example)(\]|$)"
)
#: Rounds of work until a connection must have ended.
MAX_ROUNDS = 5000


@cache
def app() -> WSGIApplication:
    """Return what creates the answers: that of the server, with one stream."""
    stream = next(iter(STREAM_METRICS.values()))
    samples = [Sample(HEARTBEAT_AGE, (), 0.5), Sample(stream, ("1", "2", "3", 'a"\\\nb'), 4096)]
    return make_wsgi_app(registry_of(lambda: samples))


def seeds() -> list[bytes]:
    return [
        b"\0" + GET + b"\r\n",
        bytes([GUARDED]) + GET + AUTHORIZATION + b"\r\n",
        bytes([LOCAL | 16]) + GET + b"Host: " + HOST.encode() + b":9464\r\nAccept: text/plain\r\n\r\n",
        bytes([LOCAL | SLOW]) + GET + b"Host: [::1]:1\r\nAccept-Encoding: br, gzip\r\n\r\n",
        bytes([GUARDED | LOCAL | 48]) + GET + b"host:localhost\r\n" + AUTHORIZATION + b"\r\n",
        b"\0GET /%6Detrics?name[]=aeron_driver_heartbeat_age_seconds&x HTTP/1.0\r\n"
        b"Accept: application/openmetrics-text; version=1.0.0; escaping=underscores, */*\r\n\r\nGET",
    ]


def check(data: bytes) -> bool:
    mode, request = (data[0] if data else 0), data[1:]
    step = STEPS[mode >> 4 & 3]
    theirs, ours = socket.socketpair()
    with theirs, ours:
        theirs.setblocking(False)
        connection = MetricsConnection(
            ours, 0.0, TOKEN if mode & GUARDED else "", HOST if mode & LOCAL else None
        )
        answer = _exchange(
            connection, theirs, [request[at : at + step] for at in range(0, len(request), step)], mode
        )
    if not answer:
        # Only a request that is whole, or too long, has an answer.
        assert b"\r\n\r\n" not in request
        assert len(request) < MAX_REQUEST_LENGTH
        return False
    return check_answer(answer, request.partition(b"\r\n\r\n")[0], mode)


def _exchange(connection: MetricsConnection, theirs: socket.socket, pieces: list[bytes], mode: int) -> bytes:
    """Return what a peer receives that sends these pieces, however many of them are read."""
    pieces.reverse()
    answer = b""
    for _ in range(MAX_ROUNDS):
        if pieces:
            piece = pieces.pop()
            try:
                sent = theirs.send(piece)
            except BlockingIOError:
                sent = 0
            except OSError:
                pieces.clear()
            if sent < len(piece):
                pieces.append(piece[sent:])
        elif mode & ENDS:
            theirs.shutdown(socket.SHUT_WR)
            mode &= ~ENDS
        events = connection.work()
        if events == 0:
            events = connection.answer(app())
        assert len(connection._received) <= 2 * MAX_REQUEST_LENGTH
        if events is None or (not pieces and events == selectors.EVENT_READ and not mode & ENDS):
            break
        if not mode & SLOW:
            answer += _received(theirs)
    else:
        raise AssertionError("the connection does not end")
    return answer + _received(theirs)


def _received(sock: socket.socket) -> bytes:
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except BlockingIOError:
        pass
    return data


def check_answer(answer: bytes, head_of_request: bytes, mode: int) -> bool:
    """Assert that an answer is one, with what the request may have; return whether it has the metrics."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    assert separator
    first, *lines = head.decode("latin-1").split("\r\n")
    status = int(first.split(" ")[1])
    # The library fails if a header Accept has a version that is no number.
    assert status in STATUSES or (status == 500 and b"version" in head_of_request), first
    # No byte of a request becomes a header.
    assert not re.search("[\0\r\n]", "".join(lines)), head
    headers = dict(line.split(": ", 1) for line in lines)
    assert headers.keys() <= {
        "Content-Type",
        "Content-Encoding",
        "WWW-Authenticate",
        "Content-Length",
        "Connection",
    }
    assert int(headers["Content-Length"]) == len(body)
    if status != 200:
        assert len(body) < 200
        return False
    text = (gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body).decode()
    assert len(text) < 10_000
    assert unquote(head_of_request.split(b" ")[1].partition(b"?")[0].decode("latin-1")) == METRICS_PATH
    assert not mode & GUARDED or TOKEN.encode() in head_of_request
    hosts = re.findall(rb"\r\nhost:[ \t\x85\xa0]*([^\r]*)", head_of_request, re.IGNORECASE)
    assert not mode & LOCAL or all(HOSTS.match(host) for host in hosts)
    return True

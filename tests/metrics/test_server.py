"""Limits of the metrics endpoint: connections, lengths and times."""

import os
import resource
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress

import pytest
from prometheus_client import CollectorRegistry

from aeron_core.errors import ConfigurationError
from aeron_core.metrics import server as metrics_server
from aeron_core.metrics.access import MetricsAccess
from aeron_core.metrics.connection import MAX_REQUEST_LENGTH
from aeron_core.metrics.prometheus import registry_of
from aeron_core.metrics.server import MAX_CONNECTIONS, MetricsServer
from aeron_core.uri.addresses import HostPort

LOOPBACK = MetricsAccess(HostPort("127.0.0.1", 0))
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def server():
    with MetricsServer(LOOPBACK, CollectorRegistry()) as server:
        yield server


@pytest.fixture
def connect(server):
    port = int(server.url.split(":")[2].partition("/")[0])
    with ExitStack() as stack:
        yield lambda: stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))


def answer_of(sock):
    data = b""
    while piece := sock.recv(65536):
        data += piece
    return data


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_a_host_that_cannot_be_a_name_is_refused(host):
    with pytest.raises(ConfigurationError, match=f"--metrics={host}:9100: must be an address or a host name"):
        MetricsServer(MetricsAccess(HostPort(host, 9100)), CollectorRegistry())


def test_idle_connections_beyond_the_maximum_are_closed_and_take_no_threads(server, connect):
    threads = threading.active_count()
    idle = [connect() for _ in range(MAX_CONNECTIONS * 4)]

    with urllib.request.urlopen(server.url, timeout=60) as response:
        assert response.status == 200

    assert threading.active_count() == threads
    # The oldest ones have been closed.
    assert answer_of(idle[0]) == b""


def test_a_connection_without_a_whole_request_is_closed_after_the_limit(server, connect, monkeypatch):
    monkeypatch.setattr(metrics_server, "REQUEST_LIMIT_S", 0.2)
    slow, idle = connect(), connect()
    started = time.monotonic()

    slow.sendall(GET[:-4])
    answers = answer_of(slow), answer_of(idle)

    assert answers == (b"", b"")
    assert time.monotonic() - started < 10


def test_a_scraper_that_does_not_read_is_closed_after_the_limit(monkeypatch):
    monkeypatch.setattr(metrics_server, "REQUEST_LIMIT_S", 0.2)
    monkeypatch.setattr(
        metrics_server, "make_wsgi_app", lambda _: lambda _, start: (start("200 OK", []), [bytes(1 << 26)])[1]
    )
    with MetricsServer(LOOPBACK, CollectorRegistry()) as server:
        host, port = server.url[7:].partition("/")[0].split(":")
        with socket.create_connection((host, int(port)), timeout=60) as sock:
            sock.sendall(GET)
            read = len(sock.recv(1))
            deadline = time.monotonic() + 60
            while server._connections:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            with suppress(ConnectionError):
                while piece := sock.recv(1 << 20):
                    read += len(piece)

    assert read < 1 << 26


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (GET, b"200 OK"),
        (b"HEAD /metrics HTTP/1.0\r\n\r\n", b"405 Method Not Allowed"),
        (b"GET /%6Detrics?name[]=x HTTP/1.1\r\nAccept: */*\r\n\r\n", b"200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405 Method Not Allowed"),
        (b"\r\n\r\n", b"400 Bad Request"),
        (b"GET /metrics\r\n\r\n", b"400 Bad Request"),
        (b"\xff\x00 \xfe \xfd\r\n\r\n", b"400 Bad Request"),
        # The answer to it would have the header of the third line.
        (b"GET /metrics HTTP/1.1\r\nAccept: text/plain; version=2.\nX-Forged: 1\r\n\r\n", b"400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nAccept:\ttext/plain\r\n\r\n", b"200 OK"),
        (b"GET /" + b"x" * MAX_REQUEST_LENGTH, b"431 Request Header Fields Too Large"),
    ],
)
def test_requests_are_answered_with_their_status(connect, request_, status):
    sock = connect()

    sock.sendall(request_)

    assert answer_of(sock).startswith(b"HTTP/1.1 " + status + b"\r\n")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost", b"200"),
        (b"LOCALHOST:80", b"200"),
        (b"127.0.0.1:9464", b"200"),
        (b"[::1]:9464", b"200"),
        (b"10.0.0.1", b"200"),
        (b"evil.example:9464", b"421"),
        (b"localhost.evil.example", b"421"),
        (b"127.0.0.1.evil.example", b"421"),
        (b"", b"421"),
    ],
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(connect, host, status):
    sock = connect()

    sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")

    assert answer_of(sock).startswith(b"HTTP/1.1 " + status)


def test_a_server_that_other_hosts_reach_has_any_name():
    with MetricsServer(MetricsAccess(HostPort("0.0.0.0", 0)), CollectorRegistry()) as server:
        port = int(server.url.split(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: driver.example\r\n\r\n")

            assert answer_of(sock).startswith(b"HTTP/1.1 200")


def test_an_answer_has_the_format_and_compression_of_the_request(connect):
    sock = connect()

    sock.sendall(b"GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip\r\nAccept: text/plain\r\n\r\n")

    head, _, body = answer_of(sock).partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert f"Content-Length: {len(body)}".encode() in head
    assert body[:2] == b"\x1f\x8b"


def test_a_fault_of_the_counters_is_an_answer_and_the_server_continues(monkeypatch):
    faults = [OSError("gone")]

    def samples():
        if faults:
            raise faults.pop()
        return ()

    with MetricsServer(LOOPBACK, registry_of(samples)) as server:
        with pytest.raises(urllib.error.HTTPError, match="500"):
            urllib.request.urlopen(server.url, timeout=60)
        with urllib.request.urlopen(server.url, timeout=60) as response:
            assert response.status == 200


def test_the_thread_rests_after_each_answer(monkeypatch):
    calls = []

    def samples():
        calls.append(time.monotonic())
        time.sleep(0.05)
        return ()

    with MetricsServer(LOOPBACK, registry_of(samples)) as server:
        for _ in range(3):
            urllib.request.urlopen(server.url, timeout=60).close()

    assert calls[2] - calls[0] >= 2 * 5 * 0.05


def test_connections_leave_descriptors_for_the_driver_and_the_server_recovers(server, connect, monkeypatch):
    monkeypatch.setattr(metrics_server, "ACCEPT_PAUSE_S", 0.1)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = [os.dup(0) for _ in range(100)]
    # The next descriptors are in the reserve of an eighth.
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(used) * 8 // 7, before[1]))
    try:
        assert answer_of(connect()) == b""
    finally:
        for each in used:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    with urllib.request.urlopen(server.url, timeout=60) as response:
        assert response.status == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"", b"401 Unauthorized"),
        (b"Authorization: Bearer 0123456789abcdeX\r\n", b"401 Unauthorized"),
        (b"Authorization: Bearer \xff\r\n", b"401 Unauthorized"),
        (b"Authorization: Basic 0123456789abcdef\r\n", b"401 Unauthorized"),
        (b"Authorization: 0123456789abcdef\r\n", b"401 Unauthorized"),
        (b"authorization:  bearer 0123456789abcdef \r\n", b"200 OK"),
    ],
)
def test_with_a_token_only_requests_that_have_it_are_answered(header, status):
    access = MetricsAccess(HostPort("127.0.0.1", 0), "0123456789abcdef")
    with MetricsServer(access, CollectorRegistry()) as server:
        port = int(server.url.split(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\n" + header + b"\r\n")
            answer = answer_of(sock)

    assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert (b"WWW-Authenticate: Bearer\r\n" in answer) == (b"401" in status)

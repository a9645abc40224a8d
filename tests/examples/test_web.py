"""A web server that streams a subscription: its page, server-sent events, and a WebSocket."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from example_programs import EXAMPLES, HOST

uvicorn = pytest.importorskip("uvicorn")
websockets = pytest.importorskip("websockets.sync.client")

PORT = 20142


@pytest.fixture
def address(example):
    """Serve the example in a thread, on a free port."""
    program = example("web/app.py")
    program.INTERVAL_S = 0.01
    server = program.Server(uvicorn.Config(program.app, host=HOST, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline_s = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    yield "{}:{}".format(*server.servers[0].sockets[0].getsockname())
    server.handle_exit(signal.SIGTERM, None)
    thread.join()


def server_sent_events(address, count):
    """Return the first events of the stream."""
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request("GET", "/events")
        response = connection.getresponse()
        assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        lines = [response.readline().decode() for _ in range(2 * count)]
    finally:
        connection.close()
    assert set(lines[1::2]) == {"\n"}
    return [json.loads(line.removeprefix("data: ")) for line in lines[::2]]


def test_a_page_and_both_streams_show_the_prices_of_the_subscription(address):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", "/")
    page = connection.getresponse().read().decode()
    connection.close()
    assert "<title>Prices</title>" in page
    assert 'new EventSource("/events")' in page

    events = server_sent_events(address, 12)
    assert {event["symbol"] for event in events} == {"AMBR", "CORK", "FLAX", "TEAK"}
    positions = [event["position"] for event in events]
    assert positions == sorted(set(positions))
    assert all(event["price"] > 0 for event in events)

    with websockets.connect(f"ws://{address}/socket") as browser:
        assert {json.loads(browser.recv(60))["symbol"] for _ in range(12)} == {
            event["symbol"] for event in events
        }
        browser.send("TEAK")
        # Prices of other symbols may still be in queues.
        symbols = [json.loads(browser.recv(60))["symbol"] for _ in range(200)]
        assert set(symbols[-20:]) == {"TEAK"}


@pytest.mark.usefixtures("python_interrupts")
def test_an_interrupt_ends_the_server_quietly_while_a_browser_is_connected():
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / "web" / "app.py", "--host", HOST, "--port", str(PORT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout.readline() == f"open http://{HOST}:{PORT}, Ctrl-C ends\n"
        deadline_s = time.monotonic() + 60
        while True:
            connection = http.client.HTTPConnection(HOST, PORT, timeout=60)
            try:
                connection.request("GET", "/events")
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline_s
                time.sleep(0.05)
        assert connection.getresponse().readline().startswith(b"data: ")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()

    assert (process.returncode, errors) == (0, "")


#: Prints a line when the queue of a browser is full.
WITH_LONG_TEXTS = """
import sys
from contextlib import suppress
sys.path.insert(0, {folder!r})
import app
app.PRICES, app.INTERVAL_S, app.QUEUE_LENGTH = {{"x" * 100_000: 1.0}}, 0.001, 5
put = app.broadcast.put
def observed(text):
    put(text)
    if any(queue.full() for queue in app.broadcast._queues):
        app.broadcast.put = put
        print("full", flush=True)
app.broadcast.put = observed
with suppress(KeyboardInterrupt):
    app.main(["--host", {host!r}, "--port", "{port}"])
"""


@pytest.mark.usefixtures("python_interrupts")
def test_an_interrupt_ends_the_server_while_a_browser_does_not_read():
    code = WITH_LONG_TEXTS.format(folder=str(EXAMPLES / "web"), host=HOST, port=PORT)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout.readline().startswith("open http://")
        deadline_s = time.monotonic() + 60
        while True:
            try:
                connection = socket.create_connection((HOST, PORT))
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline_s
                time.sleep(0.05)
        with connection:
            connection.sendall(b"GET /events HTTP/1.1\r\nHost: example\r\n\r\n")
            assert process.stdout.readline() == "full\n"
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()

    assert process.returncode == 0

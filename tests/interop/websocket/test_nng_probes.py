"""nng's responses to the probes of the wire format page."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from plain_websocket import whole_frames_of
from websocket_probes import FRAMES, LIMIT, REQUESTS, answer_text, answers

pytestmark = pytest.mark.interop

ECHO = Path(__file__).parent / "peers" / "nng_echo.py"
#: Wait for a response, and for the rest of it or one that nng does not give.
DEADLINE_S = 60.0
PATIENCE_S = 1.0


@pytest.fixture
def nng(start, nng_python):
    """Return the port of an nng endpoint that accepts messages of limited length and echoes them."""
    peer = start(nng_python, ECHO, "listen", "ws://127.0.0.1:0/x", "pair1", LIMIT)
    peer.await_line("listening ")
    (line,) = [line for line in peer.lines if line.startswith("listening ")]
    return int(line.split()[1])


def receive_all(sock, answer):
    """Return the received bytes until the connection closes or is silent, at once if the answer is "nothing"."""
    sock.settimeout(PATIENCE_S if answer == "nothing" else DEADLINE_S)
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
            sock.settimeout(PATIENCE_S)
    except TimeoutError:
        pass
    return data


def head_from(sock):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(1)
    return head


@pytest.mark.parametrize("row", REQUESTS)
def test_nng_answers_requests_as_documented(nng, row):
    with socket.create_connection(("127.0.0.1", nng), timeout=10) as sock:
        sock.sendall(REQUESTS[row](f"127.0.0.1:{nng}"))
        received = receive_all(sock, answer := answers("request")[row][1])
    assert (received.split()[1].decode() if received else "closed") == answer


@pytest.mark.parametrize("row", FRAMES)
def test_nng_answers_frames_as_documented(nng, row):
    with socket.create_connection(("127.0.0.1", nng), timeout=10) as sock:
        sock.sendall(REQUESTS["as above"](f"127.0.0.1:{nng}"))
        assert head_from(sock).startswith(b"HTTP/1.1 101")
        sock.sendall(FRAMES[row])
        received = whole_frames_of(receive_all(sock, answer := answers("frames")[row][1]))
    assert answer_text(received) == answer

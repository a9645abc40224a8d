"""Answers of this implementation, compared with the rows of docs/wire/sp-websocket.md."""

from __future__ import annotations

import pytest
from aeron_media.connections.relay.session import SessionError
from aeron_media.sp.websocket.handshake import WsServerHandshake
from aeron_media.sp.websocket.params import WsParams
from plain_websocket import BINARY, Frame
from websocket_ends import End
from websocket_probes import FRAMES, LIMIT, REQUESTS, answer_text, answers


def test_every_row_has_its_probe():
    assert list(answers("request")) == list(REQUESTS)
    assert list(answers("frames")) == list(FRAMES)


@pytest.mark.parametrize("row", REQUESTS)
def test_a_request_is_answered_as_documented(row):
    handshake = WsServerHandshake(WsParams("pair1.sp.nanomsg.org", "a", "/x", LIMIT), [])

    try:
        handshake.feed(REQUESTS[row]("a"))
    except SessionError:
        assert not handshake.outgoing.startswith(b"HTTP/1.1 101")

    reply = handshake.outgoing.split()[1].decode() if handshake.outgoing else "closed"
    assert reply == answers("request")[row][0]


@pytest.mark.parametrize("row", FRAMES)
def test_frames_are_answered_as_documented(row):
    end = End(max_message_length=LIMIT)

    end.session.feed(FRAMES[row])
    try:
        received = end.read()
    except SessionError:
        received = None

    # A message that reaches the agent counts as an answer, like the echo of nng.
    reply = [*end.sent(), *([Frame(BINARY, received, True, None)] if received else [])]
    assert answer_text(reply) == answers("frames")[row][0]

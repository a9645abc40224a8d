"""Requests and responses of the WebSocket handshake."""

from __future__ import annotations

import pytest
from aeron_media.connections.relay.session import SessionError
from aeron_media.sp.websocket.handshake import HEAD_LIMIT, WsClientHandshake, WsServerHandshake
from aeron_media.sp.websocket.params import WsParams
from plain_websocket import ACCEPT, answer, headers_of, request

PAIR1 = "pair1.sp.nanomsg.org"
NO_REQUEST = "the request of the peer is not a WebSocket request"
NO_RESPONSE = "the response of the peer is not a WebSocket response"


def params(path="/", subprotocol=PAIR1):
    return WsParams(subprotocol, "example.com:80", path, 1 << 20)


def refusal(handshake, data):
    """Feed an invalid request; return the fault text, its detail and the response."""
    with pytest.raises(SessionError) as caught:
        handshake.feed(data)
    return str(caught.value), caught.value.detail, handshake.outgoing


# The listening end


@pytest.mark.parametrize("path", ["/", "/x", "/a/b%20c"])
@pytest.mark.parametrize("subprotocol", [PAIR1, "pair.sp.nanomsg.org"])
def test_a_request_for_our_path_and_subprotocol_is_accepted(path, subprotocol):
    handshake = WsServerHandshake(params(path, subprotocol), [])

    assert handshake.feed(request(path, subprotocol)) is not None

    line, headers = headers_of(handshake.outgoing)
    assert line.startswith("HTTP/1.1 101 ")
    assert headers["upgrade"] == "websocket"
    assert headers["connection"] == "Upgrade"
    assert headers["sec-websocket-accept"] == ACCEPT
    assert headers["sec-websocket-protocol"] == subprotocol
    assert "sec-websocket-extensions" not in headers


@pytest.mark.parametrize(
    "wanted",
    [
        request(subprotocol=f"chat, {PAIR1}"),
        request(path="/?query"),
        request(Host="somewhere.else:9"),
        request(Host="a" * 70),
        request(Sec_WebSocket_Extensions="permessage-deflate; client_max_window_bits"),
        request(Connection="keep-alive, upgrade", Upgrade="WebSocket"),
        request(Origin="http://example.com", Cookie="a=b"),
    ],
)
def test_what_does_not_matter_in_a_request_is_not_looked_at(wanted):
    assert WsServerHandshake(params(), []).feed(wanted) is not None


@pytest.mark.parametrize(
    ("wanted", "status", "text", "detail"),
    [
        (
            request(subprotocol="pair.sp.nanomsg.org"),
            400,
            f"does not offer the subprotocol {PAIR1}",
            "the peer offers 'pair.sp.nanomsg.org'",
        ),
        (
            request(subprotocol="PAIR1.sp.nanomsg.org"),
            400,
            f"does not offer the subprotocol {PAIR1}",
            "the peer offers 'PAIR1.sp.nanomsg.org'",
        ),
        (request(subprotocol=None), 400, f"does not offer the subprotocol {PAIR1}", "the peer offers ''"),
        (request(path="/x"), 404, "asks for another path than /", "the peer asks for '/x'"),
        (request(path="//"), 404, "asks for another path than /", "the peer asks for '//'"),
        (request(line="GET {} HTTP/1.0"), 505, "does not speak HTTP/1.1", "the peer speaks HTTP/1.0"),
        (request(line="GET {} HTTP/2.0"), 505, "does not speak HTTP/1.1", "the peer speaks HTTP/2.0"),
        (request(line="POST {} HTTP/1.1"), 405, "sent another method than GET", "the peer sent 'POST'"),
        (request(line="GET {} HTTP"), 400, "sent a malformed request line", "request line 'GET / HTTP'"),
        (request(Sec_WebSocket_Version="8"), 400, NO_REQUEST, "missing header, 'Sec-WebSocket-Version'"),
        (request(Sec_WebSocket_Version=None), 400, NO_REQUEST, "missing header, 'Sec-WebSocket-Version'"),
        (request(Sec_WebSocket_Key=None), 400, NO_REQUEST, "missing header, 'Sec-WebSocket-Key'"),
        (
            request(Sec_WebSocket_Key="c2hvcnQ="),
            400,
            "Sec-WebSocket-Key of the peer does not encode 16 bytes",
            "",
        ),
        (
            request(Sec_WebSocket_Key="no base64 at all, no"),
            400,
            "Sec-WebSocket-Key of the peer does not encode 16 bytes",
            "",
        ),
        (request(Upgrade="h2c"), 400, NO_REQUEST, "missing header, 'Upgrade: websocket'"),
        (request(Connection="close"), 400, NO_REQUEST, "missing header, 'Connection: Upgrade'"),
        (request(Host=None), 400, NO_REQUEST, "bad HTTP message"),
        (request(Host="\xff\xff"), 400, f"{NO_REQUEST}: a header is not text", ""),
        (request(subprotocol="\xff"), 400, f"{NO_REQUEST}: a header is not text", ""),
        (request(Folded="a\r\nb"), 400, NO_REQUEST, "bad HTTP message"),
        (b"GET\r\n\r\n", 400, "sent a malformed request line", "request line 'GET'"),
    ],
)
def test_a_request_for_anything_else_gets_an_error_response(wanted, status, text, detail):
    refused, found, outgoing = refusal(WsServerHandshake(params(), []), wanted)

    line, headers = headers_of(outgoing)
    assert line.startswith(f"HTTP/1.1 {status} ")
    assert headers["connection"] == "close"
    assert headers["content-length"] == "0"
    assert f"{text}: answered with {status}; " in refused
    assert found == detail


@pytest.mark.parametrize(
    ("wanted", "header", "value"),
    [
        (request(line="POST {} HTTP/1.1"), "allow", "GET"),
        (request(Sec_WebSocket_Version="8"), "sec-websocket-version", "13"),
    ],
)
def test_a_refusal_names_what_would_be_accepted(wanted, header, value):
    _, _, outgoing = refusal(WsServerHandshake(params(), []), wanted)
    assert headers_of(outgoing)[1][header] == value


def test_a_request_may_arrive_byte_by_byte():
    handshake = WsServerHandshake(params(), [])
    wanted = request()
    assert all(handshake.feed(wanted[at : at + 1]) is None for at in range(len(wanted) - 1))
    assert handshake.feed(wanted[-1:]) is not None


@pytest.mark.parametrize("begin", [b"\0SP\0\0\x11\0\0", b"\x16\x03\x01", b"\r\n"])
def test_a_peer_that_does_not_speak_http_gets_no_response(begin):
    handshake = WsServerHandshake(params(), [])
    text, _, outgoing = refusal(handshake, begin[:1])
    assert text.startswith("the peer does not speak HTTP: ")
    assert outgoing == b""


@pytest.mark.parametrize("size", [HEAD_LIMIT, HEAD_LIMIT + 1, 1 << 20])
def test_a_request_without_end_is_refused_when_it_is_too_long(size):
    handshake = WsServerHandshake(params(), [])
    assert handshake.feed(b"GET / HTTP/1.1\r\n") is None
    text, _, outgoing = refusal(handshake, (b"A: " + bytes([65]) * size)[: size - 16])
    assert text.startswith("the request of the peer is longer than 16384 bytes: answered with 431; ")
    assert outgoing.startswith(b"HTTP/1.1 431 ")


def test_what_a_peer_has_sent_is_shown_in_part_and_printable():
    text, detail, _ = refusal(WsServerHandshake(params(), []), request(path="/" + "\x1b\xe9" * 100))
    assert "\x1b" not in text
    assert "\\x1b" in detail
    assert detail.isascii()
    assert detail.isprintable()
    assert len(detail) < 500


# The connecting end


def test_a_request_of_ours_names_one_subprotocol_and_no_extension():
    line, headers = headers_of(WsClientHandshake(params("/x"), []).outgoing)
    assert line == "GET /x HTTP/1.1"
    assert headers["host"] == "example.com:80"
    assert headers["sec-websocket-protocol"] == PAIR1
    assert headers["sec-websocket-version"] == "13"
    assert "sec-websocket-extensions" not in headers


def dialed():
    """Return a handshake that has sent its request, and its key."""
    handshake = WsClientHandshake(params("/x"), [])
    return handshake, headers_of(handshake.outgoing)[1]["sec-websocket-key"]


def test_an_answer_with_our_subprotocol_makes_a_connection():
    handshake, key = dialed()
    response = answer(key)
    assert all(handshake.feed(response[at : at + 1]) is None for at in range(len(response) - 1))
    assert handshake.feed(response[-1:]) is not None


@pytest.mark.parametrize(
    ("changes", "text", "detail"),
    [
        ({"line": "HTTP/1.1 404 Not Found"}, "the peer answered 404 to /x, not 101", "status 404"),
        ({"line": "HTTP/1.1 200 OK"}, "the peer answered 200 to /x, not 101", "status 200"),
        (
            {"line": "HTTP/1.1 100 Continue"},
            "the peer answered a status that the event log has to /x, not 101",
            "status 100",
        ),
        ({"line": "HTTP/1.1 ???"}, NO_RESPONSE, "bad HTTP message"),
        ({"subprotocol": None}, "the peer did not accept the subprotocol pair1.sp.nanomsg.org", ""),
        ({"subprotocol": "chat"}, NO_RESPONSE, "unrecognized subprotocol chat"),
        ({"subprotocol": "a\x7f"}, NO_RESPONSE, "unrecognized subprotocol a\\x7f"),
        ({"subprotocol": "\xff"}, f"{NO_RESPONSE}: a header is not text", ""),
        ({"Sec_WebSocket_Accept": "bm9wZQ=="}, NO_RESPONSE, "bad accept token"),
        ({"Sec_WebSocket_Accept": None}, NO_RESPONSE, "bad accept token"),
        ({"Upgrade": None}, NO_RESPONSE, "missing header, 'Upgrade: websocket'"),
        ({"Connection": None}, NO_RESPONSE, "missing header, 'Connection: Upgrade'"),
        (
            {"Sec_WebSocket_Extensions": "permessage-deflate"},
            NO_RESPONSE,
            "unrecognized extension permessage-deflate",
        ),
    ],
)
def test_any_other_answer_makes_none(changes, text, detail):
    handshake, key = dialed()
    with pytest.raises(SessionError) as caught:
        handshake.feed(answer(key, **changes))
    assert str(caught.value).startswith(f"{text}: ")
    assert caught.value.detail == detail


@pytest.mark.parametrize("begin", [b"\0SP\0\0\x11\0\0", b"\x15\x03\x01", b"SSH-2.0"])
def test_an_answer_of_another_kind_is_seen_by_its_first_byte(begin):
    handshake, _ = dialed()
    with pytest.raises(SessionError, match="the peer does not speak HTTP"):
        handshake.feed(begin[:1])


def test_an_answer_without_end_is_given_up():
    handshake, _ = dialed()
    with pytest.raises(SessionError, match="the response of the peer is longer than 16384 bytes"):
        handshake.feed(b"HTTP/1.1 101 Switching Protocols\r\nA: " + b"a" * HEAD_LIMIT)

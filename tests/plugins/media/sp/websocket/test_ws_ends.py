"""The end of a WebSocket session: closes of either end, refusals, and what is cut off."""

from __future__ import annotations

import pytest
from plain_websocket import BINARY, CLOSE, PING, close, frame
from websocket_ends import GREETING, LONG, End, plain


@pytest.mark.parametrize("code", [1000, 1001])
def test_a_close_is_answered_with_its_code_and_is_an_end(end, code):
    assert end.receive(frame(BINARY, b"last", mask=end.mask) + close(code, "bye", mask=end.mask)) == plain(
        b"last"
    )
    assert end.read() is None
    (closes,) = end.sent()
    assert (closes.opcode, closes.code) == (CLOSE, code)
    assert not end.session.awaits_answer


def test_a_close_without_a_code_is_an_end(end):
    assert end.receive(frame(CLOSE, mask=end.mask)) is None
    (closes,) = end.sent()
    assert (closes.opcode, closes.payload) == (CLOSE, b"")


@pytest.mark.parametrize("code", [1002, 1003, 1007, 1008, 1009, 1011, 3000, 4999])
def test_a_close_with_another_code_is_a_fault_that_quotes_the_reason_in_its_detail(end, code):
    text, detail = end.fault(close(code, "é nonsense", mask=end.mask))
    shown = f"code {code}" if code < 3000 else "a code that the event log has"
    assert text.startswith(f"the peer closed the connection with {shown}; see RFC 6455")
    assert detail == f"code {code}: '\\xe9 nonsense'"
    assert end.sent()[0].code == code


def test_a_message_that_is_cut_off_is_never_seen(end):
    assert end.receive(
        frame(BINARY, b"whole", mask=end.mask) + frame(BINARY, b"half", mask=end.mask)[:-1]
    ) == plain(b"whole")
    assert end.receive(b"") is None


def test_an_end_without_a_close_is_an_end(end):
    end.session.feed(frame(BINARY, b"last", mask=end.mask))
    end.session.feed(b"")
    assert end.session.read(LONG) == plain(b"last")
    assert end.session.read(LONG) == b""


def test_an_agent_that_ends_sends_close_1000_and_awaits_the_answer(end):
    end.session.write(GREETING + plain(b"said"))
    assert end.session.end()
    assert [each.opcode for each in end.sent()] == [BINARY, CLOSE]
    assert end.session.awaits_answer
    # Messages in flight are still received.
    assert end.receive(frame(BINARY, b"late", mask=end.mask) + close(1000, mask=end.mask)) == plain(b"late")
    assert end.read() is None
    assert not end.session.awaits_answer
    assert end.sent() == []


def test_to_end_twice_is_to_end_once(end):
    end.session.end()
    end.session.end()
    assert len(end.sent()) == 1


def test_pings_after_the_end_are_not_answered(end):
    end.session.end()
    end.sent()
    end.receive(frame(PING, b"?", mask=end.mask))
    assert end.sent() == []


def test_an_agent_that_ends_within_a_message_closes_with_an_error(end):
    end.session.write(GREETING + plain(bytes(100_000))[:70_000])
    end.session.end()
    first, closes = end.sent()
    assert (first.fin, closes.code, closes.reason) == (False, 1011, "the rest of a message is lost")


def closes_of(end):
    end.session.end()
    return [(each.code, each.reason) for each in end.sent() if each.opcode == CLOSE]


REFUSAL = [(1008, "this endpoint takes no peer now")]


@pytest.mark.parametrize("output", [b"", GREETING[:3], GREETING])
def test_a_refused_peer_gets_the_reason(output):
    end = End()
    end.session.write(output)
    end.now += 0.9
    assert closes_of(end) == REFUSAL


def test_an_agent_that_never_sent_its_greeting_has_refused_however_late_it_ends():
    end = End()
    end.now += 60
    assert closes_of(end) == REFUSAL


def test_a_peer_that_has_had_a_message_was_not_refused():
    end = End()
    end.session.write(GREETING + plain(b"hop 1"))
    assert closes_of(end) == [(1000, "")]


def test_a_peer_that_was_there_for_a_second_was_not_refused():
    end = End()
    end.session.write(GREETING)
    end.now += 1
    assert closes_of(end) == [(1000, "")]


def test_the_connecting_end_refuses_no_peer():
    assert closes_of(End(server_side=False)) == [(1000, "")]

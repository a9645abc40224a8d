"""A session on top of another one."""

from __future__ import annotations

from aeron_media.connections.relay.session import Session
from aeron_media.connections.relay.session_stack import SessionStack


class CrumblingSession(Session):
    """Returns its input byte by byte, as TLS does with records of one byte."""

    protocol = "crumbs"

    def __init__(self):
        self._left = bytearray()
        self.reads = 0

    def feed(self, data):
        self._left += data

    def do_handshake(self):
        return True

    def read(self, length):
        self.reads += 1
        if not self._left:
            return None
        return bytes([self._left.pop(0)])

    def write(self, data):
        pass

    def end(self):
        return True

    def take_outgoing(self):
        return b""


class WholeSession(CrumblingSession):
    """Returns its input once it ends with a full stop."""

    def read(self, length):
        if not self._left.endswith(b"."):
            return None
        whole = bytes(self._left)
        self._left.clear()
        return whole


def stacked():
    lower = CrumblingSession()
    stack = SessionStack(lower, WholeSession())
    assert stack.do_handshake()
    return stack, lower


def test_one_read_moves_a_bounded_number_of_pieces():
    stack, lower = stacked()
    stack.feed(b"x" * 999 + b".")

    most, reads, data = 0, 0, None
    while data is None:
        before = lower.reads
        data = stack.read(1 << 16)
        most = max(most, lower.reads - before)
        reads += 1
        assert data is not None or stack.has_backlog

    assert data == b"x" * 999 + b"."
    assert most <= 16
    assert reads > 50


def test_a_stack_without_input_has_no_backlog():
    stack, _ = stacked()
    stack.feed(b"incomplete")
    assert stack.read(1 << 16) is None
    assert not stack.has_backlog

"""A driver that sends, and a reader that answers anything: nothing is acknowledged before it is sent.

An input is a number of answers: the messages that are offered before each, and the answer.
"""

from __future__ import annotations

from plain_codec import ack
from writing import Writing

from aeron_core.testing.pair import MS
from targets._script import Script, block
from targets._simulations import Shared

MAX_ANSWERS = 8
SHARED = Shared(lambda folder: Writing(folder, "|compression=0|term-length=256k|window=4|timeout=1s"))


def seeds() -> list[bytes]:
    return [
        block(ack(1), 1) + block(ack(2), 2),
        block(ack(0), 1) + block(ack(1), 0) + block(b"", 1) + block(ack(1), 0),
        block(ack(4), 4) + block(ack(4)[:3], 4) + block(ack(4)[3:], 0),
    ]


def check(data: bytes) -> bool:
    with SHARED.use() as writing:
        accept(writing)
        before = SHARED.counted("lumberjack-writer-lost:")
        for offers, answer in Script(data).blocks(MAX_ANSWERS):
            for number in range(offers % 8):
                # Back pressure, while the reader acknowledges nothing.
                writing.publication.offer(b'{"n":%d}' % number)
            writing.run(2 * MS)
            assert unacknowledged(writing) >= 0
            writing.reader.received()
            if writing.reader.is_closed_by_peer:
                break
            writing.reader.send(answer)
            writing.run(2 * MS)
            assert 0 <= unacknowledged(writing) <= 1 << 17
        is_accepted = SHARED.counted("lumberjack-writer-lost:") == before
        writing.reader.close(aborts=True)
        assert_delivers(writing)
        return is_accepted


def unacknowledged(writing: Writing) -> int:
    return writing.publication.position - SHARED.counted("snd-pos")


def accept(writing: Writing) -> None:
    # The next attempt after a failure may be seconds later.
    writing.idle_step_ns = 20 * MS
    writing.accept()
    writing.idle_step_ns = 1 * MS


def assert_delivers(writing: Writing) -> None:
    """Assert that an honest reader gets what is not acknowledged, and abort its connection."""
    accept(writing)
    reader = writing.reader

    def is_acknowledged() -> bool:
        nonlocal received
        received += reader.received()
        answers, received = acknowledged(received)
        reader.send(answers)
        return not unacknowledged(writing)

    received = b""
    writing.run_until(is_acknowledged)
    reader.close(aborts=True)


def acknowledged(data: bytes) -> tuple[bytes, bytes]:
    """Return an acknowledgement for each whole window of events, and the rest of the data."""
    answers = b""
    while True:
        count, at = int.from_bytes(data[2:6], "big"), 6
        for _ in range(count):
            if len(data) < at + 10:
                return answers, data
            at += 10 + int.from_bytes(data[at + 6 : at + 10], "big")
        if len(data) < max(at, 6):
            return answers, data
        answers += ack(count)
        data = data[at:]

"""The parser of Lumberjack frames: bounded memory, and an outcome that does not depend on how bytes arrive."""

from __future__ import annotations

from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.lumberjack._native import faults
from aeron_media.lumberjack.codec.event_sink import PythonSink
from aeron_media.lumberjack.codec.frame_limits import FrameLimits
from aeron_media.lumberjack.codec.frame_parser import FrameParser
from aeron_media.lumberjack.fault_texts import describe_fault
from plain_codec import compressed, data_event, json_event, read, window

from aeron_core._native.buffer import AtomicBuffer

BUDGET = 1 << 20
LIMITS = FrameLimits(max_nesting=2, max_event_length=1 << 16)


class Reading:
    """A connection, which keeps the bytes that are not parsed yet."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.space = 1 << 30
        self.budget = MemoryBudget(BUDGET)
        self.parser = FrameParser(
            LIMITS,
            PythonSink(lambda *call: self._take("window", *call), lambda *call: self._take("event", *call)),
            self.budget,
        )
        self._rest = b""

    def _take(self, *call: object) -> int:
        if not self.space:
            return 0
        self.space -= 1
        self.calls.append(call)
        return 1

    def feed(self, data: bytes) -> None:
        self._rest += data
        done = self.parser.parse(AtomicBuffer(self._rest), 0, len(self._rest))
        assert 0 <= done <= len(self._rest)
        assert self.budget.used <= BUDGET
        self._rest = self._rest[done:]


def seeds() -> list[bytes]:
    events = b"".join(json_event(n, b'{"message":"%d"}' % n) for n in range(3))
    return [
        window(3) + events,
        window(3) + compressed(events),
        compressed(window(1) + compressed(data_event(1, [(b"a", b"b" * 30), (b"\xff", b"\n")]))),
        window(1, b"1")
        + data_event(1, [(b"line", b"text")] * 2)
        + compressed(data_event(2, []), b"1", level=0),
    ]


def check(data: bytes) -> bool:
    whole, cut, blocked = Reading(), Reading(), Reading()
    whole.feed(data)
    step = data[0] % 7 + 1 if data else 1
    for at in range(0, len(data), step):
        cut.feed(data[at : at + step])
    blocked.space = 0
    blocked.feed(data)
    while blocked.parser.is_blocked:
        blocked.space = 1
        blocked.feed(b"")
    assert (whole.calls, whole.parser.fault) == (blocked.calls, blocked.parser.fault)
    if faults.BROKEN_COMPRESSION in {whole.parser.fault, cut.parser.fault}:
        # The output of a broken stream before the error depends on how it arrives.
        assert whole.parser.fault != faults.NO_FAULT != cut.parser.fault
    else:
        assert (whole.calls, whole.parser.fault) == (cut.calls, cut.parser.fault)
    parser = whole.parser
    if parser.fault != faults.NO_FAULT:
        texts = describe_fault(parser.fault, parser.fault_value, parser.fault_limit)
        assert all(text.isprintable() for text in texts)
        return False
    if not whole._rest and not whole.budget.used:
        assert whole.calls == expected(data)
    for reading in (whole, cut, blocked):
        reading.parser.reset()
        assert reading.budget.used == 0
    return True


def expected(data: bytes) -> list[tuple[object, ...]]:
    """Return the calls for whole frames, by a codec without limits."""
    return list(read(data))

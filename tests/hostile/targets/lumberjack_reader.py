"""A listening driver and a writer that sends anything: bounded memory, and later writers are served.

The first byte of an input: 1 for an abort at the end, the rest selects the length of pieces.
"""

from __future__ import annotations

from collections.abc import Callable

from plain_codec import ack, compressed, data_event, json_event, window
from reading import CLOSED, Reading, received_by

from aeron_core.testing.connections import ConnectionPeer
from aeron_core.testing.pair import MS
from targets._simulations import Shared

MEMORY = 1 << 20
KEYS = "|term-length=256k|max-memory=1m|max-nesting=2"
STEPS = (1 << 16, 1000, 100, 7)
SHARED = Shared(lambda folder: Reading(folder, KEYS))


def seeds() -> list[bytes]:
    events = b"".join(json_event(n, b'{"message":"%d"}' % n) for n in range(1, 4))
    pairs = data_event(1, [(b"line", b"text")]) + data_event(2, [(b"a", b"b" * 50)])
    return [
        b"\0" + window(3) + events,
        b"\1" + window(3) + compressed(events),
        b"\2" + window(2, b"1") + pairs,
        b"\4" + window(3) + events + window(1) + json_event(1, b"{}"),
        b"\0" + window(0) + window(1) + compressed(compressed(json_event(1, b"[]"))),
    ]


def check(data: bytes) -> bool:
    mode, content = (data[0] if data else 0), data[1:]
    with SHARED.use() as reading:
        writer = reading.dial()
        step = STEPS[mode >> 1 & 3]
        try:
            while content:
                # A connection takes what its capacity allows; the driver reads in between.
                content = content[writer.send(content[:step]) :]
                reading.run(1 * MS)
                assert SHARED.counted("lumberjack-memory:") <= MEMORY
        except OSError:
            # Disconnected by the driver.
            pass
        reading.run(5 * MS)
        is_refused = has_ended(writer)
        writer.close(aborts=bool(mode & 1))
        # While events wait for their subscribers.
        until(
            reading,
            lambda: (
                not SHARED.counted("lumberjack-connections:") and not SHARED.counted("lumberjack-memory:")
            ),
        )
        reading.events.clear()
        assert_serves(reading)
        return not is_refused


def has_ended(writer: ConnectionPeer) -> bool:
    """Return whether the driver has closed its side of a connection, or aborted it."""
    try:
        return received_by(writer).endswith(CLOSED)
    except OSError:
        return True


def assert_serves(reading: Reading) -> None:
    writer = reading.dial()
    writer.send(window(1) + json_event(1, b'{"behaves":1}'))
    answer = b""

    def is_acknowledged() -> bool:
        nonlocal answer
        answer += writer.received()
        return len(answer) >= len(ack(1))

    until(reading, is_acknowledged)
    assert answer == ack(1)
    assert reading.payloads() == [b'{"behaves":1}']
    writer.close()
    until(reading, lambda: not SHARED.counted("lumberjack-connections:"))
    reading.events.clear()


def until(reading: Reading, condition: Callable[[], bool]) -> None:
    reading.run_until(lambda: reading.poll() or condition())

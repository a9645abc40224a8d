"""Hostile writers and the memory that they cost a listening driver."""

from __future__ import annotations

import os
import random
import zlib
from functools import cache

import pytest
from aeron_media.lumberjack._native import bounds
from plain_codec import ack, compressed, data_event, envelope, json_event, window

from aeron_core._native.address import SocketAddress
from aeron_core.testing.pair import MS, S, Simulation

SESSIONS = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "100"))
ADDRESS = SocketAddress.of("127.0.0.1", 5044)
CHANNEL = "aeron:lumberjack?endpoint=127.0.0.1:5044"
KEYS = "|term-length=256k|max-memory=4m"


class Target(Simulation):
    """A driver with a fast subscriber."""

    def __init__(self, directory, keys=KEYS):
        super().__init__(directory, busy_step_ns=1 * MS, idle_step_ns=5 * MS)
        self.driver = self.add_driver()
        self.client = self.driver.connect()
        self.subscription = self.result(self.client.add_subscription_async(CHANNEL + keys, 7))
        self._memory = self.driver.find_counter("lumberjack-memory:").id
        self.most_memory = 0

    def run(self, duration_ns):
        self.run_for(duration_ns, self._watch)

    def _watch(self):
        self.subscription.poll(lambda *_: None, 100)
        self.most_memory = max(self.most_memory, self.driver.counters.value(self._memory))

    def counted(self, name):
        return self.driver.find_counter(f"lumberjack-{name}:").value

    def serves(self):
        """Return whether a well-behaved writer still gets acknowledgements."""
        writer = self.connections.dial(ADDRESS)
        writer.send(window(2) + compressed(json_event(1, b"{}") + json_event(2, b"{}")))
        self.run(200 * MS)
        answer = writer.received()
        writer.close()
        self.run(50 * MS)
        return answer == ack(2)


@pytest.fixture
def target(tmp_path):
    with Target(tmp_path) as made:
        yield made


def a_session(chance):
    """Return valid input of a writer."""
    frames = []
    for _ in range(chance.randint(1, 4)):
        count = chance.randint(0, 20)
        version = chance.choice((b"1", b"2"))
        if version == b"1":
            events = b"".join(
                data_event(n, [(b"k" * chance.randint(0, 9), chance.randbytes(chance.randint(0, 40)))])
                for n in range(1, count + 1)
            )
        else:
            events = b"".join(
                json_event(n, b"{" + b" " * chance.randint(0, 300) + b"}") for n in range(1, count + 1)
            )
        packed = compressed(events, version) if chance.random() < 0.6 else events
        frames.append(window(count, version) + packed)
    return b"".join(frames)


def mutated(data, chance):
    """Return the data with some bytes changed, removed, duplicated or moved."""
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(damaged))
        end = min(len(damaged), at + chance.choice((1, 1, 2, 4, 16, 64)))
        kind = chance.randrange(5)
        if kind == 0:
            damaged[at:end] = chance.randbytes(end - at)
        elif kind == 1:
            del damaged[at:end]
        elif kind == 2:
            damaged[at:at] = damaged[at:end]
        elif kind == 3:
            damaged[at:at] = chance.choice((b"2C", b"2W", b"1D", b"2J", b"\xff\xff\xff\xff", b"\0\0\0\0"))
        else:
            damaged[at] ^= 1 << chance.randrange(8)
        if not damaged:
            damaged += b"2"
    return bytes(damaged)


@cache
def bomb():
    """Return an event of 150 MB of one byte, compressed to 146 kB."""
    return envelope(zlib.compress(json_event(1, b'"' + bytes(150_000_000) + b'"'), 9))


def test_a_driver_survives_hostile_writers(target):
    chance = random.Random(5)
    for _ in range(SESSIONS):
        data = mutated(a_session(chance), chance)
        writer = target.connections.dial(ADDRESS)
        while data and not writer.failure:
            step = chance.choice((1, 7, 100, 5000, 70_000))
            try:
                sent = writer.send(data[:step])
            except OSError:
                # Disconnected by the driver, as expected.
                break
            data = data[sent:]
            target.run(5 * MS)
        target.run(20 * MS)
        writer.close(aborts=chance.random() < 0.5)
        target.run(10 * MS)
    assert target.serves()
    target.run(60 * S)
    assert target.counted("connections") == 0
    assert target.counted("memory") == 0
    assert target.most_memory <= 4 << 20


def test_compression_bombs_cost_at_most_one_piece(target):
    data = window(1) + bomb()
    writer = target.connections.dial(ADDRESS)
    while data and not writer.failure:
        try:
            data = data[writer.send(data) :]
        except OSError:
            break
        target.run(5 * MS)
    target.run(3 * S)
    assert target.counted("rejects-limit") == 1
    assert target.most_memory < 1 << 20
    assert target.serves()


@pytest.mark.parametrize("nesting", [1, 2, 4])
def test_a_nested_compression_bomb_costs_less_than_a_mebibyte(tmp_path, nesting):
    with Target(tmp_path, f"{KEYS}|max-nesting={nesting}") as target:
        twice = envelope(zlib.compress(bomb(), 9))
        thrice = window(1) + envelope(zlib.compress(twice, 9))
        assert len(thrice) < 600
        writer = target.connections.dial(ADDRESS)
        writer.send(thrice)
        target.run(5 * S)
        assert target.counted("rejects-limit") == 1
        assert target.most_memory < 1 << 20
        assert target.serves()


def test_announced_lengths_of_hostile_writers_cost_no_memory(tmp_path):
    with Target(tmp_path, "|term-length=8m|max-memory=4m") as target:
        # Each announces an event of 500 kB and sends only its first bytes.
        writers = [target.connections.dial(ADDRESS) for _ in range(20)]
        for writer in writers:
            writer.send(window(1) + b"2J\0\0\0\1\0\7\xa1\x20" + b"x")
        target.run(1 * S)
        assert target.counted("memory") <= 20 * 65_536
        assert target.serves()


def test_a_frame_larger_than_the_budget_is_refused(tmp_path):
    with Target(tmp_path, "|max-memory=512k|term-length=8m") as target:
        data = window(1) + json_event(1, b'"' + b"x" * 900_000 + b'"')
        writer = target.connections.dial(ADDRESS)
        try:
            while data:
                data = data[writer.send(data) :]
                target.run(5 * MS)
        except OSError:
            pass
        target.run(3 * S)
        assert target.counted("rejects-limit") == 1
        (error,) = [record.text for record in target.driver.errors()]
        assert "a frame is larger than all connections may use" in error
        assert "max-memory= sets it" in error
        assert target.counted("memory") == 0
        assert target.serves()


@pytest.mark.parametrize("length", [450_000, 900_000])
def test_a_compressed_event_larger_than_the_budget_is_refused(tmp_path, length):
    with Target(tmp_path, "|max-memory=512k|term-length=8m") as target:
        chance = random.Random(3)
        data = window(1) + compressed(json_event(1, b'"%s"' % chance.randbytes(length // 2).hex().encode()))
        writer = target.connections.dial(ADDRESS)
        try:
            while data:
                data = data[writer.send(data) :]
                target.run(5 * MS)
        except OSError:
            pass
        target.run(3 * S)
        assert target.counted("rejects-limit") == 1
        assert "max-memory= sets it" in target.driver.errors()[0].text
        assert target.serves()


def test_many_hostile_writers_share_one_budget(target):
    # Each declares 16 MiB and sends some of it.
    writers = [target.connections.dial(ADDRESS) for _ in range(150)]
    frame = window(1) + b"2J\0\0\0\1\0\0\x7f\xff" + b"x" * 32_000
    for writer in writers:
        writer.send(frame)
    target.run(1 * S)
    assert target.most_memory <= 4 << 20
    assert target.counted("connections") <= 150
    for writer in writers:
        writer.close()
    target.run(1 * S)
    assert target.counted("memory") == 0
    assert target.serves()


def test_a_writer_that_sends_without_end_after_its_fault_takes_bounded_turns(target):
    writer = target.connections.dial(ADDRESS)
    target.run(20 * MS)
    turns = [0]
    ended = writer._other

    def receive(length):
        turns[-1] += length
        # Fail instead of looping forever.
        assert turns[-1] < 1 << 25
        return b"x" * length

    ended.receive = receive
    while not writer.is_closed_by_peer and len(turns) < 100:
        target.step()
        turns.append(0)

    assert writer.is_closed_by_peer
    assert max(turns) <= bounds.TURN_LENGTH + bounds.LONG_READ_LENGTH
    assert sum(turns) <= bounds.LINGER_LENGTH + 2 * bounds.TURN_LENGTH
    assert target.counted("rejects-malformed") == 1
    assert target.serves()

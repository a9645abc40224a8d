"""Invalid input of peers: no exception is raised, memory is bounded, and other peers are served."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pairing import Pairing, greeting, is_gone, message, received_by

from aeron_core.testing.pair import MS, S

EXAMPLES = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "60"))
BUDGET = 1 << 20

BODIES = st.binary(max_size=40)
HOPS = st.sampled_from([0, 1, 2, 8, 9, 255, 256, 1 << 31])
SHORT = st.binary(max_size=3)
FRAMES = st.lists(
    st.one_of(
        st.tuples(st.just("message"), BODIES, HOPS),
        st.tuples(st.just("short"), SHORT, st.just(0)),
    ),
    max_size=20,
)


def encoded(frame):
    kind, body, hops = frame
    return message(body, hops) if kind == "message" else struct.pack(">Q", len(body)) + body


@given(frames=FRAMES, cuts=st.lists(st.integers(1, 50), max_size=30))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_valid_messages_arrive_in_order_among_invalid_ones_however_they_are_split(tmp_path, frames, cuts):
    with TemporaryDirectory(dir=tmp_path) as folder, Pairing(Path(folder), publishes=False) as pair:
        peer = pair.dial()
        data = greeting() + b"".join(map(encoded, frames))
        for cut in cuts:
            peer.send(data[:cut])
            data = data[cut:]
            pair.run(2 * MS)
        pair.send_from(peer, data)
        assert pair.bodies() == [body for kind, body, hops in frames if kind == "message" and 1 <= hops <= 8]


def mutated(chance, data):
    """Return `data` with random bit flips, deletions, insertions and lengths."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0 if at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                changed[at : at + chance.randint(1, 9)] = b""
            case 2:
                changed[at:at] = chance.randbytes(chance.randint(1, 9))
            case _:
                changed[at : at + 8] = struct.pack(
                    ">Q", chance.choice([0, 1, 1 << 20, 1 << 31, 1 << 40, 1 << 63])
                )
    return bytes(changed)


@pytest.mark.parametrize("seed", range(max(4, EXAMPLES // 15)))
def test_mutated_sessions_are_harmless(pairing, seed):
    chance = random.Random(seed)
    pair = pairing(
        keys=f"|poly=true|max-connections=8|max-memory={BUDGET}|max-message=64k|handshake-timeout=1s"
    )
    session = greeting() + b"".join(message(chance.randbytes(chance.randint(0, 300))) for _ in range(30))
    for _ in range(20):
        peer = pair.dial()
        data = mutated(chance, session)
        while data:
            cut = chance.randint(1, 2000)
            try:
                peer.send(data[:cut])
            except OSError:
                break
            data = data[cut:]
            pair.run(1 * MS)
        assert pair.counted("memory") <= BUDGET
        if chance.random() < 0.7:
            peer.close(aborts=chance.random() < 0.5)
    pair.run(2 * S)
    for record in pair.errors():
        assert "Error" not in record
    pair.received.clear()
    assert_serves(pair)


def assert_serves(pair):
    """Assert that a valid peer is served after idle connections have timed out."""
    pair.run(31 * S)
    peer = pair.join()
    pair.send_from(peer, message(b"behaves"))
    assert b"behaves" in pair.bodies()


def test_an_incomplete_message_without_progress_ends_the_connection(pairing):
    pair = pairing(keys="|message-timeout=2s")
    peer = pair.join()
    pair.send_from(peer, message(b"begun")[:-1])
    pair.run(1 * S)
    assert not is_gone(peer)
    pair.run(2 * S)
    assert is_gone(peer)
    assert any("within message-timeout=" in error for error in pair.errors())


def test_a_peer_may_be_silent_between_messages_without_limit(pairing):
    pair = pairing(keys="|message-timeout=2s")
    peer = pair.join()
    pair.send_from(peer, message(b"one"))
    pair.run(60 * S)
    pair.send_from(peer, message(b"two"))
    assert pair.bodies() == [b"one", b"two"]


def test_announced_lengths_allocate_no_memory(pairing):
    pair = pairing(keys=f"|max-memory={BUDGET}")
    peer = pair.join()
    pair.send_from(peer, struct.pack(">Q", (1 << 20) - 100))
    assert pair.counted("memory") <= 128 * 1024


def test_peers_that_fill_the_memory_with_incomplete_messages_are_disconnected(pairing):
    pair = pairing(keys="|poly=true|max-memory=512k|max-message=256k")
    halves = [pair.join() for _ in range(4)]
    for half in halves:
        data = message(bytes(200_000))[:-1]
        for _ in range(200):
            if half.is_closed:
                break
            try:
                data = data[half.send(data) :]
            except OSError:
                break
            pair.run(2 * MS)
    assert pair.counted("memory") <= 512 * 1024
    pair.run(12 * S)
    assert any("max-memory= limits what all peers may use" in error for error in pair.errors())
    peer = pair.join()
    pair.send_from(peer, message(b"behaves"))
    assert pair.bodies() == [b"behaves"]


def test_a_health_check_that_connects_and_disconnects_is_no_error(pairing):
    pair = pairing()
    peer = pair.dial()
    peer.close()
    pair.run()
    assert pair.errors() == []
    assert pair.counted("peers") == 0


def test_silent_connections_block_a_peer_no_longer_than_the_handshake_timeout(pairing):
    pair = pairing(keys="|max-connections=2|handshake-timeout=1s")
    silent = [pair.dial() for _ in range(2)]
    assert is_gone(pair.dial())
    pair.run(2 * S)
    assert [received_by(peer) for peer in silent] == [greeting()] * 2
    pair.join()


def test_a_silent_connection_is_evicted_for_the_next_attempt_of_a_peer(pairing):
    pair = pairing(keys="|max-connections=2|handshake-timeout=60s")
    silent = [pair.dial() for _ in range(2)]
    pair.run(2 * S)

    assert is_gone(pair.dial())
    pair.join()

    assert [received_by(peer) for peer in silent] == [greeting()] * 2
    assert [is_gone(peer) for peer in silent] == [True, False]
    assert (pair.counted("turned-away"), pair.counted("silent")) == (1, 1)


def test_one_source_does_not_take_the_connections_of_others(pairing):
    pair = pairing(keys="|poly=true|max-connections=4|max-per-source=2")
    attackers = [pair.dial("10.0.0.66") for _ in range(4)]
    assert [peer.is_closed_by_peer for peer in attackers] == [False, False, True, True]

    peer = pair.dial("10.0.0.1")
    pair.send_from(peer, greeting() + message(b"behaves"))

    assert pair.bodies() == [b"behaves"]
    assert pair.counted("turned-away") == 2
    assert any("max-per-source= sets it" in error for error in pair.errors())
    attackers[0].close()
    pair.run()
    assert not pair.dial("10.0.0.66").is_closed_by_peer

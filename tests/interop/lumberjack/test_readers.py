"""Our writer and readers of others: every event arrives exactly once, in order, as it was offered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
COUNT = 5000


def event(index):
    return {"n": index, "@metadata": {"beat": "ours"}, "message": "<é & 🦀>" * (index % 23)}


EVENTS = [event(index) for index in range(COUNT)]
PAYLOADS = [json.dumps(each, ensure_ascii=False) for each in EVENTS]


def address_of(peer):
    """Wait for the address that a reader listens on."""
    peer.await_line("listening ")
    (line,) = [line for line in peer.lines if line.startswith("listening ")]
    return line.split()[1]


@pytest.mark.parametrize(
    "keys",
    ["", "|compression=0", "|compression=9|window=50|pipeline=8", "|compression=0|window=50|pipeline=1"],
)
@pytest.mark.compatible("Lumberjack", "our client → our driver → go-lumber")
def test_go_lumber_receives(writing, start, told, golumber, keys):
    peer = start(golumber, "receive", COUNT, "3s", "0s")
    writer = writing(address_of(peer), keys)

    writer.send([payload.encode() for payload in PAYLOADS])

    said = told(peer)
    assert said["payloads"] == PAYLOADS
    assert writer.counted("writer-acks") == len(said["windows"])
    assert writer.counted("writer-attempts") == 1
    assert writer.errors() == []


@pytest.mark.compatible("Lumberjack", "our client → our driver → go-lumber")
def test_go_lumber_says_that_it_is_there_while_it_is_slow(writing, start, told, golumber):
    peer = start(golumber, "receive", 3, "20ms", "150ms")
    writer = writing(address_of(peer), "|window=1|pipeline=1")

    writer.send([payload.encode() for payload in PAYLOADS[:3]])

    assert told(peer)["payloads"] == PAYLOADS[:3]
    assert writer.counted("writer-keep-alives") >= 3
    assert writer.errors() == []


@pytest.mark.compatible("Lumberjack", "our client → our driver → go-lumber")
@pytest.mark.parametrize("keys", ["", "|compression=0"])
def test_go_lumber_receives_events_of_many_fragments(writing, start, told, golumber, keys):
    payloads = [json.dumps({"n": n, "message": "x" * 100_000}) for n in range(50)]
    peer = start(golumber, "receive", len(payloads), "3s", "0s")
    writer = writing(address_of(peer), f"|mtu=1408|window=10{keys}")

    writer.send([payload.encode() for payload in payloads])

    assert told(peer)["payloads"] == payloads
    assert writer.errors() == []


@pytest.mark.compatible("Lumberjack", "our client → our driver → timbersnake")
def test_timbersnake_receives(writing, start, told, peers_python):
    peer = start(peers_python, PEERS / "timbersnake_server.py", COUNT)
    writer = writing(address_of(peer))

    writer.send([payload.encode() for payload in PAYLOADS])

    assert told(peer)["events"] == EVENTS
    assert writer.counted("writer-attempts") == 1
    assert writer.errors() == []


def received(peer):
    """Return what a reader that prints each event has printed."""
    return [line.removeprefix("event ") for line in peer.lines if line.startswith("event ")]


@pytest.mark.parametrize("keys", ["", "|balance=true"])
@pytest.mark.compatible("Lumberjack", "our client → our driver → two of go-lumber, one killed")
def test_one_of_two_of_go_lumber_is_killed(writing, start, golumber, keys):
    peers = [start(golumber, "log") for _ in range(2)]
    writer = writing(",".join(map(address_of, peers)), f"|window=50|pipeline=4{keys}")
    payloads = [payload.encode() for payload in PAYLOADS]

    writer.offer(payloads[:2000])
    writer.until(lambda: writer.counted("writer-acks") >= 10)
    peers[0].kill()
    writer.send(payloads[2000:])

    # What was acknowledged was printed before; it may take a moment until we have read it.
    writer.until(lambda: set(received(peers[0])) | set(received(peers[1])) == set(PAYLOADS))
    assert received(peers[0])
    if not keys:
        # In order, but for what comes again from where the other had got to.
        last = received(peers[1])
        assert last == PAYLOADS[PAYLOADS.index(last[0]) :]
    writer.until(lambda: any("connection" in error for error in writer.errors()))

"""Our writer with foreign readers: every event arrives exactly once, in order and unmodified."""

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
    """Wait for the address on which a reader listens."""
    peer.await_line("listening ")
    (line,) = [line for line in peer.lines if line.startswith("listening ")]
    return line.split()[1]


@pytest.mark.parametrize(
    "keys",
    ["", "|compression=0", "|compression=9|window=50|pipeline=8", "|compression=0|window=50|pipeline=1"],
)
@pytest.mark.compatible("Lumberjack", "our client → our driver → go-lumber")
def test_go_lumber_receives(writing, start, output_of, golumber, keys):
    peer = start(golumber, "receive", COUNT, "3s", "0s")
    writer = writing(address_of(peer), keys)

    writer.send([payload.encode() for payload in PAYLOADS])

    output = output_of(peer)
    assert output["payloads"] == PAYLOADS
    assert writer.counted("writer-acks") == len(output["windows"])
    assert writer.counted("writer-attempts") == 1
    assert writer.errors() == []


@pytest.mark.compatible("Lumberjack", "our client → our driver → go-lumber")
def test_slow_go_lumber_sends_keepalives(writing, start, output_of, golumber):
    peer = start(golumber, "receive", 3, "20ms", "150ms")
    writer = writing(address_of(peer), "|window=1|pipeline=1")

    writer.send([payload.encode() for payload in PAYLOADS[:3]])

    assert output_of(peer)["payloads"] == PAYLOADS[:3]
    assert writer.counted("writer-keep-alives") >= 3
    assert writer.errors() == []


@pytest.mark.compatible("Lumberjack", "our client → our driver → go-lumber")
@pytest.mark.parametrize("keys", ["", "|compression=0"])
def test_go_lumber_receives_events_of_many_fragments(writing, start, output_of, golumber, keys):
    payloads = [json.dumps({"n": n, "message": "x" * 100_000}) for n in range(50)]
    peer = start(golumber, "receive", len(payloads), "3s", "0s")
    writer = writing(address_of(peer), f"|mtu=1408|window=10{keys}")

    writer.send([payload.encode() for payload in payloads])

    assert output_of(peer)["payloads"] == payloads
    assert writer.errors() == []


@pytest.mark.compatible("Lumberjack", "our client → our driver → timbersnake")
def test_timbersnake_receives(writing, start, output_of, peers_python):
    peer = start(peers_python, PEERS / "timbersnake_server.py", COUNT)
    writer = writing(address_of(peer))

    writer.send([payload.encode() for payload in PAYLOADS])

    assert output_of(peer)["events"] == EVENTS
    assert writer.counted("writer-attempts") == 1
    assert writer.errors() == []


def received(peer):
    """Return the events that a reader has printed."""
    return [line.removeprefix("event ") for line in peer.lines if line.startswith("event ")]


@pytest.mark.parametrize("keys", ["", "|balance=true"])
@pytest.mark.compatible("Lumberjack", "our client → our driver → two of go-lumber, one killed")
def test_stream_continues_when_one_of_two_go_lumber_readers_is_killed(writing, start, golumber, keys):
    peers = [start(golumber, "log") for _ in range(2)]
    writer = writing(",".join(map(address_of, peers)), f"|window=50|pipeline=4{keys}")
    payloads = [payload.encode() for payload in PAYLOADS]

    writer.offer(payloads[:1000])
    # With `balance`, the first events may all have gone to the other one, which was connected earlier.
    at = 1000
    while at < 2000 and not received(peers[0]):
        writer.send(payloads[at : at + 10])
        at += 10
    writer.offer(payloads[at:2000])
    writer.until(lambda: writer.counted("writer-acks") >= 10)
    peers[0].kill()
    writer.send(payloads[2000:])

    # Acknowledged events were printed before; their output may arrive a moment later. The last line of the killed
    # reader may be cut off.
    writer.until(lambda: set(received(peers[0])) | set(received(peers[1])) >= set(PAYLOADS))
    assert received(peers[0])
    if not keys:
        # In order, except for the events that are sent again after the switch.
        last = received(peers[1])
        assert last == PAYLOADS[PAYLOADS.index(last[0]) :]
    writer.until(lambda: any("connection" in error for error in writer.errors()))

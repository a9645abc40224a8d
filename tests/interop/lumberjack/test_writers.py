"""Foreign writers with our reader: every event arrives exactly once, in order and unmodified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"


def numbers(payloads):
    return [json.loads(payload)["n"] for payload in payloads]


def check(reader, payloads, count):
    """Check that all events of a writer arrived and that there are no errors."""
    assert numbers(payloads) == list(range(count))
    assert reader.take_all() == payloads
    assert reader.errors() == []


@pytest.mark.parametrize("window", [1, 50, 2048])
@pytest.mark.compatible("Lumberjack", "pylogbeat → our driver → our client")
def test_pylogbeat_sends_several_windows_on_a_connection(reading, start, output_of, peers_python, window):
    reader, count = reading(), window * 3 + 1
    peer = start(peers_python, PEERS / "writers.py", "pylogbeat", reader.port, count, window)

    reader.take(count)

    check(reader, output_of(peer)["payloads"], count)
    assert reader.counted("accepted") == 1
    assert reader.counted("acks") == 4


@pytest.mark.compatible("Lumberjack", "pylogbeat → our driver → our client")
def test_pylogbeat_waits_for_a_slow_subscriber(reading, start, output_of, peers_python):
    reader = reading("|keep-alive=50ms")
    peer = start(peers_python, PEERS / "writers.py", "pylogbeat", reader.port, 30, 10)

    reader.until(lambda: reader.counted("keep-alives") >= 3)
    reader.take(30)

    check(reader, output_of(peer)["payloads"], 30)
    assert reader.counted("acks") == 3


@pytest.mark.compatible("Lumberjack", "pylogbeat → our driver → our client")
def test_pylogbeat_sends_events_of_many_fragments(reading, start, output_of, peers_python):
    reader = reading()
    peer = start(peers_python, PEERS / "writers.py", "pylogbeat", reader.port, 20, 7, 900_000)

    reader.take(20)

    check(reader, output_of(peer)["payloads"], 20)


@pytest.mark.compatible("Lumberjack", "pylogbeat → our driver → our client")
def test_several_pylogbeat_writers_send_concurrently(reading, start, output_of, peers_python):
    reader, count = reading(), 2000
    command = (peers_python, PEERS / "writers.py", "pylogbeat", reader.port, count, 50)
    peers = [start(*command) for _ in range(3)]

    reader.take(count * len(peers))

    for peer in peers:
        output_of(peer)
    reader.take_all()
    assert len(reader.by_session) == len(peers)
    assert all(numbers(payloads) == list(range(count)) for payloads in reader.by_session.values())
    assert reader.errors() == []


@pytest.mark.compatible("Lumberjack", "python-logstash-async → our driver → our client")
def test_a_logging_handler_of_python_logstash_async_sends(reading, start, output_of, peers_python):
    reader = reading()
    peer = start(peers_python, PEERS / "writers.py", "logstash_async", reader.port, 230)

    reader.take(230)

    check(reader, output_of(peer)["payloads"], 230)


@pytest.mark.compatible("Lumberjack", "timbersnake → our driver → our client")
def test_timbersnake_sends_the_three_announced_events(reading, start, output_of, peers_python):
    reader = reading()
    peer = start(peers_python, PEERS / "writers.py", "timbersnake", reader.port, 30, 3)

    reader.take(30)

    check(reader, output_of(peer)["payloads"], 30)
    assert reader.counted("accepted") == 10


@pytest.mark.compatible("Lumberjack", "timbersnake → our driver → our client")
def test_timbersnake_sends_more_events_than_announced(reading, start, output_of, peers_python):
    reader = reading()
    peer = start(peers_python, PEERS / "writers.py", "timbersnake", reader.port, 100, 100)

    reader.take(100)

    payloads = output_of(peer)["payloads"]
    assert numbers(payloads) == list(range(100))
    assert reader.take_all() == payloads


@pytest.mark.compatible("Lumberjack", "lumberjack-client → our driver → our client")
def test_lumberjack_client_sends_without_reading_acknowledgements(reading, start, output_of, node_peers):
    reader, count = reading(), 400
    package = node_peers / "lumberjack-client"
    peer = start("node", PEERS / "lumberjack_client.js", package, reader.port, count)

    payloads = output_of(peer)["payloads"]
    reader.take(count)
    reader.until(lambda: reader.counted("acks") == 1 + count // 2)
    peer.stop()

    check(reader, payloads, count)


@pytest.mark.parametrize("window", [50, 2048])
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.compatible("Lumberjack", "go-lumber → our driver → our client")
def test_go_lumber_sends(reading, start, output_of, golumber, kind, level, window):
    reader, count = reading(), 5000
    peer = start(golumber, "send", reader.address, kind, level, window, count)

    reader.take(count)

    output = output_of(peer)
    check(reader, output["payloads"], count)
    assert output["acked"] == count
    assert reader.counted("acks") == -(-count // window)


@pytest.mark.compatible("Lumberjack", "go-lumber → our driver → our client")
def test_go_lumber_waits_for_a_slow_subscriber(reading, start, output_of, golumber):
    reader = reading("|keep-alive=50ms")
    peer = start(golumber, "send", reader.address, "async", 3, 10, 50)

    reader.until(lambda: reader.counted("keep-alives") >= 3)
    reader.take(50)

    output = output_of(peer)
    check(reader, output["payloads"], 50)
    assert output["acked"] == 50


@pytest.mark.compatible("Lumberjack", "go-lumber → our driver → our client")
def test_go_lumber_accepts_partial_acknowledgements(reading, start, output_of, golumber):
    reader = reading("|ack-partial=true")
    peer = start(golumber, "send", reader.address, "sync", 0, 1000, 5000)

    reader.take(5000)

    output = output_of(peer)
    check(reader, output["payloads"], 5000)
    assert output["acked"] == 5000


@pytest.mark.compatible("Lumberjack", "python-logstash-async → our driver, restarted → our client")
def test_a_handler_of_python_logstash_async_continues_with_a_restarted_reader(
    reading, start, output_of, peers_python
):
    before, count = reading(), 3000
    peer = start(peers_python, PEERS / "writers.py", "logstash_async", before.port, count)
    before.take(500)
    before.close()

    after = reading(port=before.port)
    after.until(
        lambda: (after.poll(), set(numbers(before.payloads + after.payloads)) == set(range(count)))[-1]
    )

    output_of(peer)
    assert before.payloads
    assert after.payloads
    assert after.errors() == []

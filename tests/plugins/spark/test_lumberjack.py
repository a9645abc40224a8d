"""Events of a Lumberjack writer: recorded and read, or read by a pipeline as they arrive."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
from live_pipeline import TIMEOUT_S, LivePipeline
from plain_codec import ack, compressed, json_event, window
from pyspark_aeron.decoders import decode

from aeron_core.recording import Archive

EVENTS = [
    json.dumps({"@timestamp": "2026-01-31T12:00:00.000Z", "message": f"line {n}", "n": n}) for n in range(300)
]


def deliver(port):
    """Send all events as one window; repeat until it is acknowledged, as writers do."""
    frames = b"".join(json_event(number, event.encode()) for number, event in enumerate(EVENTS, 1))
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(window(len(EVENTS)) + compressed(frames))
                answer = ack(0)
                while answer == ack(0):
                    answer = connection.recv(6, socket.MSG_WAITALL)
                if answer:
                    assert answer == ack(len(EVENTS))
                    return
        except OSError:
            pass
        time.sleep(0.1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.system
def test_a_lumberjack_channel_is_recorded_and_read_by_its_decoder(spark, core, driver, tmp_path):
    port = free_port()
    channel = f"aeron:lumberjack?endpoint=127.0.0.1:{port}|term-length=1m"
    core("record", channel, 7, "--to", tmp_path / "archive", "-d", driver.aeron_dir)

    deliver(port)

    # Acknowledged events are on disk.
    recordings = Archive.open(tmp_path / "archive").recordings()
    assert sum(recording.position > recording.start_position for recording in recordings) == 1
    frame = spark.read.format("aeron").option("archive", str(tmp_path / "archive")).load()
    rows = decode(frame, "lumberjack").orderBy("position").select("message", "_corrupt").collect()
    assert [tuple(row) for row in rows] == [(f"line {n}", None) for n in range(len(EVENTS))]


@pytest.mark.system
def test_a_lumberjack_channel_is_a_live_source_of_a_pipeline(core, driver, tmp_path):
    port = free_port()
    channel = f"aeron:lumberjack?endpoint=127.0.0.1:{port}|term-length=1m"
    pipeline = LivePipeline(
        tmp_path,
        channel,
        driver.aeron_dir,
        "SELECT message AS text FROM live WHERE message LIKE 'line%'",
        more='decode = "lumberjack"',
    )
    core("pipeline", "run", pipeline.path)
    writer = threading.Thread(target=deliver, args=(port,), daemon=True)
    writer.start()

    pipeline.await_texts(f"line {n}" for n in range(len(EVENTS)))
    writer.join(TIMEOUT_S)
    assert not writer.is_alive()

"""Real processes killed within windows: no acknowledged event may be missing.

Writer, driver and consumer are killed in turns; the consumer is a recorder, so that its position covers data on disk.
Rounds of each: AERON_CORE_KILL_ROUNDS, default 1.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

ROUNDS = int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1"))
WRITER = Path(__file__).parent / "programs" / "writer.py"
TIMEOUT_S = 120
DRIVER_TIMEOUT_S = 2
EVENTS_PER_ROUND = 2_000


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Processes:
    """The driver, the recorder and the writer, each restarted after a kill."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.archive = folder / "archive"
        self.aeron_dir = folder / "aeron"
        self.log = folder / "writer.log"
        self.running = {}
        self.ended_at = 0

    def start(self, name):
        core = [sys.executable, "-m", "aeron_core"]
        channel = f"aeron:lumberjack?endpoint=127.0.0.1:{self.port}|term-length=1m"
        commands = {
            "driver": [
                *core,
                "driver",
                "--aeron-dir",
                self.aeron_dir,
                "-Daeron.client.liveness.timeout=2s",
                f"-Daeron.driver.timeout={DRIVER_TIMEOUT_S * 1000}",
            ],
            "consumer": [*core, "record", channel, "7", "--to", self.archive, "--aeron-dir", self.aeron_dir],
            "writer": [sys.executable, WRITER, self.port, self.first_unacknowledged(), self.ended_at],
        }
        with (self.folder / f"{name}.log").open("a") as log:
            self.running[name] = subprocess.Popen(
                [str(word) for word in commands[name]], stdout=log, stderr=subprocess.STDOUT
            )

    def lines(self, kind):
        if not self.log.exists():
            return []
        lines = [line.split() for line in self.log.read_text().splitlines()]
        # The kill can have truncated one.
        return [(int(line[1]), int(line[2])) for line in lines if line[:1] == [kind] and line[-1] == "."]

    def first_unacknowledged(self):
        return max((last for _, last in self.lines("acked")), default=0) + 1

    def kill(self, name):
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait()

    def stop(self):
        for name in ("writer", "consumer", "driver"):
            process = self.running.get(name)
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def wait_until(self, condition):
        deadline_s = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline_s, {
                name: (self.folder / f"{name}.log").read_text()[-2000:] for name in self.running
            }
            time.sleep(0.01)


@pytest.fixture
def processes(tmp_path):
    made = Processes(tmp_path)
    yield made
    made.stop()


@pytest.mark.system
@pytest.mark.parametrize("victim", ["writer", "consumer", "driver"])
def test_no_acknowledged_event_is_missing(processes, victim):
    chance = random.Random(f"{victim} {ROUNDS}")
    processes.ended_at = EVENTS_PER_ROUND * ROUNDS
    for name in ("driver", "consumer", "writer"):
        processes.start(name)
        if name == "driver":
            processes.wait_until((processes.aeron_dir / "cnc.dat").exists)
    for _ in range(ROUNDS):
        acked = len(processes.lines("acked"))
        processes.wait_until(lambda acked=acked: len(processes.lines("acked")) >= acked + 3)
        # At a random time, within a window or between two.
        time.sleep(chance.uniform(0, 0.03))
        processes.kill(victim)
        if victim == "driver":
            # Until then the driver of the directory counts as alive.
            time.sleep(DRIVER_TIMEOUT_S + 0.2)
        processes.start(victim)
    processes.wait_until(lambda: processes.running["writer"].poll() is not None)
    assert processes.running["writer"].returncode == 0, processes.log.read_text()[-2000:]
    processes.stop()

    sent = Counter(number for first, last in processes.lines("sent") for number in range(first, last + 1))
    acknowledged = {number for first, last in processes.lines("acked") for number in range(first, last + 1)}
    recorded = Counter(
        json.loads(bytes(message.payload))["n"]
        for recording in Archive.open(processes.archive).recordings()
        for message in messages(recording, recording.start_position, recording.position)
    )
    print(
        f"{victim}: {ROUNDS} rounds, {len(acknowledged)} acknowledged, {recorded.total()} recorded, "
        f"{sum(count - 1 for count in recorded.values())} twice"
    )
    assert acknowledged == set(range(1, processes.ended_at + 1))
    assert acknowledged <= recorded.keys()
    # Duplicates are resent events of an unacknowledged window.
    assert not {number for number, count in recorded.items() if count > sent[number]}

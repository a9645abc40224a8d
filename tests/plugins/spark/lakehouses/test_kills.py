"""Every message exists once in tables of Delta Lake and Iceberg after kills of Spark, its executors and the recorder.

Rounds: AERON_CORE_KILL_ROUNDS, default 1. Each has a kill at a random position within a batch of Delta Lake and one of
Iceberg, which are written at the same time, appended and merged in turn.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from checkpoints import batch_counts
from lakehouse_jars import SETTINGS, jars
from recorded_publisher import Publisher

from aeron_core.recording import Archive
from aeron_core.testing.recordings import RecordingUnderTest

pytestmark = pytest.mark.system
ROUNDS = int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1"))
#: A kill is within a batch of both tables of a line.
PAIRS = (
    ("delta", "iceberg_merged"),
    ("delta_merged", "iceberg"),
)
SINKS = (*PAIRS[0], *PAIRS[1])
TIMEOUT_S = 300 if ROUNDS == 1 else 900  # a run of many rounds is not alone on the machine
MESSAGES = 4 * 409  # of 100 bytes in four terms


def text_of(folder, master, trigger):
    settings = {
        **SETTINGS,
        "spark.jars": jars(),
        "spark.sql.shuffle.partitions": "1",
        "spark.log.level": "ERROR",
    }
    lines = [f'"{name}" = "{value}"' for name, value in settings.items()]
    merge = 'merge_on = ["recording_id", "position"]\nmerge_order = "position"'
    return "\n".join(
        [
            f'name = "tables"\nmaster = "{master}"\ncheckpoint = "{folder}/checkpoint"\ntrigger = "{trigger}"',
            f'[sources.log]\narchive = "{folder}/archive"\n[settings]',
            *lines,
            *(
                f'[[sinks]]\nfrom = "log"\nname = "{name}"\nformat = "{name.partition("_")[0]}"\n'
                f'path = "{folder}/{name}"\n{merge if name.endswith("_merged") else ""}'
                for name in SINKS
            ),
        ]
    )


class Tables:
    """A pipeline process that copies an archive into four tables."""

    def __init__(self, folder, master, trigger):
        self.folder = folder
        self.source = None  # until `grow`
        self.count = 0
        self._file = folder / "pipeline.toml"
        self._file.write_text(text_of(folder, master, trigger))
        self._log = folder / "pipeline.log"
        self.process = None

    def start(self):
        with self._log.open("w") as log:
            command = [sys.executable, "-m", "aeron_core", "pipeline", "run", str(self._file)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def grow(self):
        self.source = self.source or RecordingUnderTest.begin(self.folder / "archive")
        for _ in range(4):
            self.source.fill_term(100)
        self.count += MESSAGES

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(TIMEOUT_S)
        assert self.process.returncode == 0, self._log.read_text()

    def batches(self, sink):
        """Return the numbers of planned and committed batches."""
        return batch_counts(self.folder / "checkpoint" / sink)

    def wait_until(self, condition):
        deadline_s = time.monotonic() + TIMEOUT_S
        while not condition():
            if self.process.poll() is not None:
                text = self._log.read_text()
                # Spark waits ten seconds for a process of Python to start, which can be too short on a busy machine:
                # run the pipeline again, as its message says.
                assert "failed to connect back" in text, text
                self.start()
            assert time.monotonic() < deadline_s, self._log.read_text()
            time.sleep(0.005)

    def wait_within_batches(self, sinks):
        """Wait until a batch of each of these tables is in progress; record more when all have everything."""

        def are_within():
            if all(begun > done for begun, done in map(self.batches, sinks)):
                return True
            if self.is_idle():
                self.grow()
            return False

        self.wait_until(are_within)

    def is_idle(self):
        """Return whether all tables have everything that is recorded: their queries wait for more then."""
        return all(self.has_read(sink, {0: self.source.position}) for sink in SINKS)

    def wait_past(self, before, sinks=SINKS):
        """Wait until each of these tables has committed a batch since it had those numbers of them."""
        self.wait_until(lambda: all(self.batches(sink)[1] > before[sink][1] for sink in sinks))

    def state(self):
        return {sink: self.batches(sink) for sink in SINKS}

    def has_read(self, sink, ends):
        """Return whether the last batch is committed and reaches the given positions of recordings."""
        begun, done = self.batches(sink)
        if begun != done or not begun:
            return False
        offsets = (self.folder / "checkpoint" / sink / "offsets").glob("[0-9]*")
        text = max(offsets, key=lambda path: int(path.name)).read_text()
        positions = json.loads(text.splitlines()[-1])["pos"]
        return all(positions.get(str(key), 0) >= end for key, end in ends.items())

    def check(self, spark, distinct="count(DISTINCT position)"):
        for sink in SINKS:
            frame = spark.read.format(sink.partition("_")[0]).load(str(self.folder / sink))
            counts = frame.selectExpr("count(*)", distinct).first()
            assert (sink, *counts) == (sink, self.count, self.count)


@pytest.fixture
def tables(tmp_path):
    started = []

    def make(master, trigger="10 ms"):
        started.append(Tables(tmp_path, master, trigger))
        return started[-1]

    yield make
    for each in started:
        if each.process is not None and each.process.poll() is None:
            each.kill()


def test_every_message_exists_once_after_kills_of_spark_during_batches(request, tables):
    copied = tables("local[2]")
    replayed = 0
    for number in range(ROUNDS):
        pair = PAIRS[number % len(PAIRS)]
        before = copied.state()
        copied.grow()
        copied.start()
        # The batches of the kill before are repeated first.
        copied.wait_past(before, pair)
        copied.wait_within_batches(pair)
        copied.kill()
        replayed += sum(begun - done for begun, done in copied.state().values())
    copied.start()
    copied.wait_until(copied.is_idle)
    copied.stop()

    copied.check(request.getfixturevalue("spark"))
    print(f"{ROUNDS} kills of Spark, {replayed} batches repeated: {copied.count} messages in each table")


def test_every_message_exists_once_after_kills_of_executors_during_batches(request, tables, processes_of):
    copied = tables("local-cluster[1,2,1024]")
    copied.grow()
    copied.start()
    for number in range(ROUNDS):
        executors = []

        def found(executors=executors):
            executors[:] = processes_of(copied.process.pid, "CoarseGrainedExecutorBackend")
            return bool(executors)

        copied.wait_until(found)
        copied.wait_within_batches(PAIRS[number % len(PAIRS)])
        for executor in executors:
            os.kill(executor, signal.SIGKILL)
        copied.wait_until(copied.is_idle)
        copied.grow()
    copied.wait_until(copied.is_idle)
    copied.stop()

    copied.check(request.getfixturevalue("spark"))
    print(f"{ROUNDS} kills of executors: {copied.count} messages in each table")


def test_every_accepted_event_exists_once_after_kills_of_recorder_and_media_driver(
    request, tables, commands, channel, tmp_path
):
    archive = Archive.create(tmp_path / "archive")
    commands.start_driver()
    commands.start_recorder()
    publisher = Publisher(tmp_path / "driver", channel, archive)
    publisher.start()
    # Events arrive all the time: with a shorter trigger, batches take all processors while programs start again.
    copied = tables("local[2]", "1 second")
    copied.start()

    for name in ("recorder", "driver") * ROUNDS:
        sessions = publisher.sessions
        copied.wait_past(copied.state())
        commands.kill(name)
        getattr(commands, f"start_{name}")()
        if name == "driver":
            copied.wait_until(lambda sessions=sessions: publisher.sessions > sessions)
    copied.count = publisher.end()
    ends = {recording.recording_id: recording.position for recording in archive.recordings()}
    copied.wait_until(lambda: all(copied.has_read(sink, ends) for sink in SINKS))
    copied.stop()

    numbers = "count(DISTINCT substring(payload, 1, 20))"
    copied.check(request.getfixturevalue("spark"), numbers)
    print(f"{ROUNDS} kills of recorder and media driver each, {len(ends)} recordings: {copied.count} events")

"""Recordings, one Spark session for all tests that need one, and programs to kill."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkpoints import batch_counts
from recorded_publisher import Commands

from aeron_core.testing.recordings import RecordingUnderTest

pytest.importorskip("pyspark", reason="needs pyspark: pip install aeron-core[spark]")

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT_S = 240 if os.environ.get("AERON_CORE_KILL_ROUNDS", "1") == "1" else 900  # many rounds are not alone
ROUND_TIMEOUT_S = 600  # of a round of kills in which Spark starts, on a loaded machine
SINKS = ("parquet", "aeron")
MESSAGES_OF_TERM = 409  # of 100 bytes


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder, and give those that kill the time of all their rounds."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.spark)
            if (rounds := getattr(item.module, "ROUNDS", 0)) > 1:
                item.add_marker(pytest.mark.timeout(rounds * ROUND_TIMEOUT_S))


@pytest.fixture(scope="session", autouse=True)
def quick_java(request):
    """Let each Java of Spark start quickly if a selected test starts one, here or in a program."""
    from java_options import java_environment  # noqa: PLC0415 - imports pyspark

    with pytest.MonkeyPatch.context() as patch:
        if any(_needs_java(item) for item in request.session.items):
            for name, value in java_environment(ROOT / "build/java").items():
                patch.setenv(name, value)
        yield


def _needs_java(item):
    return item.get_closest_marker("spark") and (
        "spark" in item.fixturenames or item.get_closest_marker("system")
    )


@pytest.fixture
def written(tmp_path):
    return RecordingUnderTest.begin(tmp_path / "archive")


@pytest.fixture
def second(written):
    """Return a second recording in the same archive, of another stream."""
    return RecordingUnderTest.begin(written.store.folder, channel="aeron:udp?endpoint=h:1", stream_id=99)


@pytest.fixture(scope="session")
def has_jvm_reader(spark_jar):
    """Return whether the jar with the reader for Java exists."""
    return spark_jar is not None


@pytest.fixture(params=["aeron", "aeron-jvm"])
def format_(request):
    """Return the name of each format that reads recordings."""
    if request.param == "aeron-jvm" and not request.getfixturevalue("has_jvm_reader"):
        pytest.skip("needs javac: on Debian, apt-get install default-jdk-headless")
    return request.param


@pytest.fixture(scope="session")
def spark(quick_java, has_jvm_reader, tmp_path_factory):
    """Return a session with two cores that retries a task once, as a cluster does."""
    from pyspark_aeron.session import session  # noqa: PLC0415

    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "plugins/spark"), os.environ.get("PYTHONPATH", "")]
    )
    spark = session(
        "local[2,2]",
        settings={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.log.level": "ERROR",
        },
        jvm_reader=has_jvm_reader,
    )
    yield spark
    spark.stop()


@pytest.fixture
def core():
    """Run `aeron-core` with arguments until the test ends."""
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "aeron_core", *map(str, arguments)]
        processes.append(subprocess.Popen(command, stderr=subprocess.PIPE))

    yield start
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)


class Program:
    """One of `programs`, in a process group: Python, a Java machine, and its child processes."""

    def __init__(self, log, name, *arguments):
        self.log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAMS / name), *map(str, arguments)],
                start_new_session=True,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(TIMEOUT_S)

    def finish(self):
        self.process.wait(TIMEOUT_S)
        assert self.process.returncode == 0, self.log.read_text()

    def wait_until(self, condition):
        deadline_s = time.monotonic() + TIMEOUT_S
        while not (found := condition()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline_s, self.log.read_text()
            time.sleep(0.01)  # a batch takes longer
        return found

    def executors(self):
        """Return the process ids of its executors in a local cluster."""
        return descendants(self.process.pid, "CoarseGrainedExecutorBackend")


def descendants(ancestor, text):
    """Return the ids of all descendants of `ancestor` with `text` in the command."""
    parents, found = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(") ")[2].split()[1])
            if text in (path / "cmdline").read_text(errors="replace"):
                found.append(int(path.name))
        except (FileNotFoundError, ProcessLookupError):
            continue

    def is_of(pid):
        while pid > 1 and pid != ancestor:
            pid = parents.get(pid, 0)
        return pid == ancestor

    return [pid for pid in found if is_of(pid)]


@pytest.fixture
def processes_of():
    """Return the function that finds processes by ancestor and a part of the command."""
    return descendants


@pytest.fixture
def start_program(tmp_path):
    """Start a program by its name and arguments; running ones are killed after the test."""
    started = []

    def start(name, *arguments):
        started.append(Program(tmp_path / f"program-{len(started)}.log", name, *arguments))
        return started[-1]

    yield start
    for program in started:
        if program.process.poll() is None:
            program.kill()


class Copies:
    """The outputs of `following.py`, and its archive, which grows when all of it is copied."""

    def __init__(self, source, out):
        self.source = source
        self.out = out
        self.replayed = dict.fromkeys(SINKS, 0)  # batches in progress when Spark was killed
        self._grown_at = None  # progress of both outputs at that time
        self._count = 0  # number of messages in the archive

    @property
    def archive(self):
        return self.source.store.folder

    def batch_counts(self, sink):
        """Return the numbers of planned and committed batches."""
        return batch_counts(self.out / "checkpoints" / sink)

    def is_within_batch(self, sink):
        now = self.state()
        self._grow(now)
        begun, done = now[sink]
        return begun > done

    def are_past(self, before):
        """Return whether both outputs have committed batches since then."""
        now = self.state()
        self._grow(now)
        return all(now[sink][1] > before[sink][1] for sink in SINKS)

    def state(self):
        return {sink: self.batch_counts(sink) for sink in SINKS}

    def _grow(self, now):
        """Add messages when everything is copied, once each time."""
        if now != self._grown_at and all(begun == done for begun, done in now.values()):
            self._grown_at = now
            for _ in range(4):
                self.source.fill_term(100)
            self._count += 4 * MESSAGES_OF_TERM

    def note_kill(self):
        for sink, (begun, done) in self.state().items():
            self.replayed[sink] += begun - done

    def finish(self, program):
        (self.out / "stop").touch()
        program.finish()

    def check(self, spark):
        """Assert that both outputs have each message once; return the number of messages."""
        expected = spark.read.format("aeron").load(str(self.archive)).select("payload")
        count = expected.count()
        assert count == self._count > 0
        for sink in SINKS:
            copied = spark.read.format(sink).load(str(self.out / sink)).select("payload")
            assert copied.count() == copied.distinct().count() == count
            assert copied.exceptAll(expected).isEmpty()
        return count


class Application:
    """`following.py` on the executors of a cluster. First it reads `rows` messages of an archive of its own."""

    rows = 16 * MESSAGES_OF_TERM

    def __init__(self, master, folder):
        self.other = RecordingUnderTest.begin(folder / "other")
        for _ in range(16):
            self.other.fill_term(100)
        (folder / "out").mkdir()
        self.copies = Copies(RecordingUnderTest.begin(folder / "archive"), folder / "out")
        self.program = Program(
            folder / "program.log",
            "following.py",
            master,
            self.copies.archive,
            self.copies.out,
            "256k",
            self.other.store.folder,
        )

    def readers(self):
        """Return `rows`, and in `partitions` of each: rows, id of the process, whether that is an executor."""
        path = self.copies.out / "readers.json"
        self.program.wait_until(path.exists)
        return json.loads(path.read_text())


@pytest.fixture(scope="module")
def application(quick_java, tmp_path_factory):
    """Return the application on a master. The tests of a file share it, until one of them finishes it."""
    started = {}

    def start(master):
        if master not in started:
            started[master] = Application(master, tmp_path_factory.mktemp("application"))
        return started[master]

    yield start
    for each in started.values():
        if each.program.process.poll() is None:
            each.program.kill()


@pytest.fixture
def copies(written, tmp_path):
    (tmp_path / "out").mkdir()
    return Copies(written, tmp_path / "out")


@pytest.fixture
def channel():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))  # a port that was free a moment ago
        return f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def commands(tmp_path, channel, monkeypatch):
    # Timeout after which the directory of a killed driver is free, and its clients notice.
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "3000")
    with (tmp_path / "recorder.log").open("w") as log:
        commands = Commands(tmp_path / "driver", channel, tmp_path / "archive", log)
        yield commands
        commands.close()

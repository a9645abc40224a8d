"""Every recorded event exists once, however often the Aeron Archive that a query reads remotely is killed.

Events in a recording count as accepted: the publisher resumes after the last one in the folder of the archive. Rounds:
AERON_CORE_KILL_ROUNDS, default 1.
"""

import os
import re
import socket
import threading
import time

import java_peer
import pytest
from checkpoints import batch_counts

import aeron_core
from aeron_core.archive import AeronArchive
from aeron_core.errors import AeronError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.interop
ROUNDS = int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1"))
IPC = "aeron:ipc"
STREAM_ID = 7
SINKS = ("parquet", "aeron")
TIMEOUT_S = 240
BURST = 5
PAUSE_S = 0.01  # after a burst, so that every round has work
LONG = 20  # each twentieth event is fragmented


def event(number):
    # Without zeros: the archive refuses to start if the last frame contains a page of zeros, as after a crash of the
    # machine.
    return f"{number:020}".encode() + b"x" * (5000 if number % LONG == 0 else number % 400)


class JavaArchive:
    """An Aeron Archive with its driver, in a JVM that is killed and restarted."""

    def __init__(self, folder, control):
        self.folder = folder / "archive"
        self.aeron_dir = folder / "java"
        self.control = control
        self._jvm = None

    def start(self):
        """Start the archive; repeat until the files of its predecessor are free, after 10 s without a heartbeat."""
        deadline_s = time.monotonic() + TIMEOUT_S
        self._jvm = java_peer.JavaPeer()
        while True:
            try:
                self._jvm.call("archive", self.aeron_dir, self.folder, f"control={self.control}")
            except java_peer.JavaError as error:
                if "active" not in str(error).lower() or time.monotonic() >= deadline_s:
                    raise
                time.sleep(0.2)
            else:
                return

    def kill(self):
        self._jvm.process.kill()
        self._jvm.process.wait(TIMEOUT_S)

    def last_number(self):
        """Return the number of the last recorded event, -1 if there is none."""
        for recording in reversed(Archive.open(self.folder).recordings()):
            events = list(messages(recording, recording.start_position, recording.position))
            if events:
                return int(events[-1].payload[:20])
        return -1


class Publisher(threading.Thread):
    """Publishes numbered events into recordings; after a restart of the archive it resumes behind the last one."""

    def __init__(self, archive):
        super().__init__(daemon=True)
        self.sessions = 0
        self.accepted = None
        self.error = None
        self._archive = archive
        self._is_ending = threading.Event()

    def end(self):
        """Wait until all published events are recorded; return their number."""
        self._is_ending.set()
        self.join(TIMEOUT_S)
        assert self.accepted is not None, self.error
        return self.accepted

    def run(self):
        while self.accepted is None:
            try:
                with (
                    aeron_core.connect(self._archive.aeron_dir, error_handler=lambda error: None) as aeron,
                    AeronArchive.connect(
                        aeron, control_request_channel=IPC, control_response_channel=IPC
                    ) as session,
                ):
                    self._publish(session)
            except AeronError as error:
                self.error = error  # the archive was killed; another one will start

    def _publish(self, session):
        number = self._archive.last_number() + 1
        publication = session.add_recorded_exclusive_publication(IPC, STREAM_ID)
        publication.await_connected(TIMEOUT_S)
        self.sessions += 1
        while not self._is_ending.is_set():
            for _ in range(BURST):
                publication.send(event(number), timeout=TIMEOUT_S)
                number += 1
            time.sleep(PAUSE_S)
        while session.max_recorded_position(self._recording_id(session, publication)) < publication.position:
            time.sleep(PAUSE_S)
        self.accepted = number

    def _recording_id(self, session, publication):
        found = session.find_last_matching_recording(0, "", STREAM_ID, publication.session_id)
        return 0 if found is None else found


@pytest.fixture
def archive(tmp_path, monkeypatch):
    if missing := java_peer.missing_programs():
        pytest.skip(f"needs {', '.join(missing)}")
    # Timeout after which clients notice that their driver was killed.
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "3000")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))  # a port that was free a moment ago
        started = JavaArchive(tmp_path, f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}")
    started.start()
    yield started
    started.kill()


@pytest.fixture
def address(archive, tmp_path):
    """Return the address of the archive for clients of another driver, which stays."""
    with aeron_core.MediaDriver.launch({"aeron_dir": tmp_path / "driver"}):
        yield f"aeron:archive?control-request={archive.control}|dir={tmp_path / 'driver'}|message-timeout=3s"


def batches(out):
    return [batch_counts(out / "checkpoints" / sink)[1] for sink in SINKS]


@pytest.mark.system
def test_every_recorded_event_exists_once_after_kills_of_the_archive(
    request, start_program, archive, address, tmp_path
):
    out = tmp_path / "out"
    out.mkdir()
    publisher = Publisher(archive)
    publisher.start()
    # On a loaded machine an archive takes longer to start than the default of a minute.
    patient = f"{address}|reconnect-timeout={TIMEOUT_S}s"
    program = start_program("following.py", "local[2]", patient, out, "8m")

    for _ in range(ROUNDS):
        before, sessions = batches(out), publisher.sessions
        program.wait_until(
            lambda before=before: all(now > then for now, then in zip(batches(out), before, strict=True))
        )
        archive.kill()
        archive.start()
        program.wait_until(lambda sessions=sessions: publisher.sessions > sessions)
    accepted = publisher.end()
    (out / "stop").touch()
    program.finish()

    spark = request.getfixturevalue("spark")
    for sink in SINKS:
        copied = spark.read.format(sink).load(str(out / sink))
        numbers = copied.selectExpr("CAST(CAST(substring(payload, 1, 20) AS STRING) AS BIGINT) AS number")
        found = numbers.selectExpr("count(*)", "count(DISTINCT number)", "min(number)", "max(number)").first()
        assert tuple(found) == (accepted, accepted, 0, accepted - 1)
    recordings = Archive.open(archive.folder).recordings()
    print(
        f"{ROUNDS} kills of the archive, {len(recordings)} recordings, {batches(out)} batches: {accepted} events"
    )


@pytest.mark.system
def test_a_query_fails_without_the_archive_and_resumes_once_it_is_back(spark, archive, address, tmp_path):
    from pyspark.errors import StreamingQueryException  # noqa: PLC0415 - slow to import

    def run():
        stream = spark.readStream.format("aeron").load(f"{address}|reconnect-timeout=2s").select("payload")
        writer = stream.writeStream.format("parquet").option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        )
        return writer.trigger(availableNow=True).start(str(tmp_path / "table")).awaitTermination(TIMEOUT_S)

    def numbers():
        texts = spark.read.parquet(str(tmp_path / "table")).selectExpr(
            "CAST(substring(payload, 1, 20) AS STRING)"
        )
        return sorted(int(row[0]) for row in texts.collect())

    first = Publisher(archive)
    first.start()
    assert run()
    first.end()
    read = len(numbers())
    archive.kill()
    with pytest.raises(
        StreamingQueryException, match=f"archive at {re.escape(archive.control)}: no archive found"
    ):
        run()
    archive.start()
    second = Publisher(archive)
    second.start()
    while second.sessions == 0:
        time.sleep(PAUSE_S)
    accepted = second.end()
    assert run()

    assert 0 < read <= accepted
    assert numbers() == list(range(accepted))

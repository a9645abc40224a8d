"""A publisher of numbered events that are recorded, and the driver and the recorder, to be killed."""

import subprocess
import sys
import threading
import time

import aeron_core
from aeron_core import CLOSED
from aeron_core.concurrent.counter_types import RECORDING_POSITION
from aeron_core.errors import AeronError, ClosedError
from aeron_core.protocol.cnc import CncFile
from aeron_core.recording.reading.messages import messages

STREAM_ID = 7
TIMEOUT_S = 240
BURST = 5
PAUSE_S = 0.01  # after a burst, so that every round has work


class Publisher(threading.Thread):
    """Publishes numbered events; after the end of a driver it resumes after the last accepted one."""

    def __init__(self, aeron_dir, channel, archive):
        super().__init__(daemon=True)
        self.sessions = 0
        self.accepted = None
        self.error = None
        self._aeron_dir = aeron_dir
        self._channel = channel
        self._archive = archive
        self._is_ending = threading.Event()

    def end(self):
        """Wait until all published events are accepted; return their number."""
        self._is_ending.set()
        self.join(TIMEOUT_S)
        assert self.accepted is not None, self.error
        return self.accepted

    def run(self):
        while self.accepted is None:
            try:
                with aeron_core.connect(self._aeron_dir, error_handler=lambda error: None) as aeron:
                    self._publish(aeron)
            except AeronError as error:
                self.error = error  # the driver was killed; another one will start

    def _publish(self, aeron):
        publication = aeron.add_exclusive_publication(self._channel, STREAM_ID)
        self._wait(publication, lambda: self._recorded_position(aeron, publication) >= 0)
        self.sessions += 1
        number = self._first_behind_accepted(publication)
        while not self._is_ending.is_set():
            for _ in range(BURST):
                if self._offer(publication, number):
                    number += 1
            time.sleep(PAUSE_S)
        self._wait(publication, lambda: self._recorded_position(aeron, publication) == publication.position)
        self.accepted = number

    def _offer(self, publication, number):
        result = publication.offer(f"{number:020}".encode() + bytes(number % 400))
        if result == CLOSED:
            raise ClosedError("the publication is closed")
        return result > 0

    def _recorded_position(self, aeron, publication):
        """Return the recorded position of the publication, -1 if it is not recorded yet."""
        session_id = str(publication.session_id)
        positions = (
            counter.value
            for counter in aeron.counters_reader
            if counter.type_id == RECORDING_POSITION and counter.label.split()[2] == session_id
        )
        return max(positions, default=-1)

    def _first_behind_accepted(self, publication):
        """Return the number after the last recorded event of earlier sessions, once these have ended."""
        earlier = [
            recording
            for recording in self._archive.recordings()
            if recording.descriptor.session_id != publication.session_id
        ]
        self._wait(publication, lambda: not any(recording.is_live for recording in earlier))
        for recording in reversed(earlier):
            events = list(messages(recording, recording.start_position, recording.position))
            if events:
                return int(events[-1].payload[:20]) + 1
        return 0

    def _wait(self, publication, condition):
        while not condition():
            if publication.is_closed:
                raise ClosedError("the publication is closed")
            time.sleep(PAUSE_S)


class Commands:
    """A media driver and a recorder, each a process that is killed and restarted."""

    def __init__(self, aeron_dir, channel, archive_dir, log):
        self._aeron_dir = aeron_dir
        self._channel = channel
        self._archive_dir = archive_dir
        self._log = log
        self.driver = self.recorder = None

    def start_driver(self):
        """Start a driver; repeat until the directory of its predecessor is free."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while True:
            self.driver = self._start(
                "driver",
                f"-Daeron.dir={self._aeron_dir}",
                "-Daeron.threading.mode=SHARED",
                "-Daeron.term.buffer.length=256k",
                "-Daeron.counters.buffer.length=1m",
                "-Daeron.client.liveness.timeout=30s",
                "-Daeron.publication.unblock.timeout=40s",
                stderr=subprocess.PIPE,
            )
            while self.driver.poll() is None and not self._is_of_driver():
                assert time.monotonic() < deadline_s
                time.sleep(PAUSE_S)
            if self.driver.poll() is None:
                return
            _, errors = self.driver.communicate()
            assert "active media driver" in errors, errors
            time.sleep(0.1)
            assert time.monotonic() < deadline_s

    def _is_of_driver(self):
        """Return whether the directory belongs to the driver that was started last: it is ready then."""
        try:
            return CncFile.open(self._aeron_dir / "cnc.dat", read_only=True).pid == self.driver.pid
        except AeronError:
            return False

    def start_recorder(self):
        arguments = (self._channel, STREAM_ID, "--to", self._archive_dir, "-d", self._aeron_dir)
        self.recorder = self._start("record", *arguments, "--interval", "20ms", stderr=self._log)

    def kill(self, name):
        process = getattr(self, name)
        process.kill()
        process.communicate()

    def close(self):
        for process in (self.recorder, self.driver):
            if process is not None and process.poll() is None:
                process.kill()
                process.communicate()

    def _start(self, *arguments, stderr):
        command = [sys.executable, "-m", "aeron_core", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, text=True)

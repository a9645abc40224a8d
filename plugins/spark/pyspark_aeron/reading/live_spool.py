"""Records a live stream while a query runs, so that the query reads a recording like any other.

Runs in the process of the query's runner. What the spool holds is there exactly once; what comes while no query
runs is not received, and a publisher learns that from flow control.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aeron_core.client.aeron import connect
from aeron_core.errors import AeronError, ClosedError, RecordingError
from aeron_core.recording import Archive
from aeron_core.recording.purge import purge_before
from aeron_core.recording.recorder import Recorder, RecorderParams

if TYPE_CHECKING:
    from pyspark_aeron.options import SourceOptions

GUARANTEE: Final = (
    "live stream: received at most once while a query runs, and exactly once from the spool on; a query that is "
    "started again within the driver's client liveness timeout misses nothing"
)
# Between two looks while nothing comes, the longer nothing came the longer. Invented numbers: a hundredth of a
# micro-batch, and what keeps an idle query under a hundredth of a core.
_SHORTEST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.01
# An invented number: the last flush of a healthy disk is long done.
_JOIN_S: Final = 10.0


class LiveSpool:
    """A recorder with a thread of its own; any thread may tell it what was read, and close it."""

    def __init__(self, options: SourceOptions) -> None:
        assert options.channel is not None
        assert options.stream_id is not None
        self._archive = Archive.create(options.archive)
        self._most = options.spool_length
        self._read: Mapping[int, int] = {}  # by recording id, as all below
        self._needed: Mapping[int, int] = {}
        self._purged: Mapping[int, int] = {}
        self._error: AeronError | None = None
        self._is_closing = threading.Event()
        self._aeron = connect(options.aeron_dir)
        try:
            self._subscription = self._aeron.add_subscription(options.channel, options.stream_id)
            params = RecorderParams(on_error=_report)
            self._recorder = Recorder(self._aeron, self._archive, [self._subscription], params)
        except BaseException:
            self._aeron.close()
            raise
        _report(GUARANTEE)
        self._thread = threading.Thread(target=self._run, name="aeron-live-spool", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def note_read(self, positions: Mapping[int, int]) -> None:
        """Say how far the query has read, by recording id: the stream may go on."""
        self._read = dict(positions)

    def note_needed(self, positions: Mapping[int, int]) -> None:
        """Say from where on the query may be begun again: what lies before is deleted."""
        self._needed = dict(positions)

    def check(self) -> None:
        """Raise what has ended the recording, if anything has."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Stop recording; the stream is left to who records it next."""
        atexit.unregister(self.close)
        if not self._is_closing.is_set():
            self._is_closing.set()
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        try:
            self._record()
        except AeronError as error:
            self._error = error
        except Exception as error:  # a query that nobody tells would wait for ever
            self._error = RecordingError(f"live stream: {type(error).__name__}: {error}")
        finally:
            self._recorder.on_close()
            self._aeron.leave()

    def _record(self) -> None:
        pause_s = _SHORTEST_PAUSE_S
        while not self._is_closing.wait(pause_s):
            if self._subscription.is_closed:
                raise ClosedError(
                    "the media driver of the live stream is gone; what it had delivered is recorded"
                )
            work = 0 if self._is_full() else self._recorder.do_work()
            self._purge()
            pause_s = 0 if work else min(max(pause_s * 2, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)

    def _is_full(self) -> bool:
        """Return whether so much waits to be read that the stream has to wait."""
        waiting = sum(
            recording.position - max(self._read.get(recording.recording_id, 0), recording.start_position)
            for recording in self._archive.recordings()
        )
        return waiting > self._most

    def _purge(self) -> None:
        needed = self._needed
        if needed is not self._purged:
            self._purged = needed
            for recording_id, position in needed.items():
                purge_before(self._archive.store, recording_id, position)


def _report(message: object) -> None:
    print(f"aeron-core: {message}", file=sys.stderr, flush=True)

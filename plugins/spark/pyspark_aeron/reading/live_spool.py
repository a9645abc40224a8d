"""Live spool: records a live stream while a query runs, so that the query reads an ordinary recording.

Runs in the process of the query's runner. The spool contains each received message exactly once. Messages that are sent
while no query runs are received only if it is started again within the driver's client liveness timeout.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aeron_core.client.connecting import connect_named
from aeron_core.errors import AeronError, ClosedError, RecordingError
from aeron_core.recording import Archive
from aeron_core.recording.retention.purge import purge_before
from aeron_core.recording.writing.recorder import Recorder, RecorderParams

if TYPE_CHECKING:
    from pyspark_aeron.options import SourceOptions

GUARANTEE: Final = (
    "live stream: received at most once while a query runs, and exactly once from the spool on; a query that is "
    "started again within the driver's client liveness timeout misses nothing"
)
# Bounds of the growing pause between polls of an idle stream. Invented numbers: the shortest is about a hundredth of
# the duration of a micro-batch; with the longest, an idle spool uses less than a hundredth of a core.
_SHORTEST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.01
# Maximum wait for the thread to end. An invented number: longer than the last flush of a healthy disk.
_JOIN_S: Final = 10.0


class LiveSpool:
    """A recorder with its own thread; all methods can be called from any thread.

    `options` must have `channel` and `stream_id`. Raises AeronError if the driver or the archive cannot be used.
    """

    def __init__(self, options: SourceOptions) -> None:
        assert options.channel is not None
        assert options.stream_id is not None
        self._archive = Archive.create(options.archive)
        self._most = options.spool_length
        # These three map recording ids to positions in bytes.
        self._read: Mapping[int, int] = {}
        self._needed: Mapping[int, int] = {}
        self._purged: Mapping[int, int] = {}
        self._error: AeronError | None = None
        self._is_closing = threading.Event()
        self._aeron = connect_named("spark live", options.aeron_dir)
        try:
            self._subscription = self._aeron.add_subscription(options.channel, options.stream_id)
            params = RecorderParams(on_error=_report, on_notice=_report)
            self._recorder = Recorder(self._aeron, self._archive, [self._subscription], params)
        except BaseException:
            self._aeron.close()
            raise
        _report(GUARANTEE)
        self._thread = threading.Thread(target=self._run, name="aeron-live-spool", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def note_read(self, positions: Mapping[int, int]) -> None:
        """Set the positions up to which the query has read, by recording id, which releases back pressure."""
        self._read = dict(positions)

    def note_needed(self, positions: Mapping[int, int]) -> None:
        """Set the positions at which the query can restart, by recording id.

        Segments that end before them are deleted.
        """
        self._needed = dict(positions)

    def check(self) -> None:
        """Raise the error that ended the recording, if any."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Stop recording, and wait up to 10 s for the thread; a later recorder can extend the recording."""
        atexit.unregister(self.close)
        if not self._is_closing.is_set():
            self._is_closing.set()
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        try:
            self._record()
        except AeronError as error:
            self._error = error
        except Exception as error:  # without the error the query would wait forever
            self._error = RecordingError(
                f"live stream {self._subscription.channel}: {type(error).__name__}: {error}: the spool has recorded no "
                "more; remove the cause, and start the query again"
            )
        finally:
            self._recorder.on_close()
            self._aeron.leave()

    def _record(self) -> None:
        pause_s = _SHORTEST_PAUSE_S
        while not self._is_closing.wait(pause_s):
            if self._subscription.is_closed:
                raise ClosedError(
                    f"the live stream {self._subscription.channel} is disconnected from the media driver: start the "
                    "driver if it has shut down, then start the query again; messages that were not recorded yet may "
                    "be lost"
                )
            work = 0 if self._is_full() else self._recorder.do_work()
            self._purge()
            pause_s = 0 if work else min(max(pause_s * 2, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)

    def _is_full(self) -> bool:
        """Return whether the unread bytes of all recordings exceed the spool length."""
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

"""Upload thread: runs an uploader and the retention of its remote archive, separate from the recorder."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from aeron_core.recording.remote.uploader import Uploader
from aeron_core.recording.retention.retention import Retention

#: Pause between two scans of the spool without a wake-up. An invented number: as long as the first delay of a retry.
_PAUSE_S: Final = 1.0


class UploadThread:
    """The thread of one uploader; runs from `start` to `close`."""

    def __init__(
        self, uploader: Uploader, retention: Retention, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._uploader = uploader
        self._retention = retention
        self._clock = clock
        self._is_closing = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="aeron-recording-upload", daemon=True)
        self._is_all_uploaded = False

    def start(self) -> None:
        """Start the thread; call once."""
        self._thread.start()

    def wake(self, *_: object) -> None:
        """Make the thread scan the spool at once; any thread may call it, and arguments are ignored."""
        self._wake.set()

    def close(self) -> bool:
        """Upload the rest without retries, end the thread, and return whether everything was uploaded."""
        self._is_closing = True
        self._wake.set()
        self._thread.join()
        return self._is_all_uploaded

    def _run(self) -> None:
        while not self._is_closing:
            now_ns = self._clock()
            if self._uploader.do_work(now_ns) + self._retention.do_work(now_ns) == 0:
                self._wake.wait(_PAUSE_S)
                self._wake.clear()
        self._is_all_uploaded = self._uploader.finish(self._clock())

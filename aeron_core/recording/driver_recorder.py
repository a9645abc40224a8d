"""Recorder that runs in the driver's process, on its own thread and with its own client.

It is closed after the agents of the driver. It then records what they delivered before: its client still has the log
buffers mapped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from aeron_core.client.connecting import connect_named
from aeron_core.errors import AeronError
from aeron_core.recording.pace import Pace
from aeron_core.recording.settings import RecordingSettings
from aeron_core.recording.target import recording_target
from aeron_core.recording.writing.recorder import Recorder, RecorderParams


class DriverRecorder:
    """Records the streams of the settings through a client of its own, from its creation until `close`.

    The constructor raises ConfigurationError for wrong settings, the errors of `connect` and of
    `Aeron.add_subscription`, ArchiveInUseError if the archive has another recorder, other RecordingErrors if it cannot
    be used, and OSError if the store of a remote archive fails. Other errors are passed to `on_error`, which the
    constructor, `close`, the thread of the recorder and that of a spool's uploads call. Notices, which are no errors,
    go to `logging`.
    """

    def __init__(
        self, aeron_dir: Path, settings: RecordingSettings, on_error: Callable[[BaseException], object]
    ) -> None:
        settings.check()
        self._aeron_dir = aeron_dir
        self._wanted = list(dict.fromkeys(settings.subscriptions()))
        params = RecorderParams(
            on_error=on_error,
            on_notice=_log,
            segment_length=settings.segment_length,
            durability=settings.made_durability(),
        )
        self._on_error = on_error
        self._is_closing = threading.Event()
        with ExitStack() as stack:
            self._target = stack.enter_context(
                recording_target(
                    settings.to,
                    settings.spool,
                    settings.made_retention(),
                    params,
                    verify=settings.verify,
                    access=settings.file_access,
                )
            )
            self._open()
            self._stack = stack.pop_all()
        self._thread = threading.Thread(target=self._run, name="aeron-recorder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Record the remaining data, stop the recordings, upload a spool, and close the client; call once.

        Errors are passed to `on_error`.
        """
        self._is_closing.set()
        self._thread.join()
        self._aeron.do_work()  # a new image may be pending
        self._do_work_to_the_end()
        try:
            with self._stack:
                self._opened.close()
        except (AeronError, OSError) as error:
            self._on_error(error)

    def _open(self) -> None:
        with ExitStack() as stack:
            self._aeron = aeron = stack.enter_context(
                connect_named("recording", self._aeron_dir, outlives_driver=True)
            )
            self._subscriptions = [
                aeron.add_subscription(channel, stream_id) for channel, stream_id in self._wanted
            ]
            self._recorder = Recorder(aeron, self._target.archive, self._subscriptions, self._target.params)
            stack.callback(self._recorder.on_close)
            self._opened = stack.pop_all()

    def _run(self) -> None:
        pace = Pace()
        while not self._is_closing.is_set():
            pause_s = pace.pause_after(self._do_work())
            if pause_s > 0:
                self._is_closing.wait(pause_s)

    def _do_work_to_the_end(self) -> None:
        while self._do_work():
            pass

    def _do_work(self) -> int:
        try:
            work = self._recorder.do_work()
            if work == 0 and self._is_client_closed():
                self._opened.close()
                self._open()
            return work
        except Exception as error:  # an error of the recorder must not stop the driver
            self._on_error(error)
            self._is_closing.wait(1.0)
            return 0

    def _is_client_closed(self) -> bool:
        """Return whether the client was closed although this recorder is not being closed.

        For example, a process that was suspended for longer than the client liveness timeout loses its client.
        """
        return not self._is_closing.is_set() and any(
            subscription.is_closed for subscription in self._subscriptions
        )


def _log(notice: str) -> None:
    import logging  # noqa: PLC0415 - slow to import: only a notice needs it

    logging.getLogger(__name__).warning("%s", notice)

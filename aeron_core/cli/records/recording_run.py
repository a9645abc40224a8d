"""Recording run: records streams until it is stopped, with each media driver that runs in a directory in turn.

    recording -> waiting    the client is closed: its driver has shut down, or an error closed it, such as a late
                            heartbeat
    waiting -> recording    a driver runs in the directory
    recording -> waiting    that driver does not answer in time, unless it is the first one

Invariant: everything that one driver delivered is in the archive before a recording of the next driver starts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Final

from aeron_core.cli.connecting import checked_channels, connect_to_driver, connect_to_next_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.records.recorded_streams import RecordedStreams
from aeron_core.client.aeron import Aeron
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import ClosedError, DriverTimeoutError
from aeron_core.recording.pace import Pace
from aeron_core.recording.target import RecordingTarget
from aeron_core.recording.writing.recorder import Recorder

# Interval between two checks for a driver. Invented: a driver restarts within seconds.
_CHECK_INTERVAL_S: Final = 0.05


class _End(Enum):
    INTERRUPT = auto()
    SILENCE = auto()
    DRIVER_CLOSED = auto()


@dataclass(frozen=True, slots=True)
class WantedStreams:
    """Streams to record, and the directory of their driver."""

    aeron_dir: Path
    channel: str
    stream_ids: list[int]


@dataclass
class RecordingRun:
    """One run of the command, used by the main thread."""

    wanted: WantedStreams
    target: RecordingTarget
    streams: RecordedStreams
    interrupt: Interrupt
    timeout: float | None  # seconds without a message, None for no limit

    recorded_length: int = 0
    _has_recorded: bool = False  # from any driver
    _last_received_s: float = field(default_factory=time.monotonic)

    def run(self, *, releases: bool, ends_with_driver: bool) -> bool:
        """Record until the interrupt; return False if the timeout expired.

        With `releases`, streams that are still active are closed at once, so that no other recorder continues them.
        Raises DriverTimeoutError if there is no driver at the start or it does not answer, ClosedError if
        `ends_with_driver` and the driver shuts down, ConfigurationError or RegistrationError for a channel that it
        refuses, and the errors of `connect_to_driver` and `Recorder`.
        """
        aeron = connect_to_driver("record", self.wanted.aeron_dir, subscriptions=[self.wanted.channel])
        self._last_received_s = time.monotonic()
        while (end := self._record(aeron, releases=releases)) is _End.DRIVER_CLOSED:
            if ends_with_driver:
                raise ClosedError(
                    f"disconnected from the media driver of {self.wanted.aeron_dir}: a warning names the cause; all "
                    "that it delivered is recorded; start the driver if it has shut down, then record again"
                )
            print_stderr(
                f"disconnected from the media driver of {self.wanted.aeron_dir}; everything that it delivered is "
                "recorded; waiting for a driver"
            )
            following = self._await_driver()
            if isinstance(following, _End):
                end = following
                break
            aeron = following
            print_stderr(f"a media driver runs in {self.wanted.aeron_dir} again")
        return end is not _End.SILENCE

    def _record(self, aeron: Aeron, *, releases: bool) -> _End:
        with aeron:
            try:
                with checked_channels(subscriptions=[self.wanted.channel]):
                    subscriptions = [
                        aeron.add_subscription(self.wanted.channel, stream_id)
                        for stream_id in self.wanted.stream_ids
                    ]
            except (ClosedError, DriverTimeoutError) as error:
                if not aeron.is_closed:  # a driver that is alive but does not answer
                    if not self._has_recorded:
                        raise
                    # Like a driver that is missing: it may be overloaded, as after its own restart.
                    print_stderr(f"warning: {error}")
                return _End.DRIVER_CLOSED
            self._has_recorded = True
            recorder = Recorder(aeron, self.target.archive, subscriptions, self.target.params)
            before, leaves = self.recorded_length, False
            try:
                return self._record_until_end(recorder, subscriptions, before)
            finally:
                self.streams.note_end()
                leaves = self.streams.was_active() and not releases
                recorder.on_close(leaves=leaves)
                if leaves:
                    aeron.leave()

    def _record_until_end(self, recorder: Recorder, subscriptions: list[Subscription], before: int) -> _End:
        pace = Pace()
        while not self.interrupt:
            try:
                pause_s = pace.pause_after(recorder.do_work())
            except ClosedError:  # the driver shut down between listing the images and using one
                return _End.DRIVER_CLOSED
            self.recorded_length = before + recorder.recorded_length
            if pause_s == 0:
                self._last_received_s = time.monotonic()
            elif any(subscription.is_closed for subscription in subscriptions):
                return _End.DRIVER_CLOSED
            elif self._is_silent():
                return _End.SILENCE
            else:
                self.interrupt.wait(pause_s)
            self.streams.show()
        return _End.INTERRUPT

    def _await_driver(self) -> Aeron | _End:
        """Return a client of the next driver, or the reason to stop waiting."""
        while not self.interrupt.wait(_CHECK_INTERVAL_S):
            if self._is_silent():
                return _End.SILENCE
            if (aeron := connect_to_next_driver("record", self.wanted.aeron_dir)) is not None:
                return aeron
            self.streams.show()
        return _End.INTERRUPT

    def _is_silent(self) -> bool:
        return self.timeout is not None and time.monotonic() - self._last_received_s >= self.timeout

"""Records streams until an end is asked for, with one media driver after the other.

    recording -> waiting    the client is closed: its driver has ended, or was silent for too long
    waiting -> recording    there is a driver in the directory

Invariant: what a driver had delivered is brought to its end in the archive before anything of the next one begins.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Final

from aeron_core.cli.connecting import checked_channels, connect_to_driver, connect_to_next_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.outcome import say
from aeron_core.cli.records.recorded_streams import RecordedStreams
from aeron_core.client.aeron import Aeron
from aeron_core.client.subscription import Subscription
from aeron_core.errors import ClosedError, DriverTimeoutError
from aeron_core.recording.pace import Pace
from aeron_core.recording.place import RecordingPlace
from aeron_core.recording.recorder import Recorder

# Between two looks for a driver. An invented number: drivers are back within seconds.
_LOOK_S: Final = 0.05


class _End(Enum):
    INTERRUPT = auto()
    SILENCE = auto()
    DRIVER_GONE = auto()


@dataclass(frozen=True, slots=True)
class WantedStreams:
    """What is to be recorded, and from which driver."""

    aeron_dir: Path
    channel: str
    stream_ids: list[int]


@dataclass
class RecordingRun:
    """One run of the command; the main thread uses it."""

    wanted: WantedStreams
    place: RecordingPlace
    streams: RecordedStreams
    interrupt: Interrupt
    timeout: float | None  # seconds of silence, None for ever

    recorded_length: int = 0
    _heard_s: float = field(default_factory=time.monotonic)

    def run(self, *, releases: bool, ends_with_driver: bool) -> bool:
        """Record until the interrupt; return False where silence has ended it.

        Raises DriverTimeoutError where there is no driver at first, and ClosedError where it is gone later on and
        that `ends_with_driver`.
        """
        aeron = connect_to_driver(self.wanted.aeron_dir)
        self._heard_s = time.monotonic()
        while (end := self._record(aeron, releases=releases)) is _End.DRIVER_GONE:
            if ends_with_driver:
                raise ClosedError("the media driver is gone; what it had delivered is recorded")
            say(
                f"the media driver of {self.wanted.aeron_dir} is gone; what it had delivered is recorded; "
                "waiting for the next one"
            )
            following = self._await_driver()
            if isinstance(following, _End):
                end = following
                break
            aeron = following
            say(f"there is a media driver in {self.wanted.aeron_dir} again")
        return end is not _End.SILENCE

    def _record(self, aeron: Aeron, *, releases: bool) -> _End:
        with aeron:
            try:
                with checked_channels(self.wanted.channel):
                    subscriptions = [
                        aeron.add_subscription(self.wanted.channel, stream_id)
                        for stream_id in self.wanted.stream_ids
                    ]
            except (ClosedError, DriverTimeoutError):
                if not aeron.is_closed:  # a driver that lives, and does not answer
                    raise
                return _End.DRIVER_GONE
            recorder = Recorder(aeron, self.place.archive, subscriptions, self.place.params)
            before, leaves = self.recorded_length, False
            try:
                return self._record_until_end(recorder, subscriptions, before)
            finally:
                self.streams.note_end()
                leaves = self.streams.go_on() and not releases
                recorder.on_close(leaves=leaves)
                if leaves:
                    aeron.leave()

    def _record_until_end(self, recorder: Recorder, subscriptions: list[Subscription], before: int) -> _End:
        pace = Pace()
        while not self.interrupt:
            try:
                pause_s = pace.pause_after(recorder.do_work())
            except ClosedError:  # between its look for images and its look at one of them
                return _End.DRIVER_GONE
            self.recorded_length = before + recorder.recorded_length
            if pause_s == 0:
                self._heard_s = time.monotonic()
            elif any(subscription.is_closed for subscription in subscriptions):
                return _End.DRIVER_GONE
            elif self._is_silent():
                return _End.SILENCE
            else:
                self.interrupt.wait(pause_s)
            self.streams.show()
        return _End.INTERRUPT

    def _await_driver(self) -> Aeron | _End:
        """Return a client of the next driver, or what ends the waiting."""
        while not self.interrupt.wait(_LOOK_S):
            if self._is_silent():
                return _End.SILENCE
            if (aeron := connect_to_next_driver(self.wanted.aeron_dir)) is not None:
                return aeron
            self.streams.show()
        return _End.INTERRUPT

    def _is_silent(self) -> bool:
        return self.timeout is not None and time.monotonic() - self._heard_s >= self.timeout

"""Recorder: records every image of some subscriptions into an archive.

Not here: recording one image (image_recorder), and finding the recording that an image continues (continuation).
Invariant: it holds the recorder lock of the archive from its creation until `on_close`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from aeron_core.client.aeron import Aeron
from aeron_core.client.subscriptions.image import Image
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.concurrent.counter_types import RECORDING_POSITION
from aeron_core.errors import AeronError, ClosedError, ConfigurationError, RecordingError
from aeron_core.file_locks import fault_of_child
from aeron_core.recording.retention.purge import delete_orphans
from aeron_core.recording.retention.retention import Retention, RetentionPolicy
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.catalogue import keep_reserve
from aeron_core.recording.storage.descriptor import DEFAULT_SEGMENT_LENGTH, RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.writing.continuation import find_continuation, stop_interrupted_recordings
from aeron_core.recording.writing.durability import Durability
from aeron_core.recording.writing.image_recorder import (
    RETRY_NS,
    ImageRecorder,
    recording_key,
    recording_label,
    stable_text,
)
from aeron_core.recording.writing.recording_writer import RecordingWriter
from aeron_core.recording.writing.recovery import Resumption
from aeron_core.recording.writing.succession import Succession, last_driver

Clock = Callable[[], int]  # nanoseconds since the epoch
Report = Callable[[AeronError], object]

_BEAT_NS: Final = 100_000_000

# Subscription and image ids: several subscriptions of one driver may share an image id.
_Key = tuple[int, int]


class EpochClock:
    """Returns nanoseconds since the epoch, never decreasing; one thread uses it.

    After the system clock was set back, it counts on with the monotonic clock until the system clock has caught up:
    timers must not stop, and the times of an index must not decrease.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, steady_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns = wall_ns
        self._steady_ns = steady_ns
        self._last_ns = wall_ns()
        self._last_steady_ns = steady_ns()

    def copy(self) -> EpochClock:
        """Return a clock with the same sources for another thread."""
        return EpochClock(self._wall_ns, self._steady_ns)

    def __call__(self) -> int:
        """Return the time in nanoseconds since the epoch."""
        steady_ns = self._steady_ns()
        wall_ns = self._wall_ns()
        counted_ns = self._last_ns + steady_ns - self._last_steady_ns
        # Follow the system clock, also when it is slewed, unless it is behind the last result.
        self._last_ns = wall_ns if wall_ns >= self._last_ns else counted_ns
        self._last_steady_ns = steady_ns
        return self._last_ns


@dataclass(frozen=True, slots=True)
class RecorderParams:
    """Parameters of a recorder."""

    on_error: Report  # called with errors that do not stop the recorder
    on_notice: Callable[[str], object] | None = None  # called with what was cut after a recorder died
    segment_length: int = DEFAULT_SEGMENT_LENGTH  # bytes
    durability: Durability = field(default_factory=Durability)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    clock: Clock = field(default_factory=EpochClock)  # also for the uploads of a spool, in their thread
    on_segment_finished: Callable[[int], object] | None = None  # called with its base position
    on_recording: Callable[[ImageRecorder], object] | None = (
        None  # called for each recording that begins or continues
    )


class Recorder:
    """The agent that records subscriptions; one thread runs it, and no other code may poll the subscriptions.

    Its creation raises ArchiveInUseError if the archive has another recorder, RecordingError if its lock cannot be
    opened, ConfigurationError if the archive is no local folder or two subscriptions have the same channel and stream
    id.
    """

    role_name = "recorder"

    def __init__(
        self,
        aeron: Aeron,
        archive: Archive,
        subscriptions: Sequence[Subscription],
        params: RecorderParams,
    ) -> None:
        if not isinstance(archive.store, LocalStore):
            raise ConfigurationError(
                f"{archive.uri}: a recorder needs an archive in a local folder; record into a spool"
            )
        _check_are_different(subscriptions)
        self.archive = archive
        self._process_id = os.getpid()
        self.recorded_length = 0
        self._store = archive.store
        self._aeron = aeron
        self._params = params
        self._subscriptions = subscriptions
        self._clock = params.clock
        self._on_error = params.on_error
        self._streams: dict[_Key, ImageRecorder] = {}
        self._refused: dict[
            _Key, tuple[Subscription, Image]
        ] = {}  # images without a recording after an error
        self._retry_ns = 0
        self._spare_id: int | None = None  # id of a recording that could not begin
        self._reported: set[str] = set()
        self._retention = Retention(archive, params.retention, params.on_error)
        self._succession: Succession | None = None
        self._succession_fault = ""  # the last one that was reported
        self._beat_ns = 0
        self._images: list[tuple[Image, ...]] = []
        self._stack = ExitStack()
        self._stack.enter_context(archive.recorder_lock())
        try:
            self._tidy_up()
        except BaseException:
            self._stack.close()
            raise

    @property
    def streams(self) -> list[ImageRecorder]:
        """The recorder of each image that has a recording."""
        return list(self._streams.values())

    def do_work(self) -> int:
        """Record new data of all images, begin and stop recordings, apply the retention; return the recorded bytes.

        Errors of recordings are passed to `on_error`. Raises the errors of `Aeron.add_counter_async` when a new image
        has to be recorded, such as ClosedError, and ConfigurationError in a forked child.
        """
        if fault := fault_of_child(self._process_id, self.archive.uri):
            raise ConfigurationError(fault)
        now_ns = self._clock()
        self._follow_images(now_ns)
        copied = 0
        for stream in self.streams:
            copied += stream.do_work(now_ns)
        self.recorded_length += copied
        if now_ns - self._beat_ns >= _BEAT_NS:
            self._beat_ns = now_ns
            for stream in self.streams:
                stream.beat(now_ns)
        if copied == 0 and self._succession is not None:
            self._succeed(self._succession, now_ns)
        self._retention.do_work(now_ns)
        return copied

    def on_close(self, *, leaves: bool = False) -> None:
        """Stop all recordings at their current positions and release the archive; errors are passed to `on_error`.

        Pass `leaves` if the client closes without informing the driver (`Aeron.leave`): its id stays in the archive, so
        that the next recorder closes that client in the driver.
        """
        now_ns = self._clock()
        for stream in self.streams:
            self._stop(stream, now_ns)
        self._streams.clear()
        if self._succession is not None and not leaves:
            try:
                self._succession.end()
            except AeronError as error:
                self._on_error(error)
        self._stack.close()

    def _tidy_up(self) -> None:
        """Finish what earlier recorders of the archive left; a failed step must not prevent recording."""
        with self._reported_errors():
            delete_orphans(self._store, self._on_error)
        with self._reported_errors():
            keep_reserve(self._store)
        with self._reported_errors():
            # Before the id of this client is stored: after a crash in between, the next recorder does the same again.
            is_same_driver = last_driver(self._store) == self._aeron.driver_identity
            stop_interrupted_recordings(
                self.archive,
                self._clock(),
                is_same_driver=is_same_driver,
                report=self._on_error,
                notify=self._params.on_notice,
            )
            self._succession = Succession(self._store, self._aeron, self._clock())
            try:
                self._succession.begin()
            except AeronError as error:
                self._report_succession(error)

    @contextmanager
    def _reported_errors(self) -> Iterator[None]:
        try:
            yield
        except AeronError as error:
            self._on_error(error)

    def _succeed(self, succession: Succession, now_ns: int) -> None:
        try:
            succession.do_work(now_ns)
        except AeronError as error:
            self._report_succession(error)

    def _report_succession(self, error: AeronError) -> None:
        if stable_text(error) != self._succession_fault:
            self._succession_fault = stable_text(error)
            self._on_error(error)

    def _follow_images(self, now_ns: int) -> None:
        """Begin to record new images, retry those that failed, and stop the recordings of removed ones."""
        images = [subscription.images for subscription in self._subscriptions]
        if images != self._images:
            self._images = images
            found = {
                (subscription.registration_id, image.correlation_id): (subscription, image)
                for subscription, several in zip(self._subscriptions, images, strict=True)
                for image in several
            }
            for key in self._streams.keys() - found.keys():
                # Before new images are recorded: if the stream is back already, its new image continues this recording.
                self._stop(self._streams.pop(key), now_ns)
            for key in self._refused.keys() - found.keys():
                del self._refused[key]
            for key, (subscription, image) in found.items():
                if key not in self._streams and key not in self._refused:
                    self._record(key, subscription, image, now_ns)
        if self._refused and now_ns >= self._retry_ns:
            self._retry_ns = now_ns + RETRY_NS
            refused, self._refused = self._refused, {}
            for key, (subscription, image) in refused.items():
                self._record(key, subscription, image, now_ns)
            if not self._refused:
                self._reported.clear()

    def _record(self, key: _Key, subscription: Subscription, image: Image, now_ns: int) -> None:
        try:
            writer = self._open(subscription, image, now_ns)
        except AeronError as error:
            # The image is not read until the retry, so flow control holds back its sender.
            self._refused[key] = subscription, image
            if stable_text(error) not in self._reported:
                self._reported.add(stable_text(error))
                self._on_error(error)
            return
        stream = ImageRecorder(image, writer, self._on_error)
        self._streams[key] = stream
        self._add_counter(stream)
        if self._params.on_recording is not None:
            self._params.on_recording(stream)

    def _add_counter(self, stream: ImageRecorder) -> None:
        descriptor = stream.writer.descriptor
        try:
            stream.counter = self._aeron.add_counter_async(
                RECORDING_POSITION, recording_key(descriptor), recording_label(descriptor)
            )
        except ClosedError:
            raise
        except AeronError as error:
            # Only tools read the counter: record without it.
            self._on_error(error)

    def _open(self, subscription: Subscription, image: Image, now_ns: int) -> RecordingWriter:
        """Return a writer for the recording that the image continues, or for a new one."""
        taken = {stream.writer.descriptor.recording_id for stream in self.streams if not stream.is_stopped}
        found = find_continuation(
            self.archive,
            subscription,
            image,
            now_ns,
            taken,
            report=self._on_error,
            notify=self._params.on_notice,
        )
        if found is not None:
            try:
                return self._writer(*found, now_ns)
            except AeronError:
                # If another process has purged the recording meanwhile, record the stream anew.
                if self._store.size(f"{found[0].recording_id}/{names.DESCRIPTOR}") >= 0:
                    raise
        descriptor = self._describe(subscription, image, now_ns)
        self._spare_id = None
        try:
            return self._writer(descriptor, None, now_ns)
        except AeronError:
            self._store.delete_folder(str(descriptor.recording_id))
            self._spare_id = descriptor.recording_id
            raise

    def _writer(
        self, descriptor: RecordingDescriptor, resumption: Resumption | None, now_ns: int
    ) -> RecordingWriter:
        return RecordingWriter(
            self._store,
            descriptor,
            self._params.durability,
            now_ns=now_ns,
            resumption=resumption,
            on_segment_finished=self._params.on_segment_finished,
        )

    def _describe(self, subscription: Subscription, image: Image, now_ns: int) -> RecordingDescriptor:
        return RecordingDescriptor(
            recording_id=self.archive.next_recording_id() if self._spare_id is None else self._spare_id,
            channel=subscription.channel,
            stream_id=subscription.stream_id,
            session_id=image.session_id,
            source_identity=image.source_identity,
            initial_term_id=image.initial_term_id,
            term_length=image.term_length,
            mtu_length=image.mtu_length,
            segment_length=max(self._params.segment_length, image.term_length),
            start_position=image.join_position,
            start_time_ns=now_ns,
        )

    def _stop(self, stream: ImageRecorder, now_ns: int) -> None:
        try:
            stream.stop(now_ns)
        except RecordingError as error:
            self._on_error(error)  # recovery finds the end of the recording


def _check_are_different(subscriptions: Sequence[Subscription]) -> None:
    """Raise ConfigurationError for a duplicate stream, because its images would continue the same recording."""
    seen: set[tuple[str, int]] = set()
    for subscription in subscriptions:
        stream = subscription.channel, subscription.stream_id
        if stream in seen:
            raise ConfigurationError(
                f"{stream[0]} stream {stream[1]}: is listed more than once; list it once"
            )
        seen.add(stream)

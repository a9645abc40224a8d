"""Active recording: writes the blocks of one image to segment files, and moves the counter with its position.

    STARTING    waits for the driver to add the counter
    RECORDING   until the stream ends, a request stops it, or the disk fails
    STOPPED     the catalogue has the stop position

Invariant: the counter never passes what is written. Source: RecordingSession.java, RecordingPos.java.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.archive.server.files.segment_files import BlockWriter
from aeron_core.archive.server.frame_checksums import stamped
from aeron_core.concurrent.counter_types import RECORDING_POSITION
from aeron_core.errors import AeronError, ArchiveErrorCode
from aeron_core.protocol.archive.codes import RecordingSignal

if TYPE_CHECKING:
    from aeron_core.archive.server.files.catalogued import Catalogued
    from aeron_core.archive.server.served_archive import RecordingSource, ServedArchive
    from aeron_core.client.counters import Counter
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.image import Image

#: Bytes of one recording after which the next one is served. An invented number: about 1 ms of copying.
_TURN_LENGTH: Final = 4 * 1024 * 1024
_KEY: Final = struct.Struct("<qii")
_ARCHIVE_ID: Final = struct.Struct("<q")


class RecordingPhase(Enum):
    """Phases; the docstring of the module describes them."""

    STARTING = auto()
    RECORDING = auto()
    STOPPED = auto()


class ActiveRecording:
    """One image that is recorded; the archive's thread uses it.

    The constructor raises RecordingError if the first file cannot be written, and the errors of
    `Aeron.add_counter_async`.
    """

    def __init__(
        self,
        archive: ServedArchive,
        stream: RecordingSource,
        entry: Catalogued,
        image: Image,
        signal: RecordingSignal,
    ) -> None:
        """`signal`: what to send when it has started."""
        self.recording_id = entry.recording_id
        self.stream = stream
        self.image = image
        self._archive = archive
        self._signal = signal
        self._state = RecordingPhase.STARTING
        self._events_position = image.join_position
        self._writer = BlockWriter(
            archive.files(entry), image.join_position, sync=archive.params.sync_level > 0
        )
        self._checksum = archive.params.record_checksum
        self._on_block = self._writer.on_block if self._checksum is None else self._write_stamped
        self._block_length = min(image.term_length, archive.params.io_length)
        self._counter: Counter | None = None
        try:
            self._registration: Registration[Counter] = archive.aeron.add_counter_async(
                RECORDING_POSITION,
                _key(entry, image, archive.archive_id),
                _label(entry, image, archive.archive_id),
            )
        except BaseException:
            self._writer.close()
            raise

    @property
    def position(self) -> int:
        """The position up to which it is written, in bytes."""
        return self._writer.position

    @property
    def counter_id(self) -> int | None:
        """The id of its counter, None before the driver has added it."""
        return None if self._counter is None else self._counter.id

    @property
    def is_done(self) -> bool:
        """Whether it is stopped."""
        return self._state is RecordingPhase.STOPPED

    def do_work(self, now_ms: int) -> int:
        """Write what has arrived; return the number of bytes."""
        try:
            if self._state is RecordingPhase.STARTING:
                return self._start()
            if self._state is RecordingPhase.RECORDING:
                return self._record(now_ms)
        except AeronError as error:
            self._archive.raise_if_closed(error)
            self.fail(error, now_ms)
        return 0

    def fail(self, error: AeronError, now_ms: int) -> None:
        """Stop after an error, which the client and the archive's log receive."""
        self._archive.report(error)
        self.stop(now_ms)
        self.stream.session.refuse(self.stream.correlation_id, str(error), ArchiveErrorCode.GENERIC)

    def stop(self, now_ms: int) -> None:
        """Store the stop position and free the counter, once."""
        if self._state is RecordingPhase.STOPPED:
            return
        self._state = RecordingPhase.STOPPED
        archive, position = self._archive, self.position
        self._writer.close()
        try:
            archive.catalog.update(self.recording_id, stop_position=position, stop_time_ms=now_ms)
        except AeronError as error:
            archive.report(error)  # the next start of an archive finds the end in the files
        self._send(RecordingSignal.STOP, position)
        if archive.events is not None:
            archive.events.stopped(self.recording_id, self.image.join_position, position)
        archive.recordings.pop(self.recording_id, None)
        with suppress(AeronError):
            if self._counter is not None:
                self._counter.close()
            else:
                self._registration.cancel()

    def _start(self) -> int:
        self._counter = self._registration.poll()
        if self._counter is None:
            return 0
        self._counter.value = self.position
        self._state = RecordingPhase.RECORDING
        self._send(self._signal, self.image.join_position)
        archive = self._archive
        if archive.events is not None:
            archive.events.started(archive.catalog.entries[self.recording_id], self.image)
        return 1

    def _record(self, now_ms: int) -> int:
        assert self._counter is not None
        begin = self.position
        while self.position - begin < _TURN_LENGTH:
            if self.image.block_poll(self._on_block, self._block_length) == 0:
                break
        if self.position > begin:
            self._counter.value = self.position
        elif self.image.is_closed or self.image.is_end_of_stream:
            self.stop(now_ms)
            return 1
        events = self._archive.events
        if (
            events is not None
            and self._events_position < self.position
            and events.progress(self.recording_id, self.image.join_position, self.position)
        ):
            self._events_position = self.position
        return self.position - begin

    def _write_stamped(self, block: memoryview, session_id: int, term_id: int) -> None:
        assert self._checksum is not None
        self._writer.on_block(stamped(block, self._checksum), session_id, term_id)

    def _send(self, signal: RecordingSignal, position: int) -> None:
        stream = self.stream
        stream.session.signal(
            signal, stream.correlation_id, self.recording_id, stream.subscription_id, position
        )


def _key(entry: Catalogued, image: Image, archive_id: int) -> bytes:
    """Return the key of the counter: recording id, session id, source identity, id of the archive."""
    longest = wire.COUNTER_KEY_MAX_LENGTH - _KEY.size - _ARCHIVE_ID.size
    identity = image.source_identity.encode("ascii", "replace")[:longest]
    return (
        _KEY.pack(entry.recording_id, image.session_id, len(identity))
        + identity
        + _ARCHIVE_ID.pack(archive_id)
    )


def _label(entry: Catalogued, image: Image, archive_id: int) -> str:
    """Return the label of the counter; the channel is cut so that the id of the archive fits."""
    begin, end = (
        f"rec-pos: {entry.recording_id} {image.session_id} {entry.stream_id} ",
        f" - archiveId={archive_id}",
    )
    channel = entry.stripped_channel.encode("ascii", "replace").decode()
    return begin + channel[: wire.COUNTER_LABEL_MAX_LENGTH - len(begin) - len(end)] + end

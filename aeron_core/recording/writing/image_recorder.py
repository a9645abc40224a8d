"""Recorder of one image: writes its frames to disk and moves the image to the end of the recorded frames.

Invariant: the subscriber position, which lets the sender continue, never passes the recorded position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.counters import Counter
from aeron_core.client.registrations import Registration, RegistrationState
from aeron_core.client.subscriptions.image import Image
from aeron_core.errors import AeronError, RecordingError
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.index import MAX_COVERED_LENGTH
from aeron_core.recording.writing.recording_writer import RecordingWriter

# Bytes of one image after which the next image is served. An invented number: about 1 ms of copying.
_TURN_LENGTH: Final = 4 * 1024 * 1024
#: Time between retries after a disk error. An invented number: an operator frees space within minutes.
RETRY_NS: Final = 1_000_000_000
# Maximum bytes of one write: as many as make an entry of the index due.
_BLOCK_LENGTH: Final = MAX_COVERED_LENGTH
# Flush early if at least this many bytes are unflushed and no further data arrives: the sender may be waiting for the
# flush. Invented: half of the reference's initial receiver window (128 KiB), or of half a term if that
# is shorter.
_WAITING_LENGTH: Final = 64 * 1024
_WAITING_PART_OF_TERM: Final = 4

# The key of the counter with the position of a recording. Source: RecordingPos.java.
_RECORDING_ID_OFFSET: Final = 0
_SESSION_ID_OFFSET: Final = 8
_SOURCE_IDENTITY_LENGTH_OFFSET: Final = 12
_SOURCE_IDENTITY_OFFSET: Final = 16


class ImageRecorder:
    """One image and its recording; the recorder's thread uses it. Times are nanoseconds since the epoch."""

    def __init__(
        self,
        image: Image,
        writer: RecordingWriter,
        report: Callable[[AeronError], object],
    ) -> None:
        self.image = image
        self.writer = writer
        self.is_stopped = False
        #: The registration of the counter with the recording's position; None if it could not be added.
        self.counter: Registration[Counter] | None = None
        self._report = report
        self._waiting_length = min(_WAITING_LENGTH, image.term_length // _WAITING_PART_OF_TERM)
        self._has_failed = False
        self._retry_ns = 0
        self._reported = ""
        self._advance()  # a continued recording may be ahead of the image

    def do_work(self, now_ns: int) -> int:
        """Write new data, flush if due, and stop when the stream has ended or its image is closed.

        Return the bytes written: 0 if there is no new data, if the recording is stopped, before a retry is due, and
        after an error, which is passed to `report` once.
        """
        if self.is_stopped or now_ns < self._retry_ns:
            return 0
        try:
            if self._has_failed:
                self.stop(now_ns)
                return 0
            copied = self._copy(now_ns)
            is_waited_for = copied == 0 and self._unflushed_length() >= self._waiting_length
            if self.writer.is_due(now_ns, is_waited_for=is_waited_for):
                self.writer.flush(now_ns)
                self._advance()
            elif copied == 0:
                self._show(self.writer.recorded_position)
            if copied == 0 and self._has_ended():
                self.stop(now_ns)
        except RecordingError as error:
            self._retry_ns = now_ns + RETRY_NS
            self._report_once(error)
            return 0
        except AeronError as error:
            self._report_once(error)
            self._has_failed = True  # the next cycles stop the recording, with retries if the disk fails
            return 0
        self._reported = ""
        return copied

    def beat(self, now_ns: int) -> None:
        """Store `now_ns` as the time of the last heartbeat, for readers."""
        self.writer.beat(now_ns)

    def stop(self, now_ns: int) -> None:
        """Stop the recording and free its counter, once; raises RecordingError if the disk fails."""
        if self.is_stopped:
            return
        is_end_of_stream = self.image.end_of_stream_position <= self.writer.written_position
        self.writer.stop(now_ns, is_end_of_stream=is_end_of_stream)
        self._advance()
        self.is_stopped = True
        if self.counter is None:
            return
        if not self.counter.cancel() and (counter := self._shown()) is not None:
            counter.close()

    def _copy(self, now_ns: int) -> int:
        copied = 0
        while copied < _TURN_LENGTH:
            block = self.image.block_peek(self.writer.written_position, _BLOCK_LENGTH)
            if not len(block):
                break
            copied += len(block)
            self.writer.append(block, now_ns)
        return copied

    def _unflushed_length(self) -> int:
        return self.writer.written_position - self.writer.recorded_position

    def _advance(self) -> None:
        """Move the image to the recorded position, in steps of at most a term, because an image allows no more."""
        image, recorded = self.image, self.writer.recorded_position
        while not image.is_closed and image.position < recorded:
            position = image.position
            image.position = min(recorded, position - position % image.term_length + image.term_length)
        self._show(recorded)

    def _show(self, recorded: int) -> None:
        counter = self._shown()
        if counter is not None and counter.value != recorded:
            counter.value = recorded

    def _shown(self) -> Counter | None:
        """Return the counter; None until the driver answers, if there is none, and after it was closed."""
        if self.counter is None or self.counter.state is not RegistrationState.REGISTERED:
            return None
        counter = self.counter.poll()
        return None if counter is None or counter.is_closed else counter

    def _has_ended(self) -> bool:
        return self.image.is_closed or self.image.end_of_stream_position <= self.writer.recorded_position

    def _report_once(self, error: AeronError) -> None:
        if stable_text(error) != self._reported:
            self._reported = stable_text(error)
            self._report(error)


def stable_text(error: AeronError) -> str:
    """Return an error message up to its first semicolon: what follows, such as free space, may change."""
    return str(error).partition(";")[0]


def recording_key(descriptor: RecordingDescriptor) -> bytes:
    """Return the counter key: recording id (int64), session id (int32), and source identity.

    The identity is its length (int32) and ASCII text, truncated to the maximum length of a key.
    """
    identity = descriptor.source_identity.encode("ascii", "replace")[
        : wire.COUNTER_KEY_MAX_LENGTH - _SOURCE_IDENTITY_OFFSET
    ]
    key = AtomicBuffer.allocate(wire.COUNTER_KEY_MAX_LENGTH)
    key.put_i64(_RECORDING_ID_OFFSET, descriptor.recording_id)
    key.put_i32(_SESSION_ID_OFFSET, descriptor.session_id)
    key.put_i32(_SOURCE_IDENTITY_LENGTH_OFFSET, len(identity))
    key.put_bytes(_SOURCE_IDENTITY_OFFSET, identity)
    return key.get_bytes(0, _SOURCE_IDENTITY_OFFSET + len(identity))


def recording_label(descriptor: RecordingDescriptor) -> str:
    """Return the counter label: `rec-pos:`, recording id, session id, stream id and channel.

    A long label is truncated after a whole character, to at most the maximum length in bytes of UTF-8.
    """
    label = f"rec-pos: {descriptor.recording_id} {descriptor.session_id} {descriptor.stream_id} {descriptor.channel}"
    data = label.encode(errors="replace")[: wire.COUNTER_LABEL_MAX_LENGTH]
    return data.decode(errors="ignore")

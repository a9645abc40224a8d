"""Active replay: publishes the frames of a recording at their positions, to the subscriber that requested them.

    OPENING    waits for the driver to add the publication
    STARTING   waits for the first segment file, then responds, then waits for the subscriber
    REPLAYING  until the limit, or the end of the recording
    DONE       the publication is closed; revoked if the replay is incomplete

A live recording limits its replays by its position, a bounded replay has a counter besides. Source: ReplaySession.java.
"""

from __future__ import annotations

import os
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.frame_checksums import first_mismatch
from aeron_core.archive.server.served_session import text_of
from aeron_core.errors import (
    AeronError,
    ArchiveErrorCode,
    ArchiveRefusedError,
    ErrorCode,
    RegistrationError,
)
from aeron_core.frozen import frozen
from aeron_core.logbuffer.results import OfferResult
from aeron_core.recording._native import faults
from aeron_core.recording.storage.file_store import write_failure
from aeron_core.recording.storage.frame_scanner import FrameScanner

if TYPE_CHECKING:
    from aeron_core.archive.server.files.catalogued import Catalogued
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.registrations import Registration
    from aeron_core.concurrent.counters import CountersReader

#: Blocks that one duty cycle publishes of one replay. An invented number.
_BLOCK_LIMIT: Final = 16


class ReplayPhase(Enum):
    """Phases; the docstring of the module describes them."""

    OPENING = auto()
    STARTING = auto()
    REPLAYING = auto()
    DONE = auto()


class BoundingCounter:
    """The counter of a bounded replay, which any client of the driver may own."""

    def __init__(self, counters: CountersReader, counter_id: int) -> None:
        """Raise ArchiveRefusedError if there is no such counter."""
        if not 0 <= counter_id <= counters.max_counter_id or (
            counters.state(counter_id) != wire.COUNTER_STATE_ALLOCATED
        ):
            raise refused(f"limit counter {counter_id}: does not exist")
        self._counters = counters
        self._id = counter_id
        self._registration_id = counters.registration_id(counter_id)

    @property
    def value(self) -> int | None:
        """The value; None after the counter was freed."""
        value = self._counters.value(self._id)
        is_same = (
            self._counters.state(self._id) == wire.COUNTER_STATE_ALLOCATED
            and self._counters.registration_id(self._id) == self._registration_id
        )
        return value if is_same else None


@frozen(slots=True, kw_only=True)
class ReplayRange:
    """What to publish, and where; positions in bytes."""

    position: int
    limit: int  # after the last byte at most
    io_length: int  # bytes of one read
    channel: str
    stream_id: int
    counter: BoundingCounter | None


class ActiveReplay:
    """One replay; the archive's thread uses it."""

    def __init__(
        self,
        archive: ServedArchive,
        session: ServedSession,
        correlation_id: int,
        entry: Catalogued,
        wanted: ReplayRange,
    ) -> None:
        """Add the publication; raises the errors of `Aeron.add_exclusive_publication_async`."""
        self.recording_id = entry.recording_id
        self.replay_id = -1  # before the publication is added
        self.position = wanted.position
        self.is_done = False
        self._archive = archive
        self._session = session
        self._correlation_id = correlation_id
        self._entry = entry
        self._files = archive.files(entry)
        self._wanted = wanted
        self._limit = wanted.limit
        self._available = self.position  # position up to which frames are known to be written
        self._deadline_ms = archive.now_ms + archive.params.connect_timeout_ms
        self._state = ReplayPhase.OPENING
        self._publication: ExclusivePublication | None = None
        self._registration: Registration[ExclusivePublication] | None = None
        self._scanner = FrameScanner(
            entry.session_id, entry.stream_id, entry.initial_term_id, entry.term_length, checks_session=False
        )
        self._fd = -1
        self._base = self._files.base_of(self.position)
        self._data = AtomicBuffer(bytearray())
        self._view = memoryview(b"")
        self._view_position = self.position  # of its first byte
        self._block = self._view  # frames with the ids of the publication, until they are accepted
        self._block_length = (
            0  # that an offer takes: one that begins below the publisher limit is accepted whole
        )
        self._padding_end = self.position  # of padding that is being published

    @property
    def segment_base(self) -> int:
        """The position at which the file begins that is read next."""
        return self._base

    def do_work(self, now_ms: int) -> int:
        """Advance the replay; return the work count."""
        try:
            if self._state is ReplayPhase.OPENING:
                return self._open()
            if self._state is ReplayPhase.STARTING:
                return self._start(now_ms)
            if self._state is ReplayPhase.REPLAYING:
                return self._replay()
        except (AeronError, ValueError) as error:
            self._archive.raise_if_closed(error)
            self._fail(error)
        return 0

    def close(self) -> None:
        """End an incomplete replay: its subscriber is disconnected at once."""
        self._end(is_complete=False)

    def _fail(self, error: Exception) -> None:
        code = error.code if isinstance(error, ArchiveRefusedError) else ArchiveErrorCode.GENERIC
        self._session.refuse(
            self._correlation_id, f"replay of recording {self.recording_id}: {text_of(error)}", code
        )
        self.close()

    def _end(self, *, is_complete: bool) -> None:
        if self._state is ReplayPhase.DONE:
            return
        self._state, self.is_done = ReplayPhase.DONE, True
        self._close_file()
        if self._publication is None:
            if self._registration is not None:
                self._registration.cancel()
        elif is_complete:
            self._publication.close()
        else:
            self._publication.revoke()

    def _open(self) -> int:
        wanted = self._wanted
        if self._registration is None:
            self._registration = self._archive.aeron.add_exclusive_publication_async(
                wanted.channel, wanted.stream_id
            )
        try:
            self._publication = self._registration.poll()
        except RegistrationError as error:
            self._registration = None
            if error.code is not ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                raise
            return 0
        if self._publication is None:
            return 0
        self._block_length = self._publication.max_message_length & -wire.FRAME_ALIGNMENT
        self.replay_id = self._archive.next_id() << 32 | self._publication.session_id & 0xFFFF_FFFF
        self._state = ReplayPhase.STARTING
        return 1

    def _start(self, now_ms: int) -> int:
        assert self._publication is not None
        if self._fd < 0:
            if not self._files.path(self._base).exists():
                if now_ms > self._deadline_ms:
                    raise refused(f"{self._files.path(self._base)}: does not exist")
                return 0
            self._fd = self._files.open(self._base)
            begins_frame = (
                self.position == self._entry.start_position
                or self.position == self._end_of_recording()[0]
                or self._files.has_frame_at(self.position)
            )
            if not begins_frame:
                raise refused(
                    f"position {self.position}: no frame begins there", ArchiveErrorCode.INVALID_POSITION
                )
            self._session.respond(self._correlation_id, self.replay_id)
        if not self._publication.is_connected:
            if now_ms > self._deadline_ms:
                raise refused(
                    f"no subscriber connected to {self._publication.channel} stream {self._publication.stream_id}"
                )
            return 0
        self._state = ReplayPhase.REPLAYING
        return 1

    def _end_of_recording(self) -> tuple[int, bool]:
        """Return the position up to which the recording is written, and whether it is final."""
        active = self._archive.recordings.get(self.recording_id)
        if active is not None:
            return active.position, False
        entry = self._archive.catalog.entries.get(self.recording_id)
        if entry is None:
            raise refused("the recording was deleted", ArchiveErrorCode.UNKNOWN_RECORDING)
        return entry.stop_position, True

    def _replay(self) -> int:
        assert self._publication is not None
        if not self._publication.is_connected:
            self.close()
            return 1
        work = 0
        while work < _BLOCK_LIMIT:
            if self.position >= self._available and not self._extend():
                break
            if self.position >= self._limit:
                self._end(is_complete=True)
                break
            result = self._publish()
            if result < 0:
                if result in (OfferResult.CLOSED, OfferResult.NOT_CONNECTED):
                    self.close()
                break
            self.position = result
            work += 1
        return work

    def _extend(self) -> bool:
        """Find out up to where frames may be published; return False if there are none beyond the position now."""
        end, is_final = self._end_of_recording()
        if self._wanted.counter is not None:
            value = self._wanted.counter.value
            if value is None:
                end, is_final = min(end, self._available), True
            elif value < end:
                end, is_final = value, False
        if is_final:
            self._limit = min(self._limit, end)
        self._available = max(end, self._available)
        return self.position < self._available or self.position >= self._limit

    def _publish(self) -> int:
        """Offer the next frames; return the result."""
        assert self._publication is not None
        if not self._block and self.position >= self._padding_end:
            self._prepare()
        if self.position < self._padding_end:
            # Padding may be longer than an offer: the rest is padding, too.
            part = min(self._padding_end - self.position, self._block_length)
            return self._publication.append_padding(part - wire.DATA_HEADER_LENGTH)
        if not self._block:
            return OfferResult.BACK_PRESSURED
        result = self._publication.offer_block(self._block)
        if result >= 0:
            self._block = self._view[:0]
        return result

    def _prepare(self) -> None:
        """Set the next block of data frames, or the end of padding; neither if the frame is not available yet."""
        assert self._publication is not None
        begin = self.position - self._view_position
        if not 0 <= begin < len(self._view):
            self._read()
            begin = 0
        scanner, left = self._scanner, len(self._view) - begin
        # The frame that begins before the limit is replayed whole.
        wanted = positions.align_frame(min(self._limit - self.position, self._block_length))
        frames = scanner.scan(self._data, begin, min(wanted, left), self.position)
        if frames == 0:
            frames = self._scan_one(begin)
            if frames == 0:
                return
            begin = self.position - self._view_position
        if scanner.padding_offset == 0:
            self._padding_end = self.position + positions.align_frame(self._data.get_i32(begin))
            return
        if scanner.padding_offset > 0:
            frames = scanner.padding_offset
        if (kind := self._archive.params.replay_checksum) is not None:
            wrong = first_mismatch(self._view[begin : begin + frames], kind)
            if wrong is not None:
                raise refused(f"position {self.position + wrong}: the {kind} checksum of the frame is wrong")
        scanner.restamp(self._data, begin, frames, self._publication.session_id, self._publication.stream_id)
        self._block = self._view[begin : begin + frames]

    def _scan_one(self, begin: int) -> int:
        """Return the length of a frame that a block alone cannot hold; 0 if it is not available in whole.

        Raises ArchiveRefusedError if it is damaged.
        """
        scanner = self._scanner
        if begin > 0 and scanner.fault == faults.CUT_SHORT:
            self._read()  # it continues after what was read
        begin = self.position - self._view_position
        if scanner.scan(self._data, begin, len(self._view) - begin, self.position) > 0:
            return positions.align_frame(self._data.get_i32(begin))
        end, is_final = self._end_of_recording()
        if scanner.fault == faults.CUT_SHORT and (self._available < end or not is_final):
            # A counter may have any value: wait until it is beyond the frame.
            self._available, self._view = self.position, self._view[:0]
            return 0
        raise refused(f"position {self.position}: {scanner.fault_text()}")

    def _read(self) -> None:
        """Read the frames from the position on, within its term and what is available."""
        entry = self._entry
        base = self._files.base_of(self.position)
        if base != self._base or self._fd < 0:
            self._close_file()
            self._base = base
            self._fd = self._files.open(base)
        left_in_term = entry.term_length - self.position % entry.term_length
        length = min(self._available - self.position, self._wanted.io_length, left_in_term)
        try:
            data = os.pread(self._fd, length, self.position - base)
        except OSError as error:
            raise write_failure("read", self._files.path(base), error) from error
        if len(data) < length:
            raise refused(f"{self._files.path(base)}: ends after {self.position - base + len(data)} bytes")
        buffer = bytearray(data)
        self._data, self._view, self._view_position = AtomicBuffer(buffer), memoryview(buffer), self.position

    def _close_file(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

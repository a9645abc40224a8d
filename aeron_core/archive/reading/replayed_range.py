"""Range of a recording, replayed by its archive, as the bytes that its files have.

A replay sends the frames of the recording at their positions, with other session and stream ids. Whole blocks of the
image are copied. If the archive or the driver is lost, the next replay begins at the frame after the last one received.

Not here: the session (link), and what frames contain.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.archive.operations import replay_session_id
from aeron_core.archive.params import ReplayParams
from aeron_core.archive.reading.link import BUSY, LOST
from aeron_core.errors import (
    ArchiveErrorCode,
    ArchiveRefusedError,
    ArchiveTimeoutError,
    ConfigurationError,
    RecordingError,
)
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from aeron_core.archive.aeron_archive import AeronArchive
    from aeron_core.archive.reading.link import ArchiveLink
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.client.subscriptions.subscription import Subscription

#: Least limit of a block: longer than the longest frame.
_LEAST_BLOCK: Final = 128 * 1024
#: Polls without data before the thread sleeps, and bounds of the sleep. Invented numbers: a replay over loopback
#: delivers within the first, and the longest is short compared to a batch.
_SPINS: Final = 20
_SHORTEST_SLEEP_S: Final = 0.000_02
_LONGEST_SLEEP_S: Final = 0.001
#: Pause before a replay that ended early is requested again. An invented number: many times that of a request.
_PAUSE_S: Final = 0.01
_ANY_PORT: Final = ":0"


class Recorded(Protocol):
    """The recording of a range."""

    recording_id: int

    def check_extent(self, begin: int, end: int) -> None:
        """Raise DataLossError if a part of a range was purged or not recorded."""

    def last_border(self, position: int, near: int | None) -> int:
        """Return the last end of a message up to `position`; the search begins at `near`, an end of a frame too."""


class Rest(NamedTuple):
    """End of the last frame that was received, from `position` on."""

    position: int
    data: bytes
    padding: int  # bytes of a padding frame's body after `data`


class ReplayedRange:
    """Bytes of one recording from `begin` up to `end`, in order; one thread uses it.

    Close it to end the replay. No request is sent before the first read.
    """

    def __init__(
        self, link: ArchiveLink, recording: Recorded, begin: int, end: int, rest: Rest | None = None
    ) -> None:
        """`begin`: where a frame begins, unless `rest` of another range begins there; `end` may be within a frame."""
        self._link = link
        self._recording = recording
        self._position = begin  # of the next byte to return
        self._end = end
        is_continued = rest is not None and rest.position == begin
        self._rest = rest.data if rest is not None and is_continued else b""  # received, from `_position` on
        self._padding = (
            rest.padding if rest is not None and is_continued else 0
        )  # of a frame's body after `_rest`
        self._subscription: Subscription | None = None
        self._image: Image | None = None
        self._target = memoryview(b"")
        self._filled = 0

    def read_into(self, position: int, target: memoryview) -> int:
        """Fill `target` from `position` on, at most up to the end of the range, and return the number of bytes.

        `position` must be that after the last read, or within the padding there. Waits for the archive. Raises
        DataLossError if the range was purged or truncated, RecordingError if the archive is lost or refuses.
        """
        self._skip(position - self._position)
        self._target, self._filled = target[: self._end - position], 0
        self._take_rest()
        idle, since_s = 0, time.monotonic()
        while self._filled < len(self._target):
            if self._receive():
                idle, since_s = 0, time.monotonic()
                continue
            idle += 1
            if idle > _SPINS:
                self._check_progress(since_s)
                time.sleep(min(_SHORTEST_SLEEP_S * 2 ** min(idle - _SPINS, 10), _LONGEST_SLEEP_S))
        self._position += self._filled
        if self._position >= self._end:
            self.close()
        return self._filled

    def message_begin(self, near: int | None = None) -> int:
        """Return where the first message begins that ends after `begin`; reads then begin there. Call before a read.

        It is `begin` unless that is within a message: then the term is replayed, from `near` on or, if no message ends
        after that, from its beginning, to find that of the message, which is within one term. Raises as `read_into`.
        """
        begin, header = self._position, bytearray(min(wire.DATA_HEADER_LENGTH, self._end - self._position))
        self.read_into(begin, memoryview(header))
        self._rest, self._position = bytes(header) + self._rest, begin
        frame = AtomicBuffer(header)
        is_padding = frame.get_u16(wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
        if not is_padding and not frame.get_u8(wire.FRAME_FLAGS_OFFSET) & wire.DATA_FLAG_BEGIN:
            border = self._recording.last_border(begin, near)
            if border < begin:
                self.close()
                self._position, self._rest, self._padding = border, b"", 0
        return self._position

    @property
    def rest(self) -> Rest:
        """What was received of the last frame after the bytes that were returned, with which another range begins."""
        return Rest(self._position, self._rest, self._padding)

    def close(self) -> None:
        """End the replay; closing twice does nothing."""
        subscription, self._subscription, self._image = self._subscription, None, None
        if subscription is not None:
            with suppress(*LOST):
                subscription.close()

    def _skip(self, count: int) -> None:
        in_rest = min(count, len(self._rest))
        self._rest = self._rest[in_rest:]
        self._padding = max(self._padding - (count - in_rest), 0)
        self._position += count

    def _take_rest(self) -> None:
        taken = min(len(self._rest), len(self._target))
        self._target[:taken] = self._rest[:taken]
        self._rest = self._rest[taken:]
        # The body of padding is not read: it keeps what the target has.
        padding = min(self._padding, len(self._target) - taken)
        self._padding -= padding
        self._filled = taken + padding

    def _receive(self) -> int:
        """Copy a block of frames, and return its length; 0 if none has arrived."""
        if self._image is None:
            self._link.run(self._open)
            return 0
        return self._image.block_poll(self._copy, max(len(self._target) - self._filled, _LEAST_BLOCK))

    def _copy(self, block: memoryview, _session_id: int, _term_id: int) -> None:
        taken = min(len(block), len(self._target) - self._filled)
        self._target[self._filled : self._filled + taken] = block[:taken]
        self._filled += taken
        left = len(block) - taken
        kept = min(left, _LEAST_BLOCK)  # more is the body of padding
        self._rest = bytes(block[taken : taken + kept])
        self._padding = left - kept

    @property
    def _next_frame(self) -> int:
        return self._position + self._filled + len(self._rest) + self._padding

    def _check_progress(self, since_s: float) -> None:
        """Open another replay if this one was lost; raise RecordingError after `reconnect-timeout` without data."""
        address = self._link.address
        idle_s = time.monotonic() - since_s
        if idle_s >= address.reconnect_timeout_s:
            self.close()
            raise RecordingError(
                f"recording {self._recording.recording_id} position {self._next_frame}: no data from the archive at "
                f"{address.control_request} within {address.reconnect_timeout_s:g} s; check that the archive runs and "
                f"reaches {address.replay_channel()}, or use a longer reconnect-timeout"
            )
        image = self._image
        if image is None:
            return
        try:
            self._link.poll()
            is_lost = image.is_closed or image.is_end_of_stream
        except LOST:
            is_lost = True
        if is_lost:
            self.close()
            time.sleep(_PAUSE_S)

    def _open(self, archive: AeronArchive) -> None:
        """Start the replay of what is missing and wait for its image."""
        self.close()
        begin = self._next_frame
        params = ReplayParams(position=begin, length=self._end - begin)
        try:
            self._subscription, session_id = self._start(archive, params)
        except ArchiveRefusedError as error:
            if error.code in BUSY:
                raise
            # Purged or truncated meanwhile, or the archive was replaced.
            self._recording.check_extent(begin, self._end)
            where = f"recording {self._recording.recording_id} position {begin}"
            if error.code is ArchiveErrorCode.INVALID_POSITION:
                raise ConfigurationError(f"{where}: must be the end of a message: {error}") from None
            is_forbidden = error.code is ArchiveErrorCode.UNAUTHORISED_ACTION
            hint = "" if is_forbidden else "; check replay, or control-response, of the address"
            raise RecordingError(f"{where}: {error}{hint}") from None
        deadline_s = time.monotonic() + self._link.address.message_timeout_s
        while (image := self._image_of(session_id)) is None:
            archive.poll_for_recording_signals()
            if time.monotonic() >= deadline_s:
                self.close()
                raise ArchiveTimeoutError(
                    f"no replay of recording {self._recording.recording_id} arrived at "
                    f"{self._link.address.replay_channel()}{self._link.take_error()}: check that the archive reaches "
                    "this channel"
                )
            time.sleep(_SHORTEST_SLEEP_S)
        self._image = image

    def _start(self, archive: AeronArchive, params: ReplayParams) -> tuple[Subscription, int | None]:
        """Start a replay; return its subscription, and its session id unless the subscription has only one image."""
        address, recording_id = self._link.address, self._recording.recording_id
        channel, stream_id = address.replay_channel(), address.replay_stream_id
        if not (ChannelUri.parse(channel).get("endpoint") or "").endswith(_ANY_PORT):
            return archive.replay(recording_id, channel, stream_id, params), None
        subscription = self._link.aeron.add_subscription(channel, stream_id)
        try:
            deadline_s = time.monotonic() + address.message_timeout_s
            while (resolved := subscription.resolved_channel()) is None:
                if time.monotonic() >= deadline_s:
                    raise ArchiveTimeoutError(f"no address bound for {channel}")
                time.sleep(_SHORTEST_SLEEP_S)
            replay_id = archive.start_replay(recording_id, resolved, stream_id, params)
        except BaseException:
            subscription.close()
            raise
        return subscription, replay_session_id(replay_id)

    def _image_of(self, session_id: int | None) -> Image | None:
        assert self._subscription is not None
        if session_id is not None:
            return self._subscription.image_by_session_id(session_id)
        return next(iter(self._subscription.images), None)

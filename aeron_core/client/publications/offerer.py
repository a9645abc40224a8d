"""Offering of messages with retries, so that no message is lost under back pressure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.errors import ClosedError, MaxPositionExceededError, NotConnectedError, SendTimeoutError

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.bytes_like import BytesLike
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication

# An invented number: shorter than a round trip through two processes that must wake up.
_PAUSE_S: Final = 0.00005


@dataclass(slots=True)
class _Deadlines:
    """Times in seconds at which an offer fails, None before the first such result."""

    connection_s: float | None = None
    pressure_s: float | None = None


class Offerer:
    """Offers with retries to one publication; counts accepted messages, their bytes, and back-pressured offers.

    One thread uses it.
    """

    def __init__(
        self,
        publication: Publication | ExclusivePublication,
        timeout: float | None,
        back_pressure_timeout: float | None = None,
    ) -> None:
        """Set the limits of an offer in seconds, None for no limit.

        `timeout` limits the time in which the publication is not connected, `back_pressure_timeout` the time
        from the first back pressure of a message.
        """
        self._publication = publication
        self._timeout = timeout
        self._back_pressure_timeout = back_pressure_timeout
        self.messages = 0
        self.bytes = 0
        self.back_pressured = 0

    def offer(self, data: BytesLike, reserved_value: int = 0) -> int:
        """Offer until the message is accepted and return the position after it.

        Raises NotConnectedError if the publication is not connected for `timeout` seconds, SendTimeoutError
        if the message is still back-pressured `back_pressure_timeout` seconds after it was for the first
        time, MaxPositionExceededError if the stream has no positions left, ClosedError once the publication is closed,
        and the errors of `PublicationBase.offer`.
        """
        deadlines: _Deadlines | None = None  # few messages need any
        while True:
            result = self._publication.offer(data, reserved_value=reserved_value)
            if result >= 0:
                self.messages += 1
                self.bytes += memoryview(data).nbytes
                return result
            deadlines = deadlines or _Deadlines()
            self._wait(result, deadlines)

    def offer_batch(
        self,
        data: BytesLike,
        boundaries: AtomicBuffer,
        count: int,
        reserved_value: int = 0,
        *,
        reserved_step: int = 0,
    ) -> None:
        """Offer `count` messages until all are accepted; `data` and the int64 `boundaries` as for a publication.

        Raises the errors of `offer` and of `PublicationBase.offer_batch`; messages before that are published.
        """
        done = 0
        deadlines = _Deadlines()
        while done < count:
            result = self._publication.offer_batch(
                data,
                boundaries,
                first=done,
                count=count - done,
                reserved_value=reserved_value + done * reserved_step,
                reserved_step=reserved_step,
            )
            if result > 0:
                self.messages += result
                self.bytes += boundaries.get_i64((done + result) * 8) - boundaries.get_i64(done * 8)
                done += result
                deadlines = _Deadlines()
            else:
                self._wait(result, deadlines)

    def _wait(self, result: int, deadlines: _Deadlines) -> None:
        """Wait before the next attempt after a negative result, or raise the error of the result."""
        if result == wire.RESULT_CLOSED:
            raise ClosedError(
                f"{self._publication!r} was closed after {self._count()}: start the media driver if it has shut "
                "down, connect again, and add a new publication"
            )
        if result == wire.RESULT_MAX_POSITION_EXCEEDED:
            raise MaxPositionExceededError(
                f"{self._publication!r}: the stream has reached its maximum position "
                f"{self._publication.max_possible_position}: close the publication and add a new one"
            )
        if result == wire.RESULT_NOT_CONNECTED:
            deadlines.connection_s = self._check_connected(deadlines.connection_s)
        elif result == wire.RESULT_BACK_PRESSURED:
            self.back_pressured += 1
            deadlines.connection_s = None
            deadlines.pressure_s = self._check_back_pressure(deadlines.pressure_s)
        if result != wire.RESULT_ADMIN_ACTION:
            time.sleep(_PAUSE_S)

    def _check_back_pressure(self, deadline_s: float | None) -> float | None:
        """Return the deadline, a new one if `deadline_s` is None; raise SendTimeoutError if it has passed.

        Returns None if there is no limit.
        """
        if self._back_pressure_timeout is None:
            return None
        now_s = time.monotonic()
        if deadline_s is not None and now_s >= deadline_s:
            raise SendTimeoutError(
                f"{self._publication.channel} stream {self._publication.stream_id} was back-pressured for "
                f"{self._back_pressure_timeout:g} s after {self._count()}: check that its subscribers read, remove "
                "those that do not, or use a longer timeout"
            )
        return deadline_s if deadline_s is not None else now_s + self._back_pressure_timeout

    def _check_connected(self, deadline_s: float | None) -> float | None:
        """Return the deadline, a new one if `deadline_s` is None; raise NotConnectedError if it has passed.

        Returns None if there is no limit.
        """
        if self._timeout is None:
            return None
        now_s = time.monotonic()
        if deadline_s is not None and now_s >= deadline_s:
            raise NotConnectedError(
                f"{self._publication.channel} stream {self._publication.stream_id} was not connected for "
                f"{self._timeout:g} s after {self._count()}: start its peer for the same channel and stream, or as "
                "many receivers as its flow control requires, or use a longer timeout"
            )
        return deadline_s if deadline_s is not None else now_s + self._timeout

    def _count(self) -> str:
        return f"{self.messages} message{'' if self.messages == 1 else 's'}"

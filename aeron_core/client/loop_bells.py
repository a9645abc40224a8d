"""Bells of event loops: coroutines that wait for messages of streams, and are woken by those that write them.

One descriptor for each event loop in which coroutines of one client wait. Not here: the masks and pipes (concurrent).
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from aeron_core._native.park import StreamBells
    from aeron_core.concurrent.wake_up import DriverBells, LoopPipe


class AwaitedImage(Protocol):
    """An image whose messages coroutines wait for."""

    @property
    def correlation_id(self) -> int:
        """The id of the image in the driver; in shared memory, that of the publication."""


class LoopBells:
    """The bells of the event loops that use one client; each loop calls `acquire` in its own thread."""

    def __init__(self, bells: DriverBells) -> None:
        self._bells = bells
        self._lock = threading.Lock()
        self._loops: dict[asyncio.AbstractEventLoop, LoopBell] = {}
        self._is_closed = False

    def acquire(self) -> LoopBell | None:
        """Return the bell of the running loop, which the caller releases; None if there is none for it.

        The operating system may refuse one, the driver may have none, or the client may be closed.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            bell = None if self._is_closed else self._loops.get(loop) or self._add(loop)
            return None if bell is None or not bell.begin() else bell

    def release(self, bell: LoopBell) -> None:
        """End a use of a bell of the running loop; with the last one, the loop no longer watches its descriptor."""
        with self._lock:
            if bell.end() == 0 and self._is_closed:
                bell.close()

    def close(self) -> None:
        """Close the bells that nothing uses; the others follow with their last use. Any thread may call it."""
        with self._lock:
            self._is_closed = True
            for bell in self._loops.values():
                if bell.users == 0 or bell.loop.is_closed():
                    bell.close()
            self._loops.clear()

    def _add(self, loop: asyncio.AbstractEventLoop) -> LoopBell | None:
        # A closed loop does not watch anything: iterators that it has left unfinished do not count.
        for closed in [other for other in self._loops if other.is_closed()]:
            self._loops.pop(closed).close()
        pipe, streams = self._bells.claim_pipe(), self._bells.streams
        if pipe is None or streams is None:
            return None
        bell = self._loops[loop] = LoopBell(loop, pipe, streams)
        return bell


class LoopBell:
    """The bell of one event loop: ends the waits of its coroutines for the streams that have rung."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pipe: LoopPipe, streams: StreamBells) -> None:
        self.loop: Final = loop
        self.users = 0
        self._pipe = pipe
        self._streams = streams
        #: By the future that ends a wait: the images, and the time of the loop at which it ends at the latest.
        self._waits: dict[asyncio.Future[None], tuple[tuple[AwaitedImage, ...], float]] = {}
        # Number of waits by the mask of an image.
        self._counts: dict[int, int] = {}
        # One timer for all waits, which most messages leave running: it fires at the first of their ends or before.
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> bool:
        """Count a use, and have the loop watch the descriptor; return False if it cannot watch any."""
        if self.users == 0:
            try:
                self.loop.add_reader(self._pipe.fd, self._on_ready)
            except (NotImplementedError, OSError):
                return False
        self.users += 1
        return True

    def end(self) -> int:
        """End a use, and return the number of the others."""
        self.users -= 1
        if self.users == 0 and not self.loop.is_closed():
            self.loop.remove_reader(self._pipe.fd)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return self.users

    def close(self) -> None:
        """Close the descriptor, which the loop does not watch any more."""
        self._pipe.close()

    def arm(self, images: tuple[AwaitedImage, ...]) -> bool:
        """Have the next message of each image ring; return whether one did not yet: then poll before `wait`."""
        is_new = False
        for image in images:
            correlation_id = image.correlation_id
            if self._streams.arm(correlation_id, self._pipe.number):
                is_new = True
                mask = self._streams.index(correlation_id)
                if mask in self._counts:
                    # Another coroutine waits for the mask, which has just rung: `_on_ready` would find it armed.
                    self._end_waits(mask)
        return is_new

    async def wait(self, images: tuple[AwaitedImage, ...], limit_s: float) -> None:
        """Wait until one of the images rings, at most `limit_s` seconds."""
        loop = self.loop
        future, end_s = loop.create_future(), loop.time() + limit_s
        self._waits[future] = images, end_s
        counts = self._counts
        masks = [self._streams.index(image.correlation_id) for image in images]
        for mask in masks:
            counts[mask] = counts.get(mask, 0) + 1
        if self._timer is None or end_s < self._timer.when():
            self._set_timer(end_s)
        try:
            await future
        finally:
            del self._waits[future]
            for mask in masks:
                left = counts.pop(mask) - 1
                if left:
                    counts[mask] = left

    def _on_ready(self) -> None:
        if not self._pipe.is_claimed:
            # The client was closed, or the driver has missed it: the ring may be for the next owner of the pipe.
            self.loop.remove_reader(self._pipe.fd)
            for future in self._waits:
                _end(future)
            return
        self._pipe.drain()
        is_armed, number = self._streams.is_armed, self._pipe.number
        for future, (images, _) in self._waits.items():
            for image in images:
                # A ring clears the mask: other coroutines of the loop wait on.
                if not is_armed(image.correlation_id, number):
                    _end(future)
                    break

    def _end_waits(self, mask: int) -> None:
        for future, (images, _) in self._waits.items():
            if any(self._streams.index(image.correlation_id) == mask for image in images):
                _end(future)

    def _on_timer(self) -> None:
        self._timer = None
        now_s = self.loop.time()
        for future, (_, end_s) in self._waits.items():
            if end_s <= now_s:
                _end(future)
        self._set_timer(min((end_s for _, end_s in self._waits.values() if end_s > now_s), default=None))

    def _set_timer(self, end_s: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if end_s is None else self.loop.call_at(end_s, self._on_timer)


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

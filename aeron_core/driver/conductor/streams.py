"""The publications or images of a driver, in the order of their creation, and by stream id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from aeron_core.driver.conductor.stream_errors import record_stream_error

if TYPE_CHECKING:
    from aeron_core.driver.conductor.lifecycle import StreamLifecycle

_Lifecycle = TypeVar("_Lifecycle", bound="StreamLifecycle")


class Streams(Generic[_Lifecycle]):
    """Lifecycles of streams; adding one costs as little with thousands as with one. Used by the conductor only."""

    def __init__(self) -> None:
        # A dictionary, because it keeps the order and removes from any place.
        self._all: dict[int, _Lifecycle] = {}
        self._by_stream_id: dict[int, list[_Lifecycle]] = {}

    def __iter__(self) -> Iterator[_Lifecycle]:
        return iter(self._all.values())

    def add(self, lifecycle: _Lifecycle) -> None:
        """Add a stream, which comes after all others."""
        self._all[id(lifecycle)] = lifecycle
        self._by_stream_id.setdefault(lifecycle.stream_id, []).append(lifecycle)

    def of(self, stream_id: int) -> Sequence[_Lifecycle]:
        """Return those with a stream id."""
        return self._by_stream_id.get(stream_id, ())

    def take_ended(self, now_ns: int) -> list[_Lifecycle]:
        """Advance all streams; remove those that have ended, and return them.

        The error of one stream is recorded and does not stop the others.
        """
        ended = []
        for lifecycle in list(self):
            try:
                if lifecycle.on_timer(now_ns):
                    ended.append(lifecycle)
            except Exception as error:
                record_stream_error(lifecycle.context, lifecycle, "timer of a stream", error)
        for lifecycle in ended:
            del self._all[id(lifecycle)]
            siblings = self._by_stream_id[lifecycle.stream_id]
            siblings.remove(lifecycle)
            if not siblings:
                del self._by_stream_id[lifecycle.stream_id]
        return ended

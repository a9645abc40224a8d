"""How old the messages are that a query has not read yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from aeron_core.errors import AeronError
from aeron_core.recording import Archive
from pyspark_aeron.pipeline.progress import Lag


class Ages:
    """Looks into the index of the recordings; one that cannot be read from here has no age."""

    def __init__(self, archives: Iterable[str], clock: Callable[[], int] = time.time_ns) -> None:
        self._places = tuple(dict.fromkeys(archives))
        self._clock = clock
        self._archives: dict[str, Archive] | None = None

    def __call__(self, lag: Lag) -> float:
        """Return the seconds since the first message of `lag` was recorded."""
        archive = self._by_uuid().get(lag.archive)
        if archive is None:
            return 0.0
        try:
            recorded_ns = archive.recording(lag.recording_id).time_behind(lag.read_position)
        except AeronError:
            return 0.0
        return max(self._clock() - recorded_ns, 0) / 1e9

    def _by_uuid(self) -> dict[str, Archive]:
        if self._archives is None:
            self._archives = {}
            for place in self._places:
                try:
                    archive = Archive.open(place)
                except AeronError:
                    continue
                self._archives[archive.uuid] = archive
        return self._archives

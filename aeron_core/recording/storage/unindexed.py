"""Recording of an Aeron Archive, which has no files with times and checksums beside its segments."""

from __future__ import annotations

from typing import Final

import numpy as np

from aeron_core.recording.storage.index import ENTRY, IndexEntries
from aeron_core.recording.storage.recording import Recording

_NO_ENTRIES: Final[IndexEntries] = np.empty(0, ENTRY)


class UnindexedRecording(Recording):
    """A recording without an index; its only recording times are those of its start and its stop."""

    is_preallocated = True
    has_one_session = False
    has_index = False

    def index_entries(self, base_position: int) -> IndexEntries:
        """Return no entries."""
        return _NO_ENTRIES

    def all_index_entries(self, base_position: int) -> IndexEntries:
        """Return no entries."""
        return _NO_ENTRIES

    def covering_entries(self, position: int) -> tuple[int, IndexEntries]:
        """Return the beginning of the segment of `position`, and no entries."""
        return self.first_position(self.segment_base(position)), _NO_ENTRIES

    def required_cover(self, base: int) -> int:
        """Return the beginning of the segment: no part of it has a checksum in an index."""
        return self.first_position(base)

    def position_at(self, time_ns: int) -> int:
        """Return the end of the recording if it was stopped before `time_ns`, since the epoch; otherwise its start."""
        stop_time_ns = self.descriptor.stop_time_ns
        return self.position if stop_time_ns is not None and stop_time_ns < time_ns else self.start_position

    def time_behind(self, position: int) -> int:
        """Return the time of the recording's start, in nanoseconds since the epoch."""
        return self.descriptor.start_time_ns

"""Deletion of segment files, some in each duty cycle, after which the client receives the signal DELETE.

Source: DeleteSegmentsSession.java.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core.archive.server.files.segment_files import base_in
from aeron_core.protocol.archive.codes import RecordingSignal
from aeron_core.recording.storage.file_store import write_failure

if TYPE_CHECKING:
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession

#: Files of one duty cycle. An invented number: a file of the longest length takes milliseconds.
_FILE_LIMIT: Final = 4


class Deletion:
    """Files of one recording that are being deleted; the archive's thread uses it."""

    def __init__(
        self,
        archive: ServedArchive,
        session: ServedSession,
        correlation_id: int,
        recording_id: int,
        paths: Iterable[Path],
    ) -> None:
        self.is_done = False
        self.recording_id = recording_id
        self._archive = archive
        self._session = session
        self._correlation_id = correlation_id
        self._paths = deque(paths)
        #: The position of the last segment that is deleted, -1 if there is none.
        self.last_base = max((base_in(path.name) or 0 for path in self._paths), default=-1)

    def do_work(self, now_ms: int) -> int:
        """Delete the next files, once no replay reads them; return their number."""
        if any(
            replay.recording_id == self.recording_id and replay.segment_base <= self.last_base
            for replay in self._archive.replays.values()
        ):
            return 0
        work = 0
        while self._paths and work < _FILE_LIMIT:
            path = self._paths.popleft()
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                failure = write_failure("delete", path, error)
                self._archive.report(failure)
                self._session.refuse(self._correlation_id, str(failure))
            work += 1
        if not self._paths:
            self.is_done = True
            self._session.signal(RecordingSignal.DELETE, self._correlation_id, self.recording_id)
        return work

    def close(self) -> None:
        """Leave the rest of the files: they belong to no recording."""
        self.is_done = True

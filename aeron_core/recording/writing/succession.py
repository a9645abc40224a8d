"""Lets a recorder take over from one that has died, or left, without waiting until the driver takes that for dead.

The archive says which clients of which driver have recorded into it and have not ended in order. Who holds the
archive's lock knows that none of them records any more, and that their processes have ended or say so themselves.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from aeron_core.client.aeron import Aeron
from aeron_core.errors import RecordingNotFoundError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.file_store import FileStore

#: Until then the driver has told a new recorder of the images that there are. An invented number: some duty cycles
#: of driver and client; too early would only mean that frames are read from behind the window.
_SETTLE_NS: Final = 200_000_000


class _RecorderFile(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    driver: str  # of which the ids are, and since when it runs
    client_ids: list[int]


class Succession:
    """The recorder of an archive, and those before it; for the holder of the archive's lock."""

    def __init__(self, store: FileStore, aeron: Aeron, now_ns: int) -> None:
        """Say in the archive that this client records; raises RecordingError where the disk fails."""
        self._store = store
        self._aeron = aeron
        self._driver = aeron.driver_identity
        self._due_ns = now_ns + _SETTLE_NS
        known = _read(store)
        self._before = known.client_ids if known is not None and known.driver == self._driver else []
        self._write([*self._before, aeron.client_id])

    def do_work(self, now_ns: int) -> None:
        """Have the driver give up those before, once it is time; raises AeronError."""
        if not self._before or now_ns < self._due_ns:
            return
        before, self._before = self._before, []
        for client_id in before:
            self._aeron.retire_client(client_id)
        self._write([self._aeron.client_id])

    def end(self) -> None:
        """Say that this client lives on and records no more; raises RecordingError where the disk fails."""
        self._write(self._before)

    def _write(self, client_ids: list[int]) -> None:
        document = _RecorderFile(driver=self._driver, client_ids=client_ids)
        self._store.write(names.RECORDER, document.model_dump_json().encode() + b"\n")


def last_driver(store: FileStore) -> str | None:
    """Return which driver the last recorder of the archive had, None where nobody knows."""
    known = _read(store)
    return None if known is None else known.driver


def _read(store: FileStore) -> _RecorderFile | None:
    try:
        return _RecorderFile.model_validate_json(store.read(names.RECORDER))
    except (RecordingNotFoundError, ValidationError):
        return None  # without it a successor waits

"""Succession: lets a recorder replace one that died or left, without waiting for the client liveness timeout.

The archive stores the identity of a driver, and the ids of its clients that recorded into the archive and did not
remove their id at the end. The holder of the recorder lock may close them: none of them records any more.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from aeron_core.client.aeron import Aeron
from aeron_core.errors import RecordingNotFoundError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.file_store import FileStore

#: Time until the driver has sent all existing images to a new recorder. An invented number: some duty cycles of driver
#: and client; if it is too short, frames may be overwritten before the new recorder reads them.
_SETTLE_NS: Final = 200_000_000
#: Time between retries after an error. An invented number: the predecessors block their streams until then.
_RETRY_NS: Final = 1_000_000_000


class _RecorderFile(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    driver: str  # identity of the driver process of the ids
    client_ids: list[int]


class Succession:
    """The client of the recorder and those of its predecessors; used by the holder of the recorder lock."""

    def __init__(self, store: FileStore, aeron: Aeron, now_ns: int) -> None:
        """Read the ids of predecessors from the archive; raises RecordingError if the disk fails."""
        self._store = store
        self._aeron = aeron
        self._driver = aeron.driver_identity
        self._due_ns = now_ns + _SETTLE_NS
        known = _read(store)
        self._before = list(known.client_ids) if known is not None and known.driver == self._driver else []
        self._is_due = True

    def begin(self) -> None:
        """Store the id of this client in the archive; raises RecordingError if the disk fails: `do_work` retries."""
        self._write([*self._before, self._aeron.client_id])
        self._is_due = bool(self._before)

    def do_work(self, now_ns: int) -> None:
        """Close the clients of predecessors in the driver and remove their ids, once the settle time is over.

        Raises AeronError if the client is closed, the driver does not take the command, or the disk fails; the rest is
        due again a second later.
        """
        if not self._is_due or now_ns < self._due_ns:
            return
        self._due_ns = now_ns + _RETRY_NS
        while self._before:
            self._aeron.retire_client(self._before[0])
            del self._before[0]
        self._write([self._aeron.client_id])
        self._is_due = False

    def end(self) -> None:
        """Remove the id of this client, which is about to close, from the archive.

        Raises RecordingError if the disk fails.
        """
        self._write(self._before)

    def _write(self, client_ids: list[int]) -> None:
        document = _RecorderFile(driver=self._driver, client_ids=client_ids)
        self._store.write(names.RECORDER, document.model_dump_json().encode() + b"\n")


def last_driver(store: FileStore) -> str | None:
    """Return the identity of the last recorder's driver, None if unknown."""
    known = _read(store)
    return None if known is None else known.driver


def _read(store: FileStore) -> _RecorderFile | None:
    try:
        return _RecorderFile.model_validate_json(store.read(names.RECORDER))
    except (RecordingNotFoundError, ValidationError):
        return None  # without it, a successor waits for the liveness timeout

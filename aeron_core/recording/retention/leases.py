"""Leases: positions of readers, which hold back the purge of unread data.

A reader renews its lease regularly; a lease that was not renewed within the timeout is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aeron_core.errors import ConfigurationError, CorruptRecordingError, RecordingNotFoundError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.descriptor import first_fault
from aeron_core.recording.storage.file_store import FileStore
from aeron_core.uri.values import INT64_MAX

#: An invented number: long enough to repair a reader that failed at a weekend, and bounded, so that an abandoned
#: reader does not fill the disk.
DEFAULT_LEASE_TIMEOUT_NS: Final = 7 * 86400 * 1_000_000_000

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SUFFIX: Final = ".json"


class Lease(BaseModel):
    """A reader's positions by recording id; the reader needs all data from these positions on."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    name: str
    positions: dict[int, Annotated[int, Field(ge=0)]]
    updated_ns: Annotated[int, Field(ge=0, le=INT64_MAX)]  # since the epoch

    def is_valid(self, now_ns: int, timeout_ns: int = DEFAULT_LEASE_TIMEOUT_NS) -> bool:
        """Return whether the lease was renewed less than `timeout_ns` ago."""
        return now_ns - self.updated_ns < timeout_ns


def write_lease(store: FileStore, name: str, positions: Mapping[int, int], now_ns: int) -> Lease:
    """Write or renew the lease of a reader and return it; `positions`: by recording id, `now_ns`: since the epoch.

    Raises ConfigurationError for an invalid name, RecordingError if a local disk fails, OSError if a remote store
    fails.
    """
    lease = Lease(name=_checked(name), positions=dict(positions), updated_ns=now_ns)
    store.write(_file(name), lease.model_dump_json().encode() + b"\n")
    return lease


def read_lease(store: FileStore, name: str) -> Lease | None:
    """Return the lease of a reader, None if it has none.

    Raises CorruptRecordingError for a damaged file, ConfigurationError for an invalid name.
    """
    file = _file(_checked(name))
    try:
        return Lease.model_validate_json(store.read(file))
    except RecordingNotFoundError:
        return None
    except ValidationError as error:
        raise CorruptRecordingError(
            f"{store.uri}/{file}: {first_fault(error, 'lease')}; repair the file, or delete it if its reader needs no "
            "unread data"
        ) from None


def read_leases(store: FileStore) -> list[Lease]:
    """Return all leases, sorted by file name, expired ones too.

    Files that are not named like a lease are ignored. Raises CorruptRecordingError for a damaged file, because its
    reader may need any data.
    """
    consumers = (
        name.removesuffix(_SUFFIX) for name in store.names(names.CONSUMERS) if name.endswith(_SUFFIX)
    )
    found = (read_lease(store, name) for name in consumers if _NAME.fullmatch(name))
    return [lease for lease in found if lease is not None]


def needed_from(
    leases: Iterable[Lease], recording_id: int, now_ns: int, timeout_ns: int = DEFAULT_LEASE_TIMEOUT_NS
) -> tuple[int, str] | None:
    """Return the lowest position that a valid lease needs, and the lease's name; None if none has the recording."""
    held = [
        (lease.positions[recording_id], lease.name)
        for lease in leases
        if recording_id in lease.positions and lease.is_valid(now_ns, timeout_ns)
    ]
    return min(held, default=None)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"consumer name {name!r}: must be 1 to 128 letters, digits, dots, dashes and underscores, and begin "
            "with a letter or digit"
        )
    return name


def _file(name: str) -> str:
    return f"{names.CONSUMERS}/{name}{_SUFFIX}"

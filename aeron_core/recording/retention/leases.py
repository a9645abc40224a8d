"""How far readers are: what they have not read yet is not purged.

A reader writes its lease again and again; one that was not renewed for long holds nothing any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aeron_core.errors import ConfigurationError, CorruptRecordingError, RecordingNotFoundError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.file_store import FileStore

#: An invented number: a reader that breaks down on a Friday is mended by Monday, and one that is gone for good
#: does not fill the disk for ever.
DEFAULT_LEASE_TIMEOUT_NS: Final = 7 * 86400 * 1_000_000_000

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SUFFIX: Final = ".json"


class Lease(BaseModel):
    """One reader's positions, by recording id: it needs all from there on."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    name: str
    positions: dict[int, Annotated[int, Field(ge=0)]]
    updated_ns: int  # since the epoch

    def is_valid(self, now_ns: int, timeout_ns: int = DEFAULT_LEASE_TIMEOUT_NS) -> bool:
        """Return whether it was renewed within the timeout."""
        return now_ns - self.updated_ns < timeout_ns


def write_lease(store: FileStore, name: str, positions: Mapping[int, int], now_ns: int) -> Lease:
    """Say how far a reader is, in the place of what it said before; raises ConfigurationError for its name."""
    lease = Lease(name=_checked(name), positions=dict(positions), updated_ns=now_ns)
    store.write(_file(name), lease.model_dump_json().encode() + b"\n")
    return lease


def read_lease(store: FileStore, name: str) -> Lease | None:
    """Return a reader's lease, None where it has none; raises CorruptRecordingError."""
    file = _file(_checked(name))
    try:
        return Lease.model_validate_json(store.read(file))
    except RecordingNotFoundError:
        return None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"]
        raise CorruptRecordingError(f"{store.uri}/{file}: {fault}; mend or delete it") from None


def read_leases(store: FileStore) -> list[Lease]:
    """Return all leases by name, those too that hold nothing any more; raises CorruptRecordingError."""
    found = (
        read_lease(store, name.removesuffix(_SUFFIX))
        for name in store.names(names.CONSUMERS)
        if name.endswith(_SUFFIX) and not name.startswith(".")
    )
    return [lease for lease in found if lease is not None]


def delete_lease(store: FileStore, name: str) -> None:
    """Let a reader hold nothing any more."""
    store.delete(_file(_checked(name)))


def needed_from(
    leases: Iterable[Lease], recording_id: int, now_ns: int, timeout_ns: int = DEFAULT_LEASE_TIMEOUT_NS
) -> tuple[int, str] | None:
    """Return from which position on a recording is needed, and by whom; None where nobody needs it."""
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

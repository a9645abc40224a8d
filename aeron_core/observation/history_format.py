"""Format of counter histories: the columns of the table, and the JSON documents in it.

A history is one table, as an Arrow IPC stream or a Parquet file. Each snapshot is one row for the driver, without a
counter, followed by a row for each counter:

    time             timestamp[ns, UTC]      when the snapshot was taken
    monotonic_ns     int64                   the same on the monotonic clock of the recorder, for differences
    counter_id       int32                   null for the row of the driver, as all columns below
    type_id          int32
    value            int64
    registration_id  int64
    owner_id         int64
    reference_id     int64
    label            dictionary of text      stored once; likewise the next two
    key              dictionary of binary
    details          dictionary of JSON      row of the driver only: errors, losses, logs, problems
    driver           JSON                    row of the driver only: the fields of `DriverState`

The metadata of the schema has the version of the format.
Not here: writing (`history_writer`) and reading (`history`). pyarrow, which is optional, is imported by functions only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from aeron_core.concurrent.error_log import ErrorRecord
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.errors import ConfigurationError
from aeron_core.observation.drivers import DriverState
from aeron_core.observation.log_parameters import LogParameters
from aeron_core.observation.snapshots import DriverSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

VERSION_KEY: Final = b"aeron-core.counter-history"
VERSION: Final = b"1"

_INT64: Final = range(-(1 << 63), 1 << 63)
_Fields = Mapping[str, tuple[type | None, ...]]

_DRIVER: Final[_Fields] = {
    "aeron_dir": (str,),
    "is_alive": (bool,),
    "pid": (int, None),
    "cnc_version": (str,),
    "software": (str,),
    "start_timestamp_ms": (int, None),
    "heartbeat_age_ms": (int, None),
    "problem": (str,),
}
_ERROR: Final[_Fields] = {
    "observation_count": (int,),
    "first_observation_ms": (int,),
    "last_observation_ms": (int,),
    "text": (str,),
    "last_peer": (str,),
}
_LOSS: Final[_Fields] = {
    "observation_count": (int,),
    "total_bytes_lost": (int,),
    "first_observation_ms": (int,),
    "last_observation_ms": (int,),
    "session_id": (int,),
    "stream_id": (int,),
    "channel": (str,),
    "source": (str,),
}
_LOG: Final[_Fields] = {
    "term_length": (int,),
    "mtu": (int,),
    "publisher_window": (int, None),
    "receiver_window": (int, None),
    "is_connected": (bool,),
}


def imported_pyarrow(path: Path) -> ModuleType:
    """Return pyarrow; raise ConfigurationError, which names the history `path`, if it is not installed."""
    try:
        import pyarrow  # noqa: PLC0415 - optional
    except ImportError:
        raise ConfigurationError(
            f"{path}: a history needs pyarrow, which is not installed: pip install 'aeron-core[arrow]'"
        ) from None
    return pyarrow  # type: ignore[no-any-return]


def history_schema() -> pa.Schema:
    """Return the schema of a history; pyarrow must be installed."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    columns = {
        "time": pa.timestamp("ns", "UTC"),
        "monotonic_ns": pa.int64(),
        "counter_id": pa.int32(),
        "type_id": pa.int32(),
        "value": pa.int64(),
        "registration_id": pa.int64(),
        "owner_id": pa.int64(),
        "reference_id": pa.int64(),
        "label": pa.dictionary(pa.int32(), pa.utf8()),
        "key": pa.dictionary(pa.int32(), pa.binary()),
        "details": pa.dictionary(pa.int32(), pa.utf8()),
        "driver": pa.utf8(),
    }
    return pa.schema(list(columns.items()), metadata={VERSION_KEY: VERSION})


def driver_text(state: DriverState) -> str:
    """Return a driver as JSON."""
    return _text({**asdict(state), "aeron_dir": str(state.aeron_dir)})


def details_text(snapshot: DriverSnapshot) -> str:
    """Return errors, losses, logs and problems of a snapshot as JSON."""
    return _text(
        {
            "errors": [asdict(each) for each in snapshot.errors],
            "losses": [asdict(each) for each in snapshot.losses],
            "logs": {str(identity): asdict(log) for identity, log in snapshot.logs.items()},
            "problems": list(snapshot.problems),
        }
    )


def driver_of(text: str) -> DriverState:
    """Return the driver of a JSON document; raise ValueError or TypeError unless it is one."""
    fields: Any = _checked(json.loads(text), _DRIVER)
    return DriverState(**{**fields, "aeron_dir": Path(fields["aeron_dir"])})


def details_of(text: str) -> dict[str, Any]:
    """Return the arguments of a snapshot in a JSON document; raise ValueError or TypeError unless it is one."""
    found = json.loads(text)
    if not isinstance(found, dict) or found.keys() != {"errors", "losses", "logs", "problems"}:
        raise ValueError("must be an object with errors, losses, logs and problems")
    return {
        "errors": tuple(ErrorRecord(**_checked(each, _ERROR)) for each in found["errors"]),
        "losses": tuple(LossEntry(**_checked(each, _LOSS)) for each in found["losses"]),
        "logs": {int(name): LogParameters(**_checked(each, _LOG)) for name, each in found["logs"].items()},
        "problems": tuple(map(str, found["problems"])),
    }


def _text(document: Mapping[str, object]) -> str:
    # Escapes keep texts that are not UTF-8: file names may contain such bytes.
    return json.dumps(document, separators=(",", ":"))


def _checked(value: object, fields: _Fields) -> dict[str, Any]:
    """Return `value` if it is an object with exactly these fields and types; raise ValueError if not."""
    if not isinstance(value, dict) or value.keys() != fields.keys():
        raise ValueError(f"must be an object with {', '.join(fields)}")
    for name, kinds in fields.items():
        item = value[name]
        kind = None if item is None else type(item)
        if kind not in kinds or (kind is int and item not in _INT64):
            names = " or ".join("null" if each is None else each.__name__ for each in kinds)
            raise ValueError(f"{name}: must be {names}, numbers of at most 64 bits")
    return value

"""Snapshots as JSON, which a dashboard serves at `/snapshots` and another one reads.

    {"version": 1, "drivers": [{"time_ns", "monotonic_ns", "driver", "details", "counters"}]}

`driver` and `details` are the documents of a history of counters; each counter is an array with the fields of
`_COUNTER`, its key in base64 without the zeros at its end.
Invariant: whatever a document contains, `snapshots_of` returns sound snapshots or raises ProtocolError.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any, Final

from aeron_core._native import wire
from aeron_core.concurrent.counters import NOT_FREE_TO_REUSE, CounterRecord
from aeron_core.errors import ProtocolError
from aeron_core.observation.history_format import details_of, details_text, driver_of, driver_text
from aeron_core.observation.snapshots import DriverSnapshot

VERSION: Final = 1
#: Path of the document on a server.
SNAPSHOTS_PATH: Final = "/snapshots"
#: Drivers of a document, and counters of all of them. Invented: so many short ones take 0.8 s of a processor and 60 MB.
_MAX_DRIVERS: Final = 64
_MAX_COUNTERS: Final = 100_000
#: Values of a document, by the commas and opening brackets in its text. Invented: the most counters have ten each, and
#: labels have a few commas. Parsing takes far more memory than the text: 32 MiB of empty objects took 850 MB.
_MAX_VALUES: Final = 1_500_000
#: Characters of a directory: PATH_MAX of Linux. The page has it several times for each stream.
_MAX_PATH_LENGTH: Final = 4096
_INT64: Final = range(-(1 << 63), 1 << 63)
#: Numbers of a counter, in this order; its label and its key follow.
_COUNTER: Final = ("id", "type_id", "value", "registration_id", "owner_id", "reference_id")


def document_of_snapshots(snapshots: Iterable[DriverSnapshot]) -> bytes:
    """Return a document with these snapshots."""
    drivers = [
        {
            "time_ns": each.time_ns,
            "monotonic_ns": each.monotonic_ns,
            "driver": driver_text(each.driver),
            "details": details_text(each),
            "counters": [
                [
                    *(getattr(record, name) for name in _COUNTER),
                    record.label,
                    base64.b64encode(record.key.rstrip(b"\0")).decode(),
                ]
                for record in each.counters
            ],
        }
        for each in snapshots
    ]
    return json.dumps({"version": VERSION, "drivers": drivers}, separators=(",", ":")).encode()


def snapshots_of(data: bytes) -> list[DriverSnapshot]:
    """Return the snapshots of a document; raise ProtocolError unless it is one."""
    try:
        values = sum(map(data.count, (b",", b"[", b"{")))
        if values > _MAX_VALUES:
            raise ValueError(f"{values} values: must be at most {_MAX_VALUES}")
        found = json.loads(data)
        if not isinstance(found, dict) or found.get("version") != VERSION:
            raise ValueError(f"must be an object with version {VERSION}")
        drivers = found["drivers"][:_MAX_DRIVERS]
        count = sum(len(each["counters"]) for each in drivers)
        if count > _MAX_COUNTERS:
            raise ValueError(f"{count} counters: must be at most {_MAX_COUNTERS}")
        return [_snapshot_of(each) for each in drivers]
    # Any of these may follow from another structure.
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, binascii.Error) as error:
        raise ProtocolError(f"no snapshots of a dashboard: {str(error)[:200]}") from error


def _snapshot_of(found: Any) -> DriverSnapshot:
    driver = driver_of(found["driver"])
    length = len(str(driver.aeron_dir))
    if length > _MAX_PATH_LENGTH:
        raise ValueError(f"a directory has {length} characters: must have at most {_MAX_PATH_LENGTH}")
    return DriverSnapshot(
        _checked(found["time_ns"]),
        _checked(found["monotonic_ns"]),
        driver,
        tuple(map(_record_of, found["counters"])),
        **details_of(found["details"]),
    )


def _record_of(found: Any) -> CounterRecord:
    *numbers, label, key = found
    counter_id, type_id, value, registration_id, owner_id, reference_id = map(_checked, numbers)
    return CounterRecord(
        counter_id,
        wire.COUNTER_STATE_ALLOCATED,
        type_id,
        NOT_FREE_TO_REUSE,
        base64.b64decode(key, validate=True)[: wire.COUNTER_KEY_MAX_LENGTH].ljust(
            wire.COUNTER_KEY_MAX_LENGTH, b"\0"
        ),
        str(label),
        value,
        registration_id,
        owner_id,
        reference_id,
    )


def _checked(number: object) -> int:
    if type(number) is not int or number not in _INT64:
        raise ValueError(f"{str(number)[:40]}: must be a number of at most 64 bits")
    return number

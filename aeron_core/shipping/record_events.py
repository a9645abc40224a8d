"""JSON events from log records, with the attributes that the program passed as `extra`."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from typing import Final

from aeron_core.shipping.events import timestamp_of

_US_PER_S: Final = 1_000_000
_NS_PER_US: Final = 1_000
#: Attributes of every record; all others were passed as `extra`.
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class RecordEvents:
    """Event maker for log records; `fields` are added to each event and replace its own fields of the same name."""

    def __init__(self, host: str, fields: Mapping[str, object]) -> None:
        """Set the host name and the fields of all events; raise ValueError or TypeError if `fields` are not JSON."""
        json.dumps(fields, allow_nan=False)
        self._host = host
        self._fields = dict(fields)

    def __call__(self, record: logging.LogRecord) -> bytes:
        """Return the event of a record as JSON in UTF-8.

        Raises the errors of `LogRecord.getMessage`, for arguments that do not fit the message.
        """
        event: dict[str, object] = {
            "@timestamp": timestamp_of(round(record.created * _US_PER_S) * _NS_PER_US),
            "message": record.getMessage(),
            "log": {
                "level": record.levelname.lower(),
                "logger": record.name,
                "origin": {
                    "file": {"name": record.pathname, "line": record.lineno},
                    "function": record.funcName,
                },
            },
            "process": {
                "pid": record.process,
                "name": record.processName,
                "thread": {"id": record.thread, "name": record.threadName},
            },
            "host": {"name": self._host},
        }
        if (error := _error_of(record)) is not None:
            event["error"] = error
        extra = {key: value for key, value in vars(record).items() if key not in _OWN}
        if extra:
            event["extra"] = extra
        event.update(self._fields)
        return _encoded(event, extra)


def _error_of(record: logging.LogRecord) -> dict[str, str] | None:
    error: dict[str, str] = {}
    if record.exc_info and record.exc_info[1] is not None:
        exception = record.exc_info[1]
        kind = type(exception)
        error["type"] = (
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        )
        error["message"] = str(exception)
        error["stack_trace"] = "".join(traceback.format_exception(exception))
    elif record.exc_text:
        error["stack_trace"] = record.exc_text
    if record.stack_info:
        error.setdefault("stack_trace", record.stack_info)
    return error or None


def _encoded(event: dict[str, object], extra: Mapping[str, object]) -> bytes:
    try:
        text = json.dumps(event, ensure_ascii=False, allow_nan=False, default=str)
    except (ValueError, TypeError):
        # NaN, a cyclic structure or an invalid key: fall back to repr.
        event["extra"] = {str(key): repr(value) for key, value in extra.items()}
        text = json.dumps(event, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace")

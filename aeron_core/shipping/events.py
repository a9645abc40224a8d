"""Messages from lines: JSON events in the format of log collectors, or the bytes of the line."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.shipping.line_splitter import Line

#: Returns the message for a line, the path of its file, and the time of reading in ns since the epoch.
EventMaker = Callable[[Line, str, int], bytes]

_NS_PER_MS: Final = 1_000_000
#: JSON white space. Source: RFC 8259, section 2.
_BLANK: Final = b" \t\r\n"


def timestamp_of(time_ns: int) -> str:
    """Return a time in ns since the epoch as ISO 8601 in UTC, truncated to milliseconds."""
    ms = time_ns // _NS_PER_MS
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}Z"


def raw_event(line: Line, _path: str, _time_ns: int) -> bytes:
    """Return the bytes of the line, without its line end."""
    return line.payload


def raw_object(line: Line, path: str, _time_ns: int) -> bytes:
    """Return the bytes of the line, without its line end.

    Raises ConfigurationError unless it begins with `{` and ends with `}`, apart from JSON white space.
    """
    payload = line.payload.strip(_BLANK)
    if not (payload.startswith(b"{") and payload.endswith(b"}")):
        raise ConfigurationError(
            f"the line at byte {line.offset} of {path} is not a JSON object, and the channel accepts only JSON "
            "objects; add wrap=true to the channel to send any line; if this is a piece of a longer line, raise the "
            "maximum line length, or term-length= of the channel"
        )
    return line.payload


class JsonEvents:
    """Event maker for `{"@timestamp", "message", "log": {"offset", "file": {"path"}}, "host": {"name"}}`."""

    def __init__(self, host: str) -> None:
        self._host = json.dumps(host, ensure_ascii=False)
        self._time = (-1, "")  # ms and text of the last event, reused because many lines are read at once
        self._path = ("", "")

    def __call__(self, line: Line, path: str, time_ns: int) -> bytes:
        """Return the message for a line read at `time_ns`, since the epoch, as UTF-8; invalid bytes become U+FFFD."""
        if self._time[0] != time_ns // _NS_PER_MS:
            self._time = (time_ns // _NS_PER_MS, timestamp_of(time_ns))
        if self._path[0] != path:
            text = path.encode(errors="surrogateescape").decode(errors="replace")
            self._path = (path, json.dumps(text, ensure_ascii=False))
        message = json.dumps(line.payload.decode(errors="replace"), ensure_ascii=False)
        return (
            f'{{"@timestamp":"{self._time[1]}","message":{message},"log":{{"offset":{line.offset},'
            f'"file":{{"path":{self._path[1]}}}}},"host":{{"name":{self._host}}}}}'
        ).encode()

"""Says in words why a connection cannot go on, or has ended, and which parameter would have it otherwise."""

from __future__ import annotations

from typing import Final

from aeron_media.lumberjack._native import end_reasons, faults

_TEXTS: Final = {
    faults.NO_FAULT: "no fault",
    faults.WRONG_VERSION: "version {value:#04x}: must be 0x31 ('1') or 0x32 ('2')",
    faults.WRONG_TYPE: "frame type {value:#04x}: not one that this end is sent",
    faults.EMPTY_EVENT: "J frame of length 0: must hold a JSON value",
    faults.EVENT_TOO_LONG: "event of {value} bytes: at most {limit}; max-event= sets it, and "
    "term-length= / 8, and rcv-wnd= / 2",
    faults.FRAME_TOO_LONG: "frame of {value} bytes or more: at most {limit}; max-frame= sets it",
    faults.TOO_MANY_PAIRS: "D frame of {value} pairs: at most {limit}; max-pairs= sets it",
    faults.COMPRESSED_TOO_LONG: "C frame of {value} bytes: at most {limit}; max-compressed= sets it",
    faults.INFLATED_TOO_LONG: "C frame inflates to {value} bytes or more: at most {limit}; max-inflated= sets it",
    faults.RATIO_TOO_HIGH: "C frame inflates to {value} times its length: at most {limit}; max-ratio= sets it",
    faults.NESTED_TOO_DEEP: "C frame within C frames, {value} deep: at most {limit}; max-nesting= sets it",
    faults.BROKEN_COMPRESSION: "C frame with a payload that is no zlib stream, after {value} bytes of it",
    faults.CUT_COMPRESSION: "C frame that ends before its zlib stream does, after {value} bytes of it",
    faults.CUT_FRAME: "C frame that ends within a frame, of which {value} bytes are there",
    faults.BUDGET_SPENT: "no memory is left: connections hold {value} bytes of {limit}; max-memory= sets it",
    faults.WINDOW_TOO_LARGE: "window of {value} events: at most {limit}; max-window= sets it",
    faults.EVENT_OUTSIDE_WINDOW: "event {value}: its window had only {limit}",
    faults.NO_JSON_OBJECT: "message of {value} bytes: must be a JSON object; wrap=true makes one of any bytes",
    faults.SINK_FAILED: "event {value}: cannot be taken",
    end_reasons.UNFINISHED: "a window of {limit} events lacked {value}, or a frame its end, for longer than "
    "window-timeout=",
    end_reasons.NOT_READ: "the writer has not read its acknowledgements for longer than write-timeout=",
    end_reasons.NO_IMAGE: "no image could be made for it, or nobody subscribes to its session",
    end_reasons.ABANDONED: "all who subscribed to it are gone; the writer will send again what was not acknowledged",
    end_reasons.REJECTED: "a subscriber has rejected its image",
    end_reasons.NOT_ACKNOWLEDGED: "the reader has acknowledged nothing for longer than timeout=, with {value} "
    "windows owed",
    end_reasons.WRONG_ACK: "the reader acknowledges event {value} of a window of {limit}, or with version 1",
    end_reasons.CLOSED: "the reader has closed the connection, with {value} windows unacknowledged: they are "
    "sent again",
    end_reasons.NO_PROGRESS: "the reader has sent signs of life and acknowledged nothing for longer than "
    "progress-timeout=, "
    "with {value} windows owed",
    end_reasons.STALLED: "the reader has sent signs of life and acknowledged nothing for 5 minutes, with "
    "{value} windows "
    "owed; it is waited for unless progress-timeout= says how long",
    end_reasons.NOT_CONNECTED: "no connection came about within timeout=",
    end_reasons.TOO_LARGE: "a frame of {value} bytes or more, for which all connections may hold {limit}; "
    "max-memory= sets it",
    end_reasons.TOO_MANY: "{value} connections: at most {limit}; max-connections= sets it",
}


def fault_text(fault: int, value: int, limit: int) -> str:
    """Return one of `faults` or `ends` in words, lower case, with what was found and what is allowed."""
    return _TEXTS[fault].format(value=value, limit=limit)

"""Messages for `faults` and `end_reasons`, with the URI parameter that sets the limit if there is one."""

from __future__ import annotations

from typing import Final

from aeron_media.lumberjack._native import end_reasons, faults

_TEXTS: Final = {
    faults.NO_FAULT: "no fault",
    faults.WRONG_VERSION: "version {value:#04x}: must be 0x31 ('1') or 0x32 ('2'): the peer must use Lumberjack, and "
    "TLS only if this end does",
    faults.WRONG_TYPE: "frame type {value:#04x}: this side never receives it: a writer must send W, J, D or C frames, "
    "a reader A frames",
    faults.EMPTY_EVENT: "J frame of length 0: must hold a JSON value: check the writer",
    faults.EVENT_TOO_LONG: "event of {value} bytes: at most {limit} bytes; max-event=, an eighth of term-length= and "
    "half of rcv-wnd= limit it for a subscription; a publication must send shorter messages",
    faults.FRAME_TOO_LONG: "frame of {value} bytes or more: at most {limit} bytes; max-frame= sets it",
    faults.TOO_MANY_PAIRS: "D frame of {value} pairs: at most {limit}; max-pairs= sets it",
    faults.COMPRESSED_TOO_LONG: "C frame of {value} bytes: at most {limit} bytes; max-compressed= sets it",
    faults.INFLATED_TOO_LONG: "C frame inflates to {value} bytes or more: at most {limit} bytes; max-inflated= "
    "sets it",
    faults.RATIO_TOO_HIGH: "C frame inflates to {value} times its length or more: at most {limit}; max-ratio= sets it",
    faults.NESTED_TOO_DEEP: "C frame within C frames, {value} deep: at most {limit}; max-nesting= sets it",
    faults.BROKEN_COMPRESSION: "C frame with a payload that is not a zlib stream, found at offset {value}: check the "
    "compression of the writer",
    faults.CUT_COMPRESSION: "C frame that ends before its zlib stream does, at offset {value}: check the compression "
    "of the writer",
    faults.CUT_FRAME: "C frame that ends within another frame, at offset {value} of it: must hold whole frames: check "
    "the writer",
    faults.BUDGET_SPENT: "no memory left in the budget or in the process: all connections use {value} bytes of "
    "{limit}; max-memory= sets it",
    faults.WINDOW_TOO_LARGE: "window of {value} events: at most {limit}; max-window= sets it",
    faults.EVENT_OUTSIDE_WINDOW: "event {value}: outside of its window, whose number of events is {limit}: check the "
    "writer, which must send as many events as it announces",
    faults.NO_JSON_OBJECT: "message of length {value}: must be a JSON object; wrap=true wraps any message in one",
    faults.SINK_FAILED: "event {value}: its processing failed, so the connection is closed: see the other errors in "
    "this log",
    end_reasons.UNFINISHED: "the rest of a window (events missing: {value} of {limit}) or of a frame has not arrived "
    "within window-timeout=: check the writer, or increase window-timeout=",
    end_reasons.NOT_READ: "the writer has not read its acknowledgements for longer than write-timeout=: check the "
    "writer, or increase write-timeout=",
    end_reasons.NO_IMAGE: "no image: it could not be created, or no subscription accepts the session: see the other "
    "errors in this log, and session-id= of the subscriptions",
    end_reasons.ABANDONED: "all subscriptions to the stream are closed: add one, to which the writer will send "
    "unacknowledged events again",
    end_reasons.REJECTED: "a subscriber has rejected its image, so the connection is closed: look for the reason at "
    "the subscriber",
    end_reasons.NOT_ACKNOWLEDGED: "the reader has acknowledged nothing for longer than timeout= (unacknowledged "
    "windows: {value}): check the reader, or increase timeout=",
    end_reasons.WRONG_ACK: "acknowledgement of an event that the window does not have, or with version 1: the reader "
    "must acknowledge events of the window, with version 2",
    end_reasons.UNSENT_ACK: "acknowledgement of all events of a window that is not yet sent: the reader must "
    "acknowledge events that it has received",
    end_reasons.CLOSED: "the reader has closed the connection; unacknowledged windows are sent again (number: "
    "{value}); the log of the reader may have the reason",
    end_reasons.NO_PROGRESS: "the reader has sent keep-alives and acknowledged nothing for longer than "
    "progress-timeout= (unacknowledged windows: {value}): check the outputs of the reader, or increase "
    "progress-timeout=",
    end_reasons.STALLED: "the reader has sent keep-alives and acknowledged nothing for 5 minutes (unacknowledged "
    "windows: {value}); the connection stays open unless progress-timeout= limits it",
    end_reasons.NOT_CONNECTED: "not connected within timeout=: check that the reader can be reached, or increase "
    "timeout=",
    end_reasons.TOO_LARGE: "a frame of {value} bytes or more, but all connections may use {limit} bytes; "
    "max-memory= sets it",
    end_reasons.TOO_MANY: "{value} connections: at most {limit}; max-connections= sets it",
    end_reasons.TOO_MANY_OF_SOURCE: "{value} connections from one source: at most {limit}; max-per-source= sets it",
    end_reasons.EVICTED: "evicted for a new connection after no event for longer than eviction-timeout=: the maximum "
    "number of connections, {limit}, was reached; max-connections= sets it",
}


def fault_text(fault: int, value: int, limit: int) -> str:
    """Return the message for one of `faults` or `end_reasons`, with the value found and the limit.

    Raises KeyError for IDLE, which is no fault and has no message.
    """
    return _TEXTS[fault].format(value=value, limit=limit)

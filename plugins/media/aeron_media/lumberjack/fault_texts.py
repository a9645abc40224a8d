"""Messages for `faults` and `end_reasons`, with the URI parameter that sets the limit if there is one."""

from __future__ import annotations

from typing import Final

from aeron_media.lumberjack._native import end_reasons, faults

#: Text of the error log, and what was found. The text depends on limits of this end only: with values of the peer, each
#: would be an entry of the error log.
_TEXTS: Final = {
    faults.NO_FAULT: ("no fault", ""),
    faults.WRONG_VERSION: (
        "wrong version: must be 0x31 ('1') or 0x32 ('2'): the peer must use Lumberjack, and TLS only if this end does",
        "version {value:#04x}",
    ),
    faults.WRONG_TYPE: (
        "frame of a type that this side never receives: a writer must send W, J, D or C frames, a reader A frames",
        "frame type {value:#04x}",
    ),
    faults.EMPTY_EVENT: ("J frame of length 0: must hold a JSON value: check the writer", ""),
    faults.EVENT_TOO_LONG: (
        "event is too long: at most {limit} bytes; max-event=, an eighth of term-length= and half of rcv-wnd= limit it "
        "for a subscription; a publication must send shorter messages",
        "event of {value} bytes",
    ),
    faults.FRAME_TOO_LONG: (
        "frame is too long: at most {limit} bytes; max-frame= sets it",
        "frame of {value} bytes or more",
    ),
    faults.TOO_MANY_PAIRS: (
        "D frame of too many pairs: at most {limit}; max-pairs= sets it",
        "D frame of {value} pairs",
    ),
    faults.COMPRESSED_TOO_LONG: (
        "C frame is too long: at most {limit} bytes; max-compressed= sets it",
        "C frame of {value} bytes",
    ),
    faults.INFLATED_TOO_LONG: (
        "C frame inflates to too many bytes: at most {limit}; max-inflated= sets it",
        "C frame inflates to {value} bytes or more",
    ),
    faults.RATIO_TOO_HIGH: (
        "C frame inflates to too many times its length: at most {limit}; max-ratio= sets it",
        "C frame inflates to {value} times its length or more",
    ),
    faults.NESTED_TOO_DEEP: (
        "C frames are nested too deep: at most {limit}; max-nesting= sets it",
        "C frame within C frames, {value} deep",
    ),
    faults.BROKEN_COMPRESSION: (
        "C frame with a payload that is not a zlib stream: check the compression of the writer",
        "found at offset {value}",
    ),
    faults.CUT_COMPRESSION: (
        "C frame that ends before its zlib stream does: check the compression of the writer",
        "ends at offset {value}",
    ),
    faults.CUT_FRAME: (
        "C frame that ends within another frame: must hold whole frames: check the writer",
        "ends at offset {value} of the other frame",
    ),
    faults.BUDGET_SPENT: (
        "no memory left in the budget or in the process: all connections may use {limit} bytes; max-memory= sets it",
        "all connections use {value} bytes",
    ),
    faults.WINDOW_TOO_LARGE: (
        "window of too many events: at most {limit}; max-window= sets it",
        "window of {value} events",
    ),
    faults.EVENT_OUTSIDE_WINDOW: (
        "event outside of its window: check the writer, which must send as many events as it announces",
        "event {value} of a window of {limit} events",
    ),
    faults.NO_JSON_OBJECT: (
        "message that is not a JSON object: wrap=true wraps any message in one",
        "message of length {value}",
    ),
    faults.SINK_FAILED: (
        "the processing of an event failed, so the connection is closed: see the other errors in this log",
        "event {value}",
    ),
    end_reasons.UNFINISHED: (
        "the rest of a window or of a frame has not arrived within window-timeout=: check the writer, or increase "
        "window-timeout=",
        "events missing: {value} of {limit}",
    ),
    end_reasons.NOT_READ: (
        "the writer has not read its acknowledgements for longer than write-timeout=: check the writer, or increase "
        "write-timeout=",
        "",
    ),
    end_reasons.NO_IMAGE: (
        "no image: it could not be created, or no subscription accepts the session: see the other errors in this log, "
        "and session-id= of the subscriptions",
        "",
    ),
    end_reasons.ABANDONED: (
        "all subscriptions to the stream are closed: add one, to which the writer will send unacknowledged events "
        "again",
        "",
    ),
    end_reasons.REJECTED: (
        "a subscriber has rejected its image, so the connection is closed: look for the reason at the subscriber",
        "",
    ),
    end_reasons.NOT_ACKNOWLEDGED: (
        "the reader has acknowledged nothing for longer than timeout=: check the reader, or increase timeout=",
        "unacknowledged windows: {value}",
    ),
    end_reasons.WRONG_ACK: (
        "acknowledgement of an event that the window does not have, or with version 1: the reader must acknowledge "
        "events of the window, with version 2",
        "",
    ),
    end_reasons.UNSENT_ACK: (
        "acknowledgement of all events of a window that is not yet sent: the reader must acknowledge events that it "
        "has received",
        "",
    ),
    end_reasons.CLOSED: (
        "the reader has closed the connection; unacknowledged windows are sent again; the log of the reader may have "
        "the reason",
        "unacknowledged windows: {value}",
    ),
    end_reasons.NO_PROGRESS: (
        "the reader has sent keep-alives and acknowledged nothing for longer than progress-timeout=: check the outputs "
        "of the reader, or increase progress-timeout=",
        "unacknowledged windows: {value}",
    ),
    end_reasons.STALLED: (
        "the reader has sent keep-alives and acknowledged nothing for 5 minutes; the connection stays open unless "
        "progress-timeout= limits it",
        "unacknowledged windows: {value}",
    ),
    end_reasons.NOT_CONNECTED: (
        "not connected within timeout=: check that the reader can be reached, or increase timeout=",
        "",
    ),
    end_reasons.TOO_LARGE: (
        "a frame is larger than all connections may use: at most {limit} bytes; max-memory= sets it",
        "a frame of {value} bytes or more",
    ),
    end_reasons.TOO_MANY: ("too many connections: at most {limit}; max-connections= sets it", ""),
    end_reasons.TOO_MANY_OF_SOURCE: (
        "too many connections from one source: at most {limit}; max-per-source= sets it",
        "",
    ),
    end_reasons.EVICTED: (
        "evicted for a new connection after no event for longer than eviction-timeout=: the maximum number of "
        "connections, {limit}, was reached; max-connections= sets it",
        "",
    ),
}


def describe_fault(fault: int, value: int, limit: int) -> tuple[str, str]:
    """Return the message for one of `faults` or `end_reasons`, and a detail, which may be empty.

    The message is the same for all values that a peer can cause; `value` is in the detail. Raises KeyError for IDLE,
    which is no fault and has no message.
    """
    text, detail = _TEXTS[fault]
    return text.format(limit=limit), detail.format(value=value, limit=limit)

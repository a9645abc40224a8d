"""Pages of docs/wire: layouts with the offsets of the code and the meaning of each field.

All numbers come from `aeron_core._native.wire`. The generator fails if a constant of a structure has no meaning
here, or if a field overlaps the next one, so that a page cannot become outdated unnoticed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields

from aeron_core._native import wire
from aeron_core.protocol import commands, message, responses

Fields = Mapping[str, tuple[str, str]]
"""Type and meaning of each field; the key is the name of its constant without prefix and `_OFFSET`."""

_LENGTHS = {"u8": 1, "u16": 2, "i32": 4, "u32": 4, "i64": 8}

COMMON_HEADER: Fields = {
    "LENGTH": ("i32", "bytes of the frame including this header, before alignment; 0 in a heartbeat"),
    "VERSION": ("u8", "0"),
    "FLAGS": ("u8", "see each frame"),
    "TYPE": ("u16", "see the table of types"),
}
STREAM: Fields = {
    "SESSION_ID": ("i32", "session: one publication of the stream"),
    "STREAM_ID": ("i32", "stream of the channel"),
}
FRAMES: Mapping[str, tuple[str, str, Fields]] = {
    "DATA": (
        "DATA and PAD",
        "A message, a fragment of one, or (PAD) the rest of a term, sent as a header only. The payload follows the "
        "header; the next frame begins at the next multiple of 32. One datagram may hold several frames. A DATA "
        "frame of length 0 is a heartbeat: it carries the position of the sender.",
        {
            "TERM_OFFSET": ("i32", "offset of the frame in its term"),
            **STREAM,
            "TERM_ID": ("i32", "term of the frame"),
            "RESERVED_VALUE": ("i64", "for use by the application"),
        },
    ),
    "SETUP": (
        "SETUP",
        "A sender announces the parameters of its stream: until a receiver responds, and when a receiver requests it.",
        {
            "TERM_OFFSET": ("i32", "current offset of the stream in the active term"),
            **STREAM,
            "INITIAL_TERM_ID": ("i32", "first term of the stream"),
            "ACTIVE_TERM_ID": ("i32", "current term"),
            "TERM_LENGTH": ("i32", "bytes of a term"),
            "MTU": ("i32", "maximum bytes of a frame, header included"),
            "TTL": ("i32", "multicast TTL"),
        },
    ),
    "NAK": (
        "NAK",
        "A receiver requests the retransmission of a range of a term.",
        {
            **STREAM,
            "TERM_ID": ("i32", "term of the gap"),
            "TERM_OFFSET": ("i32", "start offset of the gap"),
            "LENGTH": ("i32", "bytes of the gap"),
        },
    ),
    "SM": (
        "SM, status message",
        "A receiver reports the position of its subscribers and its window, the input of flow control. Position "
        "plus window is the limit of that receiver.",
        {
            **STREAM,
            "CONSUMPTION_TERM_ID": ("i32", "position of the subscribers: term"),
            "CONSUMPTION_TERM_OFFSET": ("i32", "position of the subscribers: offset in the term"),
            "RECEIVER_WINDOW": ("i32", "bytes that the receiver accepts beyond that position"),
            "RECEIVER_ID": ("i64", "unique id of the receiver; its offset is not a multiple of 8"),
            "GROUP_TAG": (
                "i64",
                "optional, present if the frame is 8 bytes longer: group of the receiver",
            ),
        },
    ),
    "ERR": (
        "ERR",
        "A receiver rejects an image and gives the reason. The text is UTF-8.",
        {
            **STREAM,
            "RECEIVER_ID": ("i64", "id of the rejecting receiver"),
            "GROUP_TAG": ("i64", "with the flag HAS_GROUP_TAG"),
            "ERROR_CODE": ("i32", "see [errors](../reference/errors.md)"),
            "ERROR_LENGTH": ("i32", "bytes of the text"),
            "TEXT": ("bytes", "the reason"),
        },
    ),
    "RTTM": (
        "RTTM, round-trip time",
        "A receiver sends one, and the sender returns it with the flag REPLY; the receiver computes the difference.",
        {
            **STREAM,
            "ECHO_TIMESTAMP": ("i64", "send time in ns, receiver's clock"),
            "RECEPTION_DELTA": ("i64", "processing time of the sender in ns"),
            "RECEIVER_ID": ("i64", "id of the measuring receiver"),
        },
    ),
    "RSP_SETUP": (
        "RSP_SETUP",
        "Announces the session id of the responses on a response channel to the requester.",
        {**STREAM, "RESPONSE_SESSION_ID": ("i32", "session id of the responses")},
    ),
    "RES": (
        "RES, name resolution",
        "Gossip of names between drivers. Entries follow the common header at offset 8, each aligned to 8 bytes; "
        "offsets are relative to the entry.",
        {
            "TYPE": ("u8", "type of the entry: 1 IPv4 address, 2 IPv6 address"),
            "FLAGS": ("u8", "SELF if the driver announces its own name"),
            "UDP_PORT": ("u16", "gossip port of that driver"),
            "AGE_MS": ("i32", "ms since the last message from that driver"),
            "ADDRESS": ("bytes", "4 or 16 bytes in network order"),
            "IP4_NAME_LENGTH": ("u16", "bytes of the name, after an IPv4 address"),
            "IP4_NAME": ("bytes", "the name"),
            "IP6_NAME_LENGTH": ("u16", "bytes of the name, after an IPv6 address"),
            "IP6_NAME": ("bytes", "the name"),
        },
    ),
}
LOG: Fields = {
    "TERM_TAIL_COUNTERS": ("3 i64", "per partition: term id in the upper 32 bits, tail in the lower"),
    "ACTIVE_TERM_COUNT": ("i32", "terms since the first one; modulo 3 it is the active partition"),
    "END_OF_STREAM_POSITION": (
        "i64",
        "position of the end of the stream, the maximum i64 while it is active",
    ),
    "IS_CONNECTED": ("i32", "1 while there is a receiver or subscriber"),
    "ACTIVE_TRANSPORT_COUNT": ("i32", "transports that receive the image"),
    "CORRELATION_ID": ("i64", "registration id of the publication or image"),
    "INITIAL_TERM_ID": ("i32", "first term of the stream, a random number"),
    "DEFAULT_FRAME_HEADER_LENGTH": ("i32", "bytes of the default header"),
    "MTU_LENGTH": ("i32", "maximum bytes of a frame, header included"),
    "TERM_LENGTH": ("i32", "bytes of a term"),
    "PAGE_SIZE": ("i32", "alignment of the file length"),
    "PUBLICATION_WINDOW_LENGTH": ("i32", "bytes that publishers may be ahead of the slowest consumer"),
    "RECEIVER_WINDOW_LENGTH": ("i32", "window of an image"),
    "SOCKET_SNDBUF_LENGTH": ("i32", "`so-sndbuf` of the URI that opened the socket, else 0"),
    "OS_DEFAULT_SOCKET_SNDBUF_LENGTH": ("i32", "default of the operating system"),
    "OS_MAX_SOCKET_SNDBUF_LENGTH": ("i32", "maximum of the operating system; 0 here, as in the C driver"),
    "SOCKET_RCVBUF_LENGTH": ("i32", "`so-rcvbuf` of the same URI, else 0"),
    "OS_DEFAULT_SOCKET_RCVBUF_LENGTH": ("i32", "default of the operating system"),
    "OS_MAX_SOCKET_RCVBUF_LENGTH": ("i32", "likewise"),
    "MAX_RESEND": ("i32", "`max-resend` of the URI, else 0"),
    "DEFAULT_FRAME_HEADER": ("32 bytes", "template for the header of every frame of the stream"),
    "ENTITY_TAG": ("i64", "tag of the publication, -1 without one; 0 in an image"),
    "RESPONSE_CORRELATION_ID": ("i64", "correlation id of a response channel"),
    "LINGER_TIMEOUT_NS": ("i64", "time that a drained publication is kept"),
    "UNTETHERED_WINDOW_LIMIT_TIMEOUT_NS": ("i64", "see [settings](../reference/settings.md)"),
    "UNTETHERED_RESTING_TIMEOUT_NS": ("i64", "likewise"),
    "GROUP": ("u8", "1 if the stream has a group of receivers"),
    "IS_RESPONSE": ("u8", "1 for a response channel"),
    "REJOIN": ("u8", "1 if an image may be rejoined"),
    "RELIABLE": ("u8", "1 if lost frames are requested again"),
    "SPARSE": ("u8", "1 if the file is sparse"),
    "SIGNAL_EOS": ("u8", "1 if the end of the stream is signalled"),
    "SPIES_SIMULATE_CONNECTION": ("u8", "1 if spies alone connect the publication"),
    "TETHER": ("u8", "1 if a slow subscriber holds the stream back"),
    "IS_PUBLICATION_REVOKED": ("u8", "1 once the publisher has revoked it"),
    "TYPE": ("u8", "0 concurrent publication, 1 exclusive publication, 2 image"),
    "UNTETHERED_LINGER_TIMEOUT_NS": ("i64", "likewise; its offset is not a multiple of 8"),
}
CNC: Fields = {
    "VERSION": ("i32", "0 until the driver is ready, then 0.2.0 as major << 16, minor << 8, patch"),
    "TO_DRIVER_BUFFER_LENGTH": ("i32", "bytes of the command ring: a power of two plus its trailer"),
    "TO_CLIENTS_BUFFER_LENGTH": ("i32", "bytes of the response broadcast, likewise"),
    "COUNTERS_METADATA_LENGTH": ("i32", "bytes of the counter metadata"),
    "COUNTERS_VALUES_LENGTH": ("i32", "bytes of the counter values"),
    "ERROR_LOG_LENGTH": ("i32", "bytes of the distinct error log"),
    "CLIENT_LIVENESS_TIMEOUT_NS": ("i64", "silence after which a client times out"),
    "START_TIMESTAMP_MS": ("i64", "start of the driver, in ms since the epoch"),
    "PID": ("i64", "process id of the driver"),
    "FILE_PAGE_SIZE": ("i32", "alignment of the driver's files; 0 means 4096"),
}
RING: Fields = {
    "TAIL": ("i64", "position of the next record; producers add to it atomically"),
    "HEAD_CACHE": ("i64", "last value of the head that a producer loaded"),
    "HEAD": ("i64", "position up to which the driver has read"),
    "CORRELATION_COUNTER": ("i64", "next correlation id; producers add to it atomically"),
    "CONSUMER_HEARTBEAT": ("i64", "last heartbeat of the driver, in ms since the epoch"),
}
BROADCAST: Fields = {
    "TAIL_INTENT": ("i64", "position up to which the driver is about to write"),
    "TAIL": ("i64", "position up to which it has written"),
    "LATEST": ("i64", "start of the last record"),
}
RECORD: Fields = {
    "LENGTH": ("i32", "bytes including this header, stored last; negative during the write, 0 before it"),
    "TYPE": ("i32", "message type; -1 is padding up to the end"),
}
COUNTER_VALUES: Fields = {
    "VALUE": ("i64", "the value"),
    "REGISTRATION_ID": ("i64", "correlation id of the command that added the counter"),
    "OWNER_ID": ("i64", "client that owns the counter"),
    "REFERENCE_ID": ("i64", "id of the related resource"),
}
COUNTER_METADATA: Fields = {
    "STATE": ("i32", "stored last: 0 unused, the end of the list; 1 allocated; -1 reclaimed"),
    "TYPE_ID": ("i32", "see [counters](../reference/counters.md)"),
    "FREE_FOR_REUSE_DEADLINE": ("i64", "end of the reuse delay of a freed counter, in ms since the epoch"),
    "KEY": ("112 bytes", "depends on the type"),
    "LABEL_LENGTH": ("i32", "bytes of the label"),
    "LABEL": ("380 bytes", "display text"),
}
ERROR_LOG: Fields = {
    "LENGTH": ("i32", "bytes of the entry, stored last"),
    "OBSERVATION_COUNT": ("i32", "number of occurrences"),
    "LAST_OBSERVATION": ("i64", "in ms since the epoch"),
    "FIRST_OBSERVATION": ("i64", "in ms since the epoch; the text follows"),
}
LOSS: Fields = {
    "OBSERVATION_COUNT": ("i64", "number of losses, stored last"),
    "TOTAL_BYTES": ("i64", "bytes lost"),
    "FIRST_OBSERVATION": ("i64", "in ms since the epoch"),
    "LAST_OBSERVATION": ("i64", "in ms since the epoch"),
    "SESSION_ID": ("i32", "session of the stream"),
    "STREAM_ID": ("i32", "stream of the channel"),
    "CHANNEL": ("text", "i32 length and bytes, padded to 4; the source follows: i32 length and bytes"),
}
_COUNTER_VALUE_NAMES = frozenset(COUNTER_VALUES)


def offsets(prefix: str) -> dict[str, int]:
    """Return the offsets whose constants begin with `prefix`, by field."""
    return {
        name.removeprefix(f"{prefix}_").removesuffix("_OFFSET"): getattr(wire, name)
        for name in dir(wire)
        if name.startswith(f"{prefix}_") and name.endswith("_OFFSET")
    }


def table(at: Mapping[str, int], meanings: Fields, title: str) -> Iterator[str]:
    """Yield the table of one structure; raise ValueError if code and meanings differ."""
    if set(at) != set(meanings):
        raise ValueError(f"{title}: fields and their meanings differ by {sorted(set(at) ^ set(meanings))}")
    yield "| offset | type | field | meaning |\n|---|---|---|---|"
    end = 0
    for name in sorted(at, key=lambda name: (at[name], name)):
        kind, meaning = meanings[name]
        # The two forms of an entry of RES share their offsets.
        if at[name] < end and not name.startswith("IP"):
            raise ValueError(f"{title}: {name} at {at[name]} begins before {end}")
        end = at[name] + _LENGTHS.get(kind, 0)
        yield f"| {at[name]} | {kind} | `{name.lower()}` | {meaning} |"
    yield ""


def flags(prefix: str) -> Iterator[str]:
    """Yield the flags of a frame, if it has any."""
    found = {
        name.removeprefix(f"{prefix}_FLAG_"): getattr(wire, name)
        for name in dir(wire)
        if name.startswith(f"{prefix}_FLAG_")
    }
    if found:
        text = ", ".join(f"`0x{value:02x}` {name}" for name, value in sorted(found.items(), key=_by_value))
        yield f"Flags: {text}.\n"


def _by_value(item: tuple[str, int]) -> int:
    return -item[1]


def frames_page() -> Iterator[str]:
    """Yield the page about frames."""
    yield "# Frames\n"
    yield (
        "The frames in UDP datagrams. All numbers are little-endian; there is no padding between fields. Only "
        f"DATA frames are aligned, to {wire.FRAME_ALIGNMENT} bytes. Malformed frames are counted "
        "(`Invalid packets`) and dropped.\n"
    )
    yield "## Common header\n"
    yield f"{wire.FRAME_HEADER_LENGTH} bytes at the start of every frame.\n"
    yield from table(offsets("FRAME"), COMMON_HEADER, "common header")
    types = {
        name.removeprefix("TYPE_"): getattr(wire, name) for name in dir(wire) if name.startswith("TYPE_")
    }
    yield "| type | name |\n|---|---|"
    for name, value in sorted(types.items(), key=lambda item: item[1]):
        yield f"| `0x{value:02x}` | {name} |"
    yield ""
    for prefix, (title, text, meanings) in FRAMES.items():
        yield f"## {title}\n"
        length = getattr(wire, f"{prefix}_HEADER_LENGTH", None)
        yield f"{text}{f' {length} bytes.' if length else ''}\n"
        at = offsets(prefix)
        at.pop("ENTRIES", None)
        yield from table(at, meanings, title)
        yield from flags(prefix)


def log_buffers_page() -> Iterator[str]:
    """Yield the page about log buffers."""
    yield "# Log buffers\n"
    yield (
        f"A log buffer is a file of {wire.PARTITION_COUNT} terms of equal length, each a power of two from "
        f"{wire.TERM_MIN_LENGTH} to {wire.TERM_MAX_LENGTH} bytes, followed by a metadata page; the file length "
        "is aligned to the page size. Terms are used in rotation: term *n* of the stream is in partition *n* "
        f"modulo {wire.PARTITION_COUNT}.\n"
    )
    yield (
        "A *position* is `(term_id - initial_term_id) * term_length + term_offset`, in 64 bits; the "
        "difference of term ids is computed in 32-bit arithmetic with wrap-around.\n"
    )
    yield (
        f"Frames are at multiples of {wire.FRAME_ALIGNMENT}, each with a [DATA header](frames.md). To append a "
        "frame, a publisher:\n"
        "\n"
        "1. adds the aligned length to the tail of the active term, which returns the offset of the frame;\n"
        "2. stores the length as a negative number;\n"
        "3. writes header and payload;\n"
        "4. stores the positive length last (release).\n"
        "\n"
        "A reader loads the length first (acquire): if it is 0 or less, there is nothing to read yet. If a frame "
        "does not fit, the rest of the term becomes a PAD frame; then the tail of the next term is set to its term "
        "id, and the active term count is incremented. A message that is longer than the MTU becomes several "
        f"frames, the first with the flag BEGIN (`0x{wire.DATA_FLAG_BEGIN:02x}`), the last with END "
        f"(`0x{wire.DATA_FLAG_END:02x}`). In an image, the receiver inserts frames at the offsets in their headers, "
        "in any order; a length of 0 marks a gap.\n"
        "\n"
        "A publisher that dies between steps 1 and 4 leaves a claim that is never completed. The driver replaces it "
        "with PAD (unblocks it) when readers were stopped in front of it for the unblock timeout, or at once when "
        "there are no publishers left. A negative length gives the length of the claim. If the length is 0, the "
        "claim extends to the next frame or, without one and without publishers, to the tail. The reference does not "
        "unblock the last case, so its readers wait.\n"
    )
    yield "## Metadata\n"
    yield f"{wire.LOG_META_DATA_LENGTH} bytes at the end of the file.\n"
    yield from table(offsets("LOG"), LOG, "metadata")


def cnc_page() -> Iterator[str]:
    """Yield the page about cnc.dat and the loss report."""
    yield "# cnc.dat\n"
    yield (
        f"The command-and-control file: clients and tools find a driver by it. A header of "
        f"{wire.CNC_META_DATA_LENGTH} bytes is followed by sections without gaps: commands, responses, counter "
        "metadata, counter values, distinct errors. The version is stored last, when all else is initialized.\n"
    )
    yield from table(offsets("CNC"), CNC, "cnc.dat")
    yield "## Records\n"
    yield (
        f"Commands and responses are records of {wire.RECORD_HEADER_LENGTH} bytes of header and a message, "
        f"aligned to {wire.RECORD_ALIGNMENT}.\n"
    )
    yield from table(offsets("RECORD"), RECORD, "record")
    yield "## Commands: ring buffer\n"
    yield (
        f"Many producers, one consumer. The records are followed by a trailer of {wire.RING_TRAILER_LENGTH} "
        "bytes; offsets are relative to it.\n"
    )
    yield from table(offsets("RING"), RING, "ring")
    yield from message_table(commands)
    yield "## Responses: broadcast buffer\n"
    yield (
        "One transmitter, any number of receivers. Each receiver keeps its own position and detects when it was "
        f"overrun. The trailer has {wire.BROADCAST_TRAILER_LENGTH} bytes.\n"
    )
    yield from table(offsets("BROADCAST"), BROADCAST, "broadcast")
    yield from message_table(responses)
    yield "## Counters\n"
    yield (
        f"A counter id is an index into both sections: {wire.COUNTER_METADATA_LENGTH} bytes of metadata and "
        f"{wire.COUNTER_VALUE_LENGTH} bytes of values per counter.\n"
    )
    at = offsets("COUNTER")
    yield "Values:\n"
    # The constants of both records share one prefix.
    yield from table({n: o for n, o in at.items() if n in _COUNTER_VALUE_NAMES}, COUNTER_VALUES, "values")
    yield "Metadata:\n"
    yield from table(
        {n: o for n, o in at.items() if n not in _COUNTER_VALUE_NAMES}, COUNTER_METADATA, "metadata"
    )
    yield "## Distinct errors\n"
    yield f"Entries aligned to {wire.ERROR_LOG_ALIGNMENT}; a length of 0 marks the end.\n"
    yield from table(offsets("ERROR_LOG"), ERROR_LOG, "errors")
    yield "## loss-report.dat\n"
    yield f"A separate file: entries aligned to {wire.LOSS_ENTRY_ALIGNMENT}; a count of 0 marks the end.\n"
    yield from table(offsets("LOSS"), LOSS, "loss report")


def message_table(module: object) -> Iterator[str]:
    """Yield the table of the messages in a module: type, name, and fields in order."""
    kinds = {
        "I16": "i16",
        "U16": "u16",
        "I32": "i32",
        "I64": "i64",
        "OptionalI64": "i64 or absent",
        "Bytes16": "16 bytes",
        "Blob": "bytes",
        "PaddedBlob": "bytes padded to 4",
        "Text": "text",
        "PaddedText": "text padded to 4",
    }
    found = [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, message.ControlMessage) and hasattr(kind, "TYPE_ID")
    ]
    yield "Text and bytes are encoded as an i32 length followed by that many bytes.\n"
    yield "| type | message | fields |\n|---|---|---|"
    for kind in sorted(found, key=lambda kind: kind.TYPE_ID):
        parts = ", ".join(f"`{field.name}` {kinds[str(field.type)]}" for field in fields(kind))
        yield f"| `0x{kind.TYPE_ID:02x}` | {kind.__name__} | {parts} |"
    yield ""

"""The pages of docs/wire: layouts with the offsets that the code has, and what each field means.

A number comes from `aeron_core._native.wire` alone. A constant of a structure that has no meaning here, and a
field that reaches into the next one, stop the generator: a page cannot go stale unseen.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields

from aeron_core._native import wire
from aeron_core.protocol import commands, message, responses

Fields = Mapping[str, tuple[str, str]]
"""Type and meaning of each field, by the name of its constant without prefix and `_OFFSET`."""

_LENGTHS = {"u8": 1, "u16": 2, "i32": 4, "u32": 4, "i64": 8}

COMMON_HEADER: Fields = {
    "LENGTH": ("i32", "bytes of the frame with this header, before alignment; 0 in a heartbeat"),
    "VERSION": ("u8", "0"),
    "FLAGS": ("u8", "see each frame"),
    "TYPE": ("u16", "see the table of types"),
}
STREAM: Fields = {
    "SESSION_ID": ("i32", "which publication of the stream"),
    "STREAM_ID": ("i32", "which stream of the channel"),
}
FRAMES: Mapping[str, tuple[str, str, Fields]] = {
    "DATA": (
        "DATA and PAD",
        "A message, a part of one, or (PAD) the rest of a term, of which the header alone is sent. The payload "
        "follows the header; the next frame begins at the next multiple of 32. One datagram may hold several "
        "frames. A DATA frame of length 0 is a heartbeat: it says how far the sender is.",
        {
            "TERM_OFFSET": ("i32", "where in its term the frame stands"),
            **STREAM,
            "TERM_ID": ("i32", "which term"),
            "RESERVED_VALUE": ("i64", "the application's own"),
        },
    ),
    "SETUP": (
        "SETUP",
        "A sender tells the shape of its stream: until somebody receives it, and when a receiver asks.",
        {
            "TERM_OFFSET": ("i32", "where the stream is now, in the active term"),
            **STREAM,
            "INITIAL_TERM_ID": ("i32", "the term with which the stream began"),
            "ACTIVE_TERM_ID": ("i32", "the term that is being filled"),
            "TERM_LENGTH": ("i32", "bytes of a term"),
            "MTU": ("i32", "bytes of the longest frame, header included"),
            "TTL": ("i32", "hops of multicast"),
        },
    ),
    "NAK": (
        "NAK",
        "A receiver asks for a part of a term again.",
        {
            **STREAM,
            "TERM_ID": ("i32", "the term with the gap"),
            "TERM_OFFSET": ("i32", "where the gap begins"),
            "LENGTH": ("i32", "its bytes"),
        },
    ),
    "SM": (
        "SM, status message",
        "A receiver says how far its subscribers are and how much more it takes: what flow control is made "
        "from. Its position and window together are the limit of that receiver.",
        {
            **STREAM,
            "CONSUMPTION_TERM_ID": ("i32", "where the subscribers are: the term"),
            "CONSUMPTION_TERM_OFFSET": ("i32", "and the offset in it"),
            "RECEIVER_WINDOW": ("i32", "bytes that may come beyond that"),
            "RECEIVER_ID": ("i64", "tells receivers apart; at an offset that is no multiple of 8"),
            "GROUP_TAG": (
                "i64",
                "only where the frame is that much longer: the group that the receiver is of",
            ),
        },
    ),
    "ERR": (
        "ERR",
        "A receiver refuses an image and says why. The text is UTF-8.",
        {
            **STREAM,
            "RECEIVER_ID": ("i64", "who refuses"),
            "GROUP_TAG": ("i64", "with the flag HAS_GROUP_TAG"),
            "ERROR_CODE": ("i32", "see [errors](../reference/errors.md)"),
            "ERROR_LENGTH": ("i32", "bytes of the text"),
            "TEXT": ("bytes", "the reason"),
        },
    ),
    "RTTM": (
        "RTTM, round-trip time",
        "A receiver sends one, the sender sends it back with the flag REPLY; the receiver takes the difference.",
        {
            **STREAM,
            "ECHO_TIMESTAMP": ("i64", "ns of the receiver's clock when it was sent"),
            "RECEPTION_DELTA": ("i64", "ns that the sender kept it"),
            "RECEIVER_ID": ("i64", "who measures"),
        },
    ),
    "RSP_SETUP": (
        "RSP_SETUP",
        "A subscriber of a response channel tells the publisher which session answers.",
        {**STREAM, "RESPONSE_SESSION_ID": ("i32", "the session of the answers")},
    ),
    "RES": (
        "RES, name resolution",
        "Drivers tell one another names. After the common header, at offset 8, come entries, each aligned to 8 "
        "bytes; offsets are those within an entry.",
        {
            "TYPE": ("u8", "of the entry: 1 with an IPv4, 2 with an IPv6 address"),
            "FLAGS": ("u8", "SELF where the driver tells its own name"),
            "UDP_PORT": ("u16", "where that driver resolves"),
            "AGE_MS": ("i32", "ms since it was last heard of"),
            "ADDRESS": ("bytes", "4 or 16 bytes in network order"),
            "IP4_NAME_LENGTH": ("u16", "bytes of the name, behind an IPv4 address"),
            "IP4_NAME": ("bytes", "the name"),
            "IP6_NAME_LENGTH": ("u16", "bytes of the name, behind an IPv6 address"),
            "IP6_NAME": ("bytes", "the name"),
        },
    ),
}
LOG: Fields = {
    "TERM_TAIL_COUNTERS": ("3 i64", "per partition: term id in the upper 32 bits, tail in the lower"),
    "ACTIVE_TERM_COUNT": ("i32", "terms since the first one; modulo 3 it is the active partition"),
    "END_OF_STREAM_POSITION": ("i64", "where the stream ends, the largest i64 while it goes on"),
    "IS_CONNECTED": ("i32", "1 while somebody receives"),
    "ACTIVE_TRANSPORT_COUNT": ("i32", "transports over which an image arrives"),
    "CORRELATION_ID": ("i64", "registration id of the publication or image"),
    "INITIAL_TERM_ID": ("i32", "the term with which the stream began, a random number"),
    "DEFAULT_FRAME_HEADER_LENGTH": ("i32", "bytes of the default header"),
    "MTU_LENGTH": ("i32", "bytes of the longest frame, header included"),
    "TERM_LENGTH": ("i32", "bytes of a term"),
    "PAGE_SIZE": ("i32", "to which the file is aligned"),
    "PUBLICATION_WINDOW_LENGTH": ("i32", "how far publishers may run ahead"),
    "RECEIVER_WINDOW_LENGTH": ("i32", "window of an image"),
    "SOCKET_SNDBUF_LENGTH": ("i32", "SO_SNDBUF"),
    "OS_DEFAULT_SOCKET_SNDBUF_LENGTH": ("i32", "what the system gives without it"),
    "OS_MAX_SOCKET_SNDBUF_LENGTH": ("i32", "the most that the system gives"),
    "SOCKET_RCVBUF_LENGTH": ("i32", "SO_RCVBUF"),
    "OS_DEFAULT_SOCKET_RCVBUF_LENGTH": ("i32", "what the system gives without it"),
    "OS_MAX_SOCKET_RCVBUF_LENGTH": ("i32", "the most that the system gives"),
    "MAX_RESEND": ("i32", "retransmits that may be active"),
    "DEFAULT_FRAME_HEADER": ("32 bytes", "the header that every frame of the stream starts from"),
    "ENTITY_TAG": ("i64", "tag of the publication or subscription"),
    "RESPONSE_CORRELATION_ID": ("i64", "of a response channel"),
    "LINGER_TIMEOUT_NS": ("i64", "how long a drained publication stays"),
    "UNTETHERED_WINDOW_LIMIT_TIMEOUT_NS": ("i64", "see [settings](../reference/settings.md)"),
    "UNTETHERED_RESTING_TIMEOUT_NS": ("i64", "likewise"),
    "GROUP": ("u8", "1 where the receiver is to expect others"),
    "IS_RESPONSE": ("u8", "1 for a response channel"),
    "REJOIN": ("u8", "1 where the stream may come back"),
    "RELIABLE": ("u8", "1 where losses are asked for again"),
    "SPARSE": ("u8", "1 where the file takes its room bit by bit"),
    "SIGNAL_EOS": ("u8", "1 where the end is signalled"),
    "SPIES_SIMULATE_CONNECTION": ("u8", "1 where spies alone connect"),
    "TETHER": ("u8", "1 where a subscriber may hold the stream back"),
    "IS_PUBLICATION_REVOKED": ("u8", "1 once the publisher has revoked it"),
    "TYPE": ("u8", "0 concurrent publication, 1 exclusive publication, 2 image"),
    "UNTETHERED_LINGER_TIMEOUT_NS": ("i64", "likewise; at an offset that is no multiple of 8"),
}
CNC: Fields = {
    "VERSION": ("i32", "0 until the driver is ready, then 0.2.0 as major << 16, minor << 8, patch"),
    "TO_DRIVER_BUFFER_LENGTH": ("i32", "bytes of the ring of commands, a power of two and its trailer"),
    "TO_CLIENTS_BUFFER_LENGTH": ("i32", "bytes of the broadcast of answers, likewise"),
    "COUNTERS_METADATA_LENGTH": ("i32", "bytes of the metadata of counters"),
    "COUNTERS_VALUES_LENGTH": ("i32", "bytes of the values of counters"),
    "ERROR_LOG_LENGTH": ("i32", "bytes of the distinct error log"),
    "CLIENT_LIVENESS_TIMEOUT_NS": ("i64", "silence after which a client is given up"),
    "START_TIMESTAMP_MS": ("i64", "when the driver started, since the epoch"),
    "PID": ("i64", "the process of the driver"),
    "FILE_PAGE_SIZE": ("i32", "to which the driver aligns its files; 0 for 4096"),
}
RING: Fields = {
    "TAIL": ("i64", "where the next record goes; producers add to it"),
    "HEAD_CACHE": ("i64", "what producers last saw of the head"),
    "HEAD": ("i64", "up to where the driver has read"),
    "CORRELATION_COUNTER": ("i64", "the next correlation id; producers add to it"),
    "CONSUMER_HEARTBEAT": ("i64", "when the driver was last alive, in ms since the epoch"),
}
BROADCAST: Fields = {
    "TAIL_INTENT": ("i64", "up to where the driver is about to write"),
    "TAIL": ("i64", "up to where it has written"),
    "LATEST": ("i64", "where the last record begins"),
}
RECORD: Fields = {
    "LENGTH": ("i32", "bytes with this header, stored last; negative while it is written, 0 before that"),
    "TYPE": ("i32", "which message; -1 is padding up to the end"),
}
COUNTER_VALUES: Fields = {
    "VALUE": ("i64", "the value"),
    "REGISTRATION_ID": ("i64", "which command made the counter"),
    "OWNER_ID": ("i64", "which client it ends with"),
    "REFERENCE_ID": ("i64", "what it belongs to"),
}
COUNTER_METADATA: Fields = {
    "STATE": ("i32", "stored last: 0 unused, the end of the list; 1 allocated; -1 reclaimed"),
    "TYPE_ID": ("i32", "see [counters](../reference/counters.md)"),
    "FREE_FOR_REUSE_DEADLINE": ("i64", "until when the id of a freed counter rests, in ms since the epoch"),
    "KEY": ("112 bytes", "depends on the type"),
    "LABEL_LENGTH": ("i32", "bytes of the label"),
    "LABEL": ("380 bytes", "text for people"),
}
ERROR_LOG: Fields = {
    "LENGTH": ("i32", "bytes of the entry, stored last"),
    "OBSERVATION_COUNT": ("i32", "how often it has happened"),
    "LAST_OBSERVATION": ("i64", "in ms since the epoch"),
    "FIRST_OBSERVATION": ("i64", "in ms since the epoch; the text follows"),
}
LOSS: Fields = {
    "OBSERVATION_COUNT": ("i64", "how often something was lost, stored last"),
    "TOTAL_BYTES": ("i64", "how much"),
    "FIRST_OBSERVATION": ("i64", "in ms since the epoch"),
    "LAST_OBSERVATION": ("i64", "in ms since the epoch"),
    "SESSION_ID": ("i32", "of which publication"),
    "STREAM_ID": ("i32", "of which stream"),
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
    """Yield the fields of one structure; raises ValueError where code and meanings differ."""
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
    """Yield the flags of a frame, where it has any."""
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
    """Yield the page of frames."""
    yield "# Frames\n"
    yield (
        "What travels in UDP datagrams. All numbers are little-endian; fields follow one another without "
        f"padding. A DATA frame, and nothing else, is aligned to {wire.FRAME_ALIGNMENT} bytes. What cannot be "
        "a frame is counted (`Invalid packets`) and dropped.\n"
    )
    yield "## Common header\n"
    yield f"{wire.FRAME_HEADER_LENGTH} bytes, with which every frame begins.\n"
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
    """Yield the page of log buffers."""
    yield "# Log buffers\n"
    yield (
        f"A stream is appended to a file of {wire.PARTITION_COUNT} terms of equal length, each a power of two "
        f"from {wire.TERM_MIN_LENGTH} to {wire.TERM_MAX_LENGTH} bytes, and a page of metadata behind them; the "
        "whole is aligned to the page size. Terms are filled in turn: term *n* of the stream stands in "
        f"partition *n* modulo {wire.PARTITION_COUNT}.\n"
    )
    yield (
        "A *position* is `(term_id - initial_term_id) * term_length + term_offset`, in 64 bits; the "
        "difference of term ids is that of 32-bit numbers, which wrap.\n"
    )
    yield (
        f"Frames stand at multiples of {wire.FRAME_ALIGNMENT}, each with a [DATA header](frames.md). Who "
        "appends adds the aligned length to the tail of the active term, which gives the place; stores the "
        "length as a negative number; fills header and payload; and stores the length, positive, last "
        "(release). Who reads looks at the length first (acquire): 0 or less, and there is nothing to read "
        "yet. A frame that no longer fits becomes PAD up to the end of the term. Then the next term's tail is "
        "set to its term id, and the active term count is increased by one. A message that is longer than "
        f"the MTU becomes several frames, the first with the flag BEGIN (`0x{wire.DATA_FLAG_BEGIN:02x}`), the "
        f"last with END (`0x{wire.DATA_FLAG_END:02x}`). In an image the receiver puts frames where their "
        "headers say, in any order; a gap is where a length is still 0.\n"
        "\n"
        "A publisher that dies between tail and length leaves a claim that nobody completes. The driver puts PAD over "
        "it once readers stood still before it for the unblock timeout, or at once when nobody publishes any more: a "
        "length below 0 says how much was claimed, a length of 0 that it reaches to the next frame or, without one "
        "and without publishers, to the tail. The reference leaves the last case as it is, and its readers wait.\n"
    )
    yield "## Metadata\n"
    yield f"{wire.LOG_META_DATA_LENGTH} bytes at the end of the file.\n"
    yield from table(offsets("LOG"), LOG, "metadata")


def cnc_page() -> Iterator[str]:
    """Yield the page of cnc.dat and its neighbours."""
    yield "# cnc.dat\n"
    yield (
        f"The file by which clients and tools find a driver. A header of {wire.CNC_META_DATA_LENGTH} bytes, "
        "then its sections without a gap: commands, answers, metadata of counters, values of counters, "
        "distinct errors. The version is stored last, when all else is ready.\n"
    )
    yield from table(offsets("CNC"), CNC, "cnc.dat")
    yield "## Records\n"
    yield (
        f"Commands and answers are records of {wire.RECORD_HEADER_LENGTH} bytes of header and a message, "
        f"aligned to {wire.RECORD_ALIGNMENT}.\n"
    )
    yield from table(offsets("RECORD"), RECORD, "record")
    yield "## Commands: a ring\n"
    yield (
        f"Many producers, one consumer. Behind the records is a trailer of {wire.RING_TRAILER_LENGTH} bytes; "
        "offsets are those within it.\n"
    )
    yield from table(offsets("RING"), RING, "ring")
    yield from message_table(commands)
    yield "## Answers: a broadcast\n"
    yield (
        "One transmitter, any number of receivers, each of which keeps its own place and finds out when it "
        f"was overrun. The trailer has {wire.BROADCAST_TRAILER_LENGTH} bytes.\n"
    )
    yield from table(offsets("BROADCAST"), BROADCAST, "broadcast")
    yield from message_table(responses)
    yield "## Counters\n"
    yield (
        f"A counter is its index: {wire.COUNTER_METADATA_LENGTH} bytes of metadata and "
        f"{wire.COUNTER_VALUE_LENGTH} bytes of values.\n"
    )
    at = offsets("COUNTER")
    yield "Values:\n"
    # Both records have constants of one prefix.
    yield from table({n: o for n, o in at.items() if n in _COUNTER_VALUE_NAMES}, COUNTER_VALUES, "values")
    yield "Metadata:\n"
    yield from table(
        {n: o for n, o in at.items() if n not in _COUNTER_VALUE_NAMES}, COUNTER_METADATA, "metadata"
    )
    yield "## Distinct errors\n"
    yield f"Entries aligned to {wire.ERROR_LOG_ALIGNMENT}; a length of 0 ends them.\n"
    yield from table(offsets("ERROR_LOG"), ERROR_LOG, "errors")
    yield "## loss-report.dat\n"
    yield f"A file of its own: entries aligned to {wire.LOSS_ENTRY_ALIGNMENT}; a count of 0 ends them.\n"
    yield from table(offsets("LOSS"), LOSS, "loss report")


def message_table(module: object) -> Iterator[str]:
    """Yield the messages of a module: type, name, and fields in their order."""
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
        if issubclass(kind, message.DriverMessage) and hasattr(kind, "TYPE_ID")
    ]
    yield "Text and bytes are an i32 length and that many bytes.\n"
    yield "| type | message | fields |\n|---|---|---|"
    for kind in sorted(found, key=lambda kind: kind.TYPE_ID):
        parts = ", ".join(f"`{field.name}` {kinds[str(field.type)]}" for field in fields(kind))
        yield f"| `0x{kind.TYPE_ID:02x}` | {kind.__name__} | {parts} |"
    yield ""

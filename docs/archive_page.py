"""Wire page of the Archive control protocol: its messages, from the classes that encode them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import get_type_hints

from aeron_core.protocol.archive import codes
from aeron_core.protocol.archive.requests import REQUESTS
from aeron_core.protocol.archive.responses import EVENTS, RESPONSES
from aeron_core.protocol.archive.sbe import HEADER_LENGTH, SCHEMA_ID, SCHEMA_VERSION, FixedField, SbeMessage

_TYPES = {"i": "i32", "q": "i64"}

_INTRODUCTION = f"""# Archive control protocol

Requests, responses and signals between the clients of an Aeron Archive and the archive, and the stream of \
recording events. They are messages of Aeron streams, encoded in \
[SBE](https://github.com/aeron-io/simple-binary-encoding/wiki), schema {SCHEMA_ID}, version {SCHEMA_VERSION}. \
Source: `aeron-archive-codecs.xml`. To use it, see [use an Aeron Archive](../how-to/use-aeron-archive.md); its \
files are on [another page](archive-files.md).

| offset | type | field of the header |
|---|---|---|
| 0 | u16 | length of the block of fixed fields |
| 2 | u16 | template id, the kind of the message |
| 4 | u16 | schema id, {SCHEMA_ID} |
| 6 | u16 | schema version of the sender |
| {HEADER_LENGTH} | | the block; then for each variable field a u32 length, and that many bytes |

All numbers are little-endian, and fields follow one another without gaps. A text is ASCII. A field that the \
sender's version does not have is not in the message: it has its null value, -2^31 for i32, -2^63 for i64, an empty \
text, except that an unknown protocol version is 0. A receiver skips the end of a block that is longer than it \
knows. Where a request allows no value, -1 stands for none.

Protocol versions are numbers too: major, minor and patch, a byte each above the lowest. A client of version 1.12.0 \
sends {codes.PROTOCOL_VERSION}. The archive refuses another major version.
"""

_SESSION = """
## Session

A client subscribes to its response channel, adds a publication to the control channel of the archive, stream 10, \
and waits until that is connected. Both have the same session id, which the client takes from its driver, so that \
several clients can share a port. Channels with `control-mode=response` need none: there the publication has the \
`response-correlation-id` of the subscription.

```text
client                                      archive
AuthConnectRequest(channel, credentials) ──►  INIT        adds a publication to the response channel
                                              CONNECTING  waits until it is connected
                                              CONNECTED   asks the authenticator
                        ◄── Challenge ──────  CHALLENGED  if the authenticator has a question
ChallengeResponse ──────────────────────────►
             ◄── ControlResponse OK ────────  AUTHENTICATED  repeats it until a request arrives
ArchiveIdRequest, KeepAliveRequest, … ──────► ACTIVE      answers requests; ArchivePing every second
CloseSessionRequest ────────────────────────► DONE        closes the publication

             ◄── ControlResponse ERROR 10 ──  REJECTED    repeats it until the client disconnects
```

- `ControlResponse` has the id of the session, which all further requests repeat, and the correlation id of the \
request. Correlation ids are from the client's driver.
- Each request has one `ControlResponse`, except those that list, and `KeepAliveRequest` and `CloseSessionRequest`, \
which have none. The result is in `relevant_id`; with the code ERROR, an [error code](../reference/errors.md).
- A list is a sequence of descriptions with the correlation id of the request. If there are fewer than requested, \
RECORDING_UNKNOWN or SUBSCRIPTION_UNKNOWN ends it. A session has one list at a time.
- `RecordingSignalEvent` arrives between responses. An error of a replay or a replication that has begun arrives as \
`ControlResponse` ERROR with the correlation id of its request, after the OK.
- The archive closes a session when its response stream has no subscriber, when it cannot send for 5 s (connect \
timeout), or when a request image ends. Pings fill the window of a client that \
does not read in about eight minutes.
- `ReplayTokenRequest` is for replays over a response channel: the client adds a subscription with this channel and \
another publication of requests, whose `response-correlation-id` is the id of that subscription, and sends \
`ReplayRequest` there, with the token and the correlation id of the token's request.
"""


def archive_control_page() -> Iterator[str]:
    """Yield the page."""
    yield _INTRODUCTION
    yield from _SESSION.strip("\n").splitlines()
    yield "\n## Requests\n"
    yield (
        "All but the two that connect, and CloseSessionRequest, begin with `control_session_id` and `correlation_id`. "
        "A number in brackets is the first schema version with the field.\n"
    )
    yield from _table(REQUESTS)
    yield "\n## Responses and signals\n"
    yield from _table(RESPONSES)
    yield "\n## Recording events\n"
    yield (
        "On a channel of their own, stream 30, with `aeron.archive.recording.events.enabled=true`; "
        "they may be lost.\n"
    )
    yield from _table(EVENTS)
    yield "\n## Numbers\n"
    yield "| type | values |\n|---|---|"
    for kind in (codes.ControlResponseCode, codes.SourceLocation, codes.RecordingSignal):
        values = ", ".join(f"{member.value} {member.name}" for member in kind)
        yield f"| `{kind.__name__}` | {values} |"
    yield ""


def _table(messages: Mapping[int, type[SbeMessage]]) -> Iterator[str]:
    yield "| template | message | block: offset, type, field | variable fields |\n|---|---|---|---|"
    for template_id, message in sorted(messages.items()):
        hints = get_type_hints(message, include_extras=True)
        offset, block, variable = HEADER_LENGTH, [], []
        for field in fields(message):
            kind = hints[field.name].__metadata__[0]
            since = f" ({kind.since})" if kind.since else ""
            if isinstance(kind, FixedField):
                block.append(f"{offset} {_TYPES[kind.code]} `{field.name}`{since}")
                offset += struct.calcsize(kind.code)
            else:
                variable.append(f"{'text' if kind.is_text else 'bytes'} `{field.name}`{since}")
        meaning = (message.__doc__ or "").strip()
        yield (
            f"| {template_id} | `{message.__name__}`: {meaning} | {', '.join(block)} | {', '.join(variable)} |"
        )

"""The reference of the medium `sp`: the keys of its channels from their model, and its counters."""

from __future__ import annotations

from collections.abc import Iterator

from aeron_media.connections.connection_parameters import ConnectionParameters, uri_text
from aeron_media.sp.pair_counters import CONNECTIONS, RECEIVING, SENDING
from aeron_media.sp.parameters import PairParameters
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

#: What each counter says, by its name.
COUNTERS = {
    "sp-peers": "peers that are there",
    "sp-accepted": "connections that were taken",
    "sp-attempts": "connections that were begun",
    "sp-refused": "peers that were refused, because there was another",
    "sp-refused-by-peer": "connections that the other end closed right after its greeting",
    "sp-mismatched": "peers of another protocol",
    "sp-malformed": "connections ended for what is no SP",
    "sp-silent": "connections given up by `handshake-timeout` or `message-timeout`",
    "sp-turned-away": "connections beyond `max-connections`",
    "sp-lost": "peers that have gone",
    "sp-memory": "bytes that peers hold, of messages that are not whole or wait; bounded by `max-memory`",
    "sp-messages-received": "messages that went into images",
    "sp-bytes-received": "bytes that came from peers",
    "sp-rejects-length": "connections ended for a message beyond `max-message`",
    "sp-discards-ttl": "messages discarded for more hops than `ttl`",
    "sp-discards-zero-hops": "messages discarded for having no hop, unless `accept-zero-hop` is set",
    "sp-discards-reserved-bits": "messages discarded for bits of their header that must be zero",
    "sp-discards-short": "messages discarded for having no header",
    "sp-messages-sent": "messages that the operating system has taken, or the queue of a peer",
    "sp-bytes-sent": "bytes that the operating system has taken",
    "sp-unsent-no-peer": "messages for a peer that was not there",
    "sp-unsent-peer-full": "messages for a peer whose queue was full",
    "sp-unsent-hops": "messages that had 255 hops behind them",
    "sp-unsent-length": "messages beyond `max-message`",
}
_TLS_KEYS = {"cert", "key", "ca", "client-auth", "verify", "key-passphrase-file", "key-passphrase-env"}


def sp_page() -> Iterator[str]:
    """Yield the page."""
    yield "# SP PAIR\n"
    yield (
        "`aeron:sp?endpoint=host:port|mode=listen` and `mode=dial` are channels of a PAIR socket, as nng, nanomsg and "
        "mangos have them. Publications and subscriptions of one channel share the socket, whatever their stream: what "
        "is offered goes to the peer, what the peer sends arrives in every stream that is subscribed to. Each peer is "
        "a session with an image; the reserved value of a message is the hops that it has come. A publication is "
        "connected while there is a peer, and its sender position is what the operating system has taken for it; what "
        "was not taken goes to the next peer.\n"
    )
    yield (
        "Who dials and has lost its peer dials again; what it shares with others it shares by the same URI, key for "
        "key, but for those of socket buffers, and of images: these must be the same for all who subscribe. "
        "[The wire](../wire/sp-pair1.md) says what is sent, and how we answer what others send.\n"
    )
    yield "## Transports\n"
    yield "| `transport` | where | like |\n|---|---|---|"
    yield "| `tcp` | `endpoint=host:port` | `tcp://host:port` |"
    yield "| `ipc` | `path=/a/socket` | `ipc:///a/socket`, `unix:///a/socket` |"
    yield "| `abstract` | `path=name` | `abstract://name` |"
    yield "| `tls` | `endpoint=host:port` | `tls+tcp://host:port` |"
    yield "| `ws` | `endpoint=host:port`, `path=/x` | `ws://host:port/x` |"
    yield "| `wss` | `endpoint=host:port`, `path=/x` | `wss://host:port/x` |\n"
    yield "## Keys\n"
    yield (
        "With the keys of every channel, such as `linger`, for which a closed publication waits for its peer. "
        "`mode` must be given.\n"
    )
    yield "| key | default | meaning |\n|---|---|---|"
    yield from _keys()
    yield "\n## Counters\n"
    yield (
        "Type 1020, of a channel endpoint; the label goes on with the channel. Of one socket, the endpoint of "
        "publications and that of subscriptions each show those of connections. They are set a hundred times a "
        "second.\n"
    )
    yield "| label begins with | of | value |\n|---|---|---|"
    for kind, side in ((CONNECTIONS, "both"), (RECEIVING, "subscriptions"), (SENDING, "publications")):
        for name in kind.values():
            yield f"| `{name}` | {side} | {COUNTERS[name]} |"
    yield ""


def _keys() -> Iterator[str]:
    # What all media with connections have comes last.
    fields = PairParameters.model_fields
    for name in sorted(fields, key=ConnectionParameters.model_fields.__contains__):
        field = fields[name]
        key = field.alias or name
        if key == "tls":
            # The transport says it.
            continue
        note = " (`tls`, `wss`)" if key in _TLS_KEYS else ""
        yield f"| `{key}` | {_default(field)} | {field.description}{note} |"


def _default(field: FieldInfo) -> str:
    return "" if field.default in (PydanticUndefined, None) else f"`{uri_text(field, field.default)}`"

"""Reference page of the medium `sp`: its channel keys, from their model, and its counters."""

from __future__ import annotations

from collections.abc import Iterator

from aeron_media.connections.connection_parameters import ConnectionParameters, uri_text
from aeron_media.sp.pair_counters import CONNECTIONS, RECEIVING, SENDING
from aeron_media.sp.parameters import PairParameters
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

#: Meaning of each counter.
COUNTERS = {
    "sp-peers": "connected peers",
    "sp-accepted": "accepted connections",
    "sp-attempts": "connection attempts",
    "sp-refused": "peers refused because another one was connected",
    "sp-refused-by-peer": "connections that the peer closed directly after its greeting",
    "sp-mismatched": "peers with another protocol",
    "sp-malformed": "connections closed because of malformed data",
    "sp-silent": "connections closed by `handshake-timeout` or `message-timeout`, or evicted without a greeting",
    "sp-turned-away": "connections refused because of `max-connections` or `max-per-source`",
    "sp-lost": "peers that disconnected",
    "sp-memory": "bytes of incomplete and queued messages of all peers; limited by `max-memory`",
    "sp-messages-received": "messages written to images",
    "sp-bytes-received": "bytes received from peers",
    "sp-rejects-length": "connections closed because a message exceeded `max-message`",
    "sp-discards-ttl": "messages discarded because their hop count exceeded `ttl`",
    "sp-discards-zero-hops": "messages discarded because of hop count 0, unless `accept-zero-hop` is set",
    "sp-discards-reserved-bits": "messages discarded because reserved header bits were set",
    "sp-discards-short": "messages discarded because they were shorter than a header",
    "sp-messages-sent": "messages written to the operating system or to the queue of a peer",
    "sp-bytes-sent": "bytes written to the operating system",
    "sp-unsent-no-peer": "messages dropped because their peer was not connected",
    "sp-unsent-peer-full": "messages dropped because the queue of their peer was full",
    "sp-unsent-hops": "messages dropped because their hop count was already 255",
    "sp-unsent-length": "messages dropped because they exceeded `max-message`",
}
_TLS_KEYS = {"cert", "key", "ca", "client-auth", "verify", "key-passphrase-file", "key-passphrase-env"}


def sp_page() -> Iterator[str]:
    """Yield the page."""
    yield "# SP PAIR\n"
    yield (
        "`aeron:sp?endpoint=host:port|mode=listen` and `mode=dial` are channels of a PAIR socket, compatible with nng, "
        "nanomsg and mangos. Publications and subscriptions of one channel share the socket, whatever their stream id: "
        "messages that are offered go to the peer, messages from the peer arrive in every subscribed stream. Each peer "
        "is a session with an image; the reserved value of a message is its hop count. A publication is connected "
        "while there is a peer. Its sender position is the position up to which the operating system has accepted "
        "data; the rest goes to the next peer.\n"
    )
    yield (
        "A dialer reconnects when its peer is lost. Publications and subscriptions share a socket if their URIs "
        "have equal "
        "keys, except the keys of socket buffers and of images; those must be equal for all subscriptions. See the "
        "[wire format](../wire/sp-pair1.md).\n"
    )
    yield "## Transports\n"
    yield "| `transport` | address | address in nng and mangos |\n|---|---|---|"
    yield "| `tcp` | `endpoint=host:port` | `tcp://host:port` |"
    yield "| `ipc` | `path=/a/socket` | `ipc:///a/socket`, `unix:///a/socket` |"
    yield "| `abstract` | `path=name` | `abstract://name` |"
    yield "| `tls` | `endpoint=host:port` | `tls+tcp://host:port` |"
    yield "| `ws` | `endpoint=host:port`, `path=/x` | `ws://host:port/x` |"
    yield "| `wss` | `endpoint=host:port`, `path=/x` | `wss://host:port/x` |\n"
    yield "## Keys\n"
    yield (
        "The keys of every channel are valid too, such as `linger`: the time that a closed publication waits for its "
        "peer. `mode` is required.\n"
    )
    yield "| key | default | meaning |\n|---|---|---|"
    yield from _keys()
    yield "\n## Counters\n"
    yield (
        "Type 1020, one set per channel endpoint; the label continues with the channel. The send and the receive "
        "endpoint "
        "of one socket both show the counters of its connections. They are updated a hundred times a second.\n"
    )
    yield "| label prefix | endpoint of | value |\n|---|---|---|"
    for kind, side in ((CONNECTIONS, "both"), (RECEIVING, "subscriptions"), (SENDING, "publications")):
        for name in kind.values():
            yield f"| `{name}` | {side} | {COUNTERS[name]} |"
    yield ""
    yield (
        "Clients find the peers of a publication in counters labelled `sp-space <slot>`, of type 1021; see "
        "[counters](counters.md).\n"
    )


def _keys() -> Iterator[str]:
    # Keys that are common to all connection media come last.
    fields = PairParameters.model_fields
    for name in sorted(fields, key=ConnectionParameters.model_fields.__contains__):
        field = fields[name]
        key = field.alias or name
        if key == "tls":
            # Implied by the transport.
            continue
        note = " (`tls`, `wss`)" if key in _TLS_KEYS else ""
        yield f"| `{key}` | {_default(field)} | {field.description}{note} |"


def _default(field: FieldInfo) -> str:
    return "" if field.default in (PydanticUndefined, None) else f"`{uri_text(field, field.default)}`"

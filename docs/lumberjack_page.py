"""Reference page of the medium `lumberjack`: its channel keys, from their model, and its counters."""

from __future__ import annotations

from collections.abc import Iterator

from aeron_media.connections.connection_parameters import ConnectionParameters, uri_text
from aeron_media.lumberjack.parameters import LumberjackParameters
from aeron_media.lumberjack.reader import reader_counters
from aeron_media.lumberjack.reader.reader_counters import ReaderCounters
from aeron_media.lumberjack.writer import writer_counters
from aeron_media.lumberjack.writer.writer_counters import WriterCounters
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from aeron_core._native.counter import AtomicCounter
from aeron_core.spi.stream_counter import detached_counter

_WRITER_KEYS = {
    "window",
    "pipeline",
    "compression",
    "wrap",
    "timeout",
    "progress-timeout",
    "backoff-init",
    "backoff-max",
    "ttl",
    "balance",
    "verify",
}
_COMMON_KEYS = {
    "endpoint",
    "so-sndbuf",
    "so-rcvbuf",
    "max-memory",
    "connection-counters",
    "tls",
    "cert",
    "key",
    "ca",
    "key-passphrase-file",
    "key-passphrase-env",
}

#: Meaning of each counter.
COUNTERS = {
    "lumberjack-connections": "open connections",
    "lumberjack-accepted": "connections accepted since the start",
    "lumberjack-memory": "bytes received and not yet parsed; limited by `max-memory`",
    "lumberjack-windows": "W frames",
    "lumberjack-events": "J and D frames, each a message",
    "lumberjack-bytes": "bytes received over all connections",
    "lumberjack-bytes-inflated": "bytes inflated from C frames",
    "lumberjack-acks": "acknowledgements of windows, or of parts of a window, counted before they are written to the "
    "socket",
    "lumberjack-keep-alives": "keepalives (acknowledgements of 0) sent to writers that wait for subscribers",
    "lumberjack-rejects-malformed": "connections closed because of malformed data",
    "lumberjack-rejects-limit": "connections closed because a limit was exceeded",
    "lumberjack-rejects-timeout": "connections closed by `window-timeout`, `idle-timeout` or `write-timeout`",
    "lumberjack-rejects-connections": "connections refused because of `max-connections` or `max-per-source`",
    "lumberjack-evicted": "connections without events closed after `eviction-timeout` for new ones",
    "lumberjack-abandoned": "connections reset because their images have no subscribers left",
    "lumberjack-broken": "connections that failed with an error",
    "lumberjack-lag": "events received and not yet acknowledged",
    "lumberjack-rejects-tls-certificate": "TLS handshakes with a missing or untrusted client certificate",
    "lumberjack-rejects-tls-protocol": "connections without TLS, or with an unsupported version",
    "lumberjack-rejects-tls-refused": "TLS handshakes refused by the peer, for example because of our certificate",
    "lumberjack-rejects-tls-timeout": "TLS handshakes that timed out",
    "lumberjack-rejects-tls-other": "TLS handshakes that failed for other reasons",
    "lumberjack-writer-connected": "open connections",
    "lumberjack-writer-attempts": "connection attempts",
    "lumberjack-writer-windows": "windows sent",
    "lumberjack-writer-events": "events sent, including repetitions",
    "lumberjack-writer-bytes": "bytes sent",
    "lumberjack-writer-acks": "windows acknowledged",
    "lumberjack-writer-keep-alives": "keepalives received from slow readers",
    "lumberjack-writer-resends": "windows unacknowledged when their connection closed, to be sent again",
    "lumberjack-writer-passed-over": "messages skipped: not a JSON object, or too long",
    "lumberjack-writer-lost": "connections that closed for other reasons than `ttl` or the end of their publication",
    "lumberjack-writer-lag": "bytes of all streams offered and not yet acknowledged",
    "lumberjack-writer-rejects-tls-certificate": "readers with a certificate that was not accepted",
    "lumberjack-writer-rejects-tls-protocol": "readers without TLS, or with an unsupported version",
    "lumberjack-writer-rejects-tls-refused": "readers that refused the handshake, for example because of our "
    "certificate",
    "lumberjack-writer-rejects-tls-timeout": "readers with a handshake that timed out",
    "lumberjack-writer-rejects-tls-other": "readers with a handshake that failed for other reasons",
}

#: Counters of single connections.
SINGLE_COUNTERS = {
    "lumberjack-connection-windows": "W frames",
    "lumberjack-connection-events": "J and D frames, each a message",
    "lumberjack-connection-bytes": "bytes received",
    "lumberjack-connection-bytes-inflated": "bytes inflated from C frames",
    "lumberjack-connection-acks": "acknowledgements of windows, or of parts of a window",
    "lumberjack-connection-keep-alives": "keepalives sent",
    "lumberjack-connection-lag": "events received and not yet acknowledged",
    "lumberjack-writer-connection-windows": "windows sent",
    "lumberjack-writer-connection-events": "events sent",
    "lumberjack-writer-connection-bytes": "bytes sent",
    "lumberjack-writer-connection-acks": "windows acknowledged",
    "lumberjack-writer-connection-keep-alives": "keepalives received",
    "lumberjack-writer-connection-lag": "events sent and not yet acknowledged",
}


def lumberjack_page() -> Iterator[str]:
    """Yield the page."""
    yield "# Lumberjack\n"
    yield (
        "`aeron:lumberjack?endpoint=host:port` is a channel of acknowledged events.\n\n"
        "**Subscription.** The driver listens for writers such as Beats and Logstash. Each connection is a session; "
        "the source identity of its image is the writer's address. Each event is a message: the payload is the "
        "event's JSON as sent, the reserved value its sequence number. An event of version 1 becomes a JSON object of "
        "strings. A window is acknowledged when all subscribers have passed its last event.\n\n"
        "**Publication.** The driver connects to a reader. Each message is an event, and the sender position is the "
        "position up to which the reader has acknowledged.\n"
    )
    yield (
        "All subscribed streams of one endpoint, at most 16, receive all events, and an acknowledgement waits "
        "for all of "
        "them. Subscriptions to one address must have equal keys; others are refused. A writer sends unacknowledged "
        "events again, so delivery is at least once in both directions.\n"
    )
    yield "## Keys\n"
    yield "S: subscription, P: publication. The keys of every channel, such as `linger`, are valid too.\n"
    yield "| key | on | default | meaning |\n|---|---|---|---|"
    yield from _keys()
    yield "\n## Counters\n"
    yield "Type 1020, one set per channel endpoint; the label continues with the channel.\n"
    yield "| label prefix | value |\n|---|---|"
    for name in _counter_names():
        yield f"| `{name}` | {COUNTERS[name]} |"
    yield (
        "\nCounters with `rejects-tls` exist with `tls=true` only; `lumberjack-accepted` does not count "
        "connections that "
        "fail their handshake. The conductor updates these and `lumberjack-writer-lag` once a second; all others are "
        "updated immediately.\n"
    )
    yield "### Counters of single connections\n"
    yield (
        "Up to `connection-counters` connections of an endpoint have their own counters from the first byte until they "
        "close; further connections get counters when others close. The labels continue with the peer and the session, "
        "or the number of the endpoint's stream. They are updated once a second.\n"
    )
    yield "| label prefix | value |\n|---|---|"
    for name in (*reader_counters.OF_CONNECTION, *writer_counters.OF_CONNECTION):
        yield f"| `{name}` | {SINGLE_COUNTERS[name]} |"
    yield ""


def _keys() -> Iterator[str]:
    # Keys that are common to all connection media come last.
    fields = LumberjackParameters.model_fields
    for name in sorted(fields, key=ConnectionParameters.model_fields.__contains__):
        field = fields[name]
        key = field.alias or name
        side = "S P" if key in _COMMON_KEYS else "P" if key in _WRITER_KEYS else "S"
        yield f"| `{key}` | {side} | {_default(field)} | {field.description} |"


def _default(field: FieldInfo) -> str:
    return "" if field.default in (PydanticUndefined, None) else f"`{uri_text(field, field.default)}`"


def _counter_names() -> list[str]:
    names: list[str] = []

    def new_counter(name: str) -> AtomicCounter:
        names.append(name)
        return detached_counter(0, name)

    ReaderCounters(new_counter, has_tls=True)
    WriterCounters(new_counter, has_tls=True)
    return names

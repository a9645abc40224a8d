"""The reference of the medium `lumberjack`: the keys of its channels from their model, and its counters."""

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

from aeron_core._native.counter import Counter
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

#: What each counter says, by its name.
COUNTERS = {
    "lumberjack-connections": "connections that are open",
    "lumberjack-accepted": "connections that were taken since the start",
    "lumberjack-memory": "bytes that connections hold of what is not yet parsed; bounded by `max-memory`",
    "lumberjack-windows": "W frames",
    "lumberjack-events": "J and D frames, each a message",
    "lumberjack-bytes": "bytes that came over all connections",
    "lumberjack-bytes-inflated": "bytes that came out of C frames",
    "lumberjack-acks": "acknowledgements of windows, or of parts of one",
    "lumberjack-keep-alives": "acknowledgements of nothing, to writers that wait for subscribers",
    "lumberjack-rejects-malformed": "connections ended for bytes that are no Lumberjack",
    "lumberjack-rejects-limit": "connections ended for going beyond one of the limits",
    "lumberjack-rejects-timeout": "connections ended by `window-timeout`, `idle-timeout` or `write-timeout`",
    "lumberjack-rejects-connections": "connections beyond `max-connections`",
    "lumberjack-abandoned": "connections given up because nobody takes their events any more",
    "lumberjack-broken": "connections that failed",
    "lumberjack-lag": "events that were taken and are not acknowledged",
    "lumberjack-rejects-tls-certificate": "connections without a certificate that is asked for, or with a wrong one",
    "lumberjack-rejects-tls-protocol": "connections that speak no TLS, or none that is taken",
    "lumberjack-rejects-tls-refused": "connections whose other end has refused us, as for our certificate",
    "lumberjack-rejects-tls-timeout": "connections without a handshake in time",
    "lumberjack-rejects-tls-other": "connections whose handshake has failed otherwise",
    "lumberjack-writer-connected": "connections that stand",
    "lumberjack-writer-attempts": "connections that were begun",
    "lumberjack-writer-windows": "windows that were sent",
    "lumberjack-writer-events": "events that were sent, those that were sent again each time",
    "lumberjack-writer-bytes": "bytes that were sent",
    "lumberjack-writer-acks": "windows that were acknowledged",
    "lumberjack-writer-keep-alives": "signs of life of readers that take their time",
    "lumberjack-writer-resends": "windows that were not acknowledged when their connection ended",
    "lumberjack-writer-passed-over": "messages that no reader takes: no JSON objects, or too long",
    "lumberjack-writer-lost": "connections that ended otherwise than by `ttl` or with their publication",
    "lumberjack-writer-lag": "bytes of all streams that were offered and are not acknowledged",
    "lumberjack-writer-rejects-tls-certificate": "readers whose certificate was not accepted",
    "lumberjack-writer-rejects-tls-protocol": "readers that speak no TLS, or none that is taken",
    "lumberjack-writer-rejects-tls-refused": "readers that have refused us, as for our certificate",
    "lumberjack-writer-rejects-tls-timeout": "readers without a handshake in time",
    "lumberjack-writer-rejects-tls-other": "readers with which a handshake has failed otherwise",
}

#: Of single connections.
SINGLE_COUNTERS = {
    "lumberjack-connection-windows": "W frames",
    "lumberjack-connection-events": "J and D frames, each a message",
    "lumberjack-connection-bytes": "bytes that came",
    "lumberjack-connection-bytes-inflated": "bytes that came out of C frames",
    "lumberjack-connection-acks": "acknowledgements of windows, or of parts of one",
    "lumberjack-connection-keep-alives": "acknowledgements of nothing",
    "lumberjack-connection-lag": "events that were taken and are not acknowledged",
    "lumberjack-writer-connection-windows": "windows that were sent",
    "lumberjack-writer-connection-events": "events that were sent",
    "lumberjack-writer-connection-bytes": "bytes that were sent",
    "lumberjack-writer-connection-acks": "windows that were acknowledged",
    "lumberjack-writer-connection-keep-alives": "signs of life of the reader",
    "lumberjack-writer-connection-lag": "events that were sent and are not acknowledged",
}


def lumberjack_page() -> Iterator[str]:
    """Yield the page."""
    yield "# Lumberjack\n"
    yield (
        "`aeron:lumberjack?endpoint=host:port` is a channel of acknowledged events. As a subscription the driver "
        "listens for writers such as Beats and Logstash: a connection is a session, with the writer's address as the "
        "identity of its image, and each event is a message, whose payload is the event's JSON as it was sent, and "
        "whose reserved value is its sequence number. An event of version 1 becomes a JSON object of strings. A "
        "window is acknowledged when all subscribers have passed its last event. As a publication the driver sends to "
        "such a reader: each message is an event, and the sender position is what the reader has acknowledged.\n"
    )
    yield (
        "All streams that are subscribed to on one endpoint, at most 16, get all events, and all of them are waited "
        "for. Who "
        "subscribes to an address that others have subscribed to must want the same of it: keys of subscriptions "
        "that differ are refused. Events that were not acknowledged are sent again by their writer, as ours are by "
        "us: every event at least once.\n"
    )
    yield "## Keys\n"
    yield "S subscription, P publication; with the keys of every channel, such as `session-id` or `linger`.\n"
    yield "| key | of | default | meaning |\n|---|---|---|---|"
    yield from _keys()
    yield "\n## Counters\n"
    yield "Type 1020, of a channel endpoint; the label goes on with the channel.\n"
    yield "| label begins with | value |\n|---|---|"
    for name in _counter_names():
        yield f"| `{name}` | {COUNTERS[name]} |"
    yield (
        "\nThose with `rejects-tls` are there with `tls=true` only; a connection that TLS refuses is never one of "
        "`lumberjack-accepted`. All are written as things happen, but for these and `lumberjack-writer-lag`, which "
        "the conductor writes once a second.\n"
    )
    yield "### Of single connections\n"
    yield (
        "Up to `connection-counters` connections of an endpoint have counters of their own for as long as they are "
        "there, from the first bytes on; others get them when those are gone. Their labels go on with the peer and "
        "the session, or the number of the endpoint's stream. They are brought up to date once a second.\n"
    )
    yield "| label begins with | value |\n|---|---|"
    for name in (*reader_counters.OF_CONNECTION, *writer_counters.OF_CONNECTION):
        yield f"| `{name}` | {SINGLE_COUNTERS[name]} |"
    yield ""


def _keys() -> Iterator[str]:
    # What all media with connections have comes last.
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

    def new_counter(name: str) -> Counter:
        names.append(name)
        return detached_counter(0, name)

    ReaderCounters(new_counter, has_tls=True)
    WriterCounters(new_counter, has_tls=True)
    return names

"""Index of commands and plugins: names and one-line helps, known without importing what they name.

Invariant: equal to what the commands and the plugins themselves return; tests/cli/test_index.py compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A command, or a group of commands."""

    help: str  # first line of the command's own help
    target: str = ""  # module below aeron_core.cli, and function; empty for a group
    commands: Mapping[str, IndexEntry] = field(default_factory=dict)  # of a group


COMMANDS: Final[Mapping[str, IndexEntry]] = {
    "driver": IndexEntry("Run a media driver until a signal or a client stops it.", "driver.driver:driver"),
    "pub": IndexEntry("Publish the lines of the standard input or of a file.", "messages.pub:pub"),
    "sub": IndexEntry("Write received messages, one per line.", "messages.sub:sub"),
    "ping": IndexEntry(
        "Measure round trips to `aeron-core pong` or to the Pong of Aeron.", "messages.ping:ping"
    ),
    "pong": IndexEntry("Return every message to its sender.", "messages.pong:pong"),
    "bench": IndexEntry(
        "Measure throughput and latency of this machine, or to another host.", "bench.bench:bench"
    ),
    "record": IndexEntry("Record streams of a channel into an archive.", "records.record:record"),
    "replay": IndexEntry(
        "Publish the frames of a recording at their original positions.", "records.replay:replay"
    ),
    "archive": IndexEntry(
        "Serve the Archive protocol: clients of Aeron Archive record and replay streams.",
        "records.serve:archive",
    ),
    "ship": IndexEntry("Follow growing files and publish each line as a message.", "shipping.ship:ship"),
    "device": IndexEntry(
        "Forward messages between two PAIR channels, in both directions.", "messages.device:device"
    ),
    "doctor": IndexEntry("Check whether this machine is prepared for a driver.", "doctor.doctor:doctor"),
    "stat": IndexEntry("Show the counters of a driver, alive or dead, or record them.", "tools.stat:stat"),
    "plot": IndexEntry(
        "Draw a history of counters: rates, lags and losses of streams, or chosen counters.",
        "plots.plot:plot",
    ),
    "top": IndexEntry(
        "Watch drivers and streams: positions, rates, and what holds each stream back.", "top.top:top"
    ),
    "dashboard": IndexEntry(
        "Show drivers and streams in a browser: plots, what holds each stream back, errors.",
        "dashboard.dashboard:dashboard",
    ),
    "streams": IndexEntry(
        "Show the positions of each stream, and the lag of each party.", "tools.streams:streams"
    ),
    "backlog": IndexEntry(
        "Show the unprocessed bytes of each sender, receiver and subscriber.", "tools.backlog:backlog"
    ),
    "errors": IndexEntry("Show the distinct errors of a driver, alive or dead.", "tools.error_log:errors"),
    "loss": IndexEntry("Show the loss report of a driver, alive or dead, as CSV.", "tools.loss:loss"),
    "log-inspect": IndexEntry(
        "Show the metadata and the frames of a log buffer.", "tools.log_inspect:log_inspect"
    ),
    "terminate": IndexEntry("Ask a driver to shut down, and wait until it has.", "tools.terminate:terminate"),
    "clean": IndexEntry("Delete the directory of a dead driver.", "tools.clean:clean"),
    "demo": IndexEntry("Send a real log over a lossy channel and compare both ends.", "demo.demo:demo"),
    "man": IndexEntry(
        "Show the manual page of a command, or write those of all commands for `man`.", "tools.man:man"
    ),
    "plugins": IndexEntry(
        "Plugins of this installation.",
        commands={
            "list": IndexEntry(
                "List the plugins with their distributions and the names they provide.",
                "driver.plugins:list_plugins",
            ),
            "new": IndexEntry(
                "Create a distribution with a plugin: code, tests, README and CI file.",
                "driver.new_plugin:new_plugin",
            ),
        },
    ),
    "settings": IndexEntry(
        "Settings of the driver.",
        commands={
            "show": IndexEntry(
                "Show every setting of a driver started here, its value and its source.",
                "driver.settings:show_settings",
            )
        },
    ),
    "recordings": IndexEntry(
        "Recordings of an archive.",
        commands={
            "list": IndexEntry(
                "List the recordings of an archive and their consumers.", "records.listing:list_recordings"
            ),
            "verify": IndexEntry(
                "Verify the frames and checksums of recordings.", "records.verify:verify_recordings"
            ),
            "export": IndexEntry("Export the messages of a recording.", "records.export:export_recording"),
            "purge": IndexEntry(
                "Delete recordings, or their oldest segments.", "records.purge:purge_recordings"
            ),
            "convert": IndexEntry(
                "Copy the recordings of an archive to the format of Aeron Archive, or from it to ours.",
                "records.convert:convert_archive",
            ),
        },
    ),
}

#: Commands that the plugins of this distribution add.
PLUGIN_COMMANDS: Final[Mapping[str, str]] = {
    "keys": "Keys of secured channels.",
    "pipeline": "Pipelines on Spark: streams in, SQL, tables or streams out.",
}

#: Plugins of this distribution by entry point: the names that each provides, by hook.
PLUGINS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "congestion": {"aeron_congestion_controls": ("cubic", "default", "static")},
    "flow_control": {"aeron_flow_controls": ("max", "min", "tagged", "unicast")},
    "idle_strategies": {
        "aeron_idle_strategies": ("backoff", "noop", "signal", "sleep-ns", "sleeping", "spin", "yield")
    },
    "media_ipc": {"aeron_media_transports": ("ipc",)},
    "media_lumberjack": {"aeron_media_transports": ("lumberjack",)},
    "media_sp": {"aeron_media_transports": ("sp",)},
    "media_udp": {"aeron_media_transports": ("udp",)},
    "recording": {"aeron_settings": ("recording",)},
    "resolvers": {"aeron_name_resolvers": ("csv_table", "default", "driver")},
    "security": {"aeron_datagram_protectors": ("group-secret", "identities")},
    "spark": {},
}

#: Libraries that plugins of this distribution load when they are used, with the remedy if one is missing.
PLUGIN_LIBRARIES: Final[Mapping[str, tuple[str, str]]] = {
    "security": (
        "libcrypto.so.3",
        "channels with security= are refused: install OpenSSL 3 (Debian: libssl3)",
    ),
}

#: Packages that plugins of this distribution import when they are used, with the remedy if one is missing.
PLUGIN_PACKAGES: Final[Mapping[str, tuple[str, str]]] = {
    "security": (
        "cryptography",
        "security profiles with protector=identities are refused: pip install 'aeron-core[secure]'",
    ),
}

_CONNECTION_KEYS: Final = {
    *("backoff-init", "backoff-max", "ca", "cert", "client-auth", "key", "key-passphrase-env"),
    *("key-passphrase-file", "max-connections", "max-memory", "max-per-source", "tls", "verify"),
}

#: Keys of channels that a medium of this distribution has in addition to those of `aeron_core.uri.keys`.
MEDIA_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "ipc": frozenset(),
    "lumberjack": frozenset(
        {
            *_CONNECTION_KEYS,
            *("ack", "ack-partial", "balance", "compression", "connection-counters", "eviction-timeout"),
            *("idle-timeout", "keep-alive", "keep-alive-v1", "max-compressed", "max-event", "max-frame"),
            *("max-inflated", "max-nesting", "max-pairs", "max-ratio", "max-window", "pipeline"),
            *("progress-timeout", "timeout", "window", "window-timeout", "wrap", "write-timeout"),
        }
    ),
    "sp": frozenset(
        {
            *_CONNECTION_KEYS,
            *("accept-zero-hop", "confirm", "handshake-timeout", "max-message", "message-timeout", "mode"),
            *("path", "peer-queue", "peer-timeout", "permissions", "poly", "protocol", "transport"),
        }
    ),
    "udp": frozenset(),
}

#: What each hook provides, as shown to users.
HOOKS: Final[Mapping[str, str]] = {
    "aeron_media_transports": "medium",
    "aeron_flow_controls": "flow control",
    "aeron_congestion_controls": "congestion control",
    "aeron_name_resolvers": "name resolver",
    "aeron_idle_strategies": "idle strategy",
    "aeron_datagram_protectors": "datagram protector",
    "aeron_settings": "section of settings",
}

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
    "driver": IndexEntry(
        "Run a media driver until SIGINT, SIGTERM, or a client's request where the settings allow it.",
        "driver.driver:driver",
    ),
    "pub": IndexEntry(
        "Publish the lines of stdin or of a file, each as one message without its line end.",
        "messages.pub:pub",
    ),
    "sub": IndexEntry(
        "Write each message and a line end, until --count, --timeout or an interrupt.", "messages.sub:sub"
    ),
    "ping": IndexEntry(
        "Measure round trips to `aeron-core pong`, or to the Pong of another Aeron.", "messages.ping:ping"
    ),
    "pong": IndexEntry("Send back every message, until an interrupt.", "messages.pong:pong"),
    "record": IndexEntry(
        "Record streams of a channel into an archive, each publication as a recording.",
        "records.record:record",
    ),
    "replay": IndexEntry(
        "Publish the frames of a recording at the positions that they had, in terms as long as they were.",
        "records.replay:replay",
    ),
    "ship": IndexEntry("Follow growing files and publish each line as a message.", "shipping.ship:ship"),
    "device": IndexEntry(
        "Join two PAIR channels, until an interrupt: what peers of one say goes on to peers of the other.",
        "messages.device:device",
    ),
    "stat": IndexEntry(
        "Show the counters of a driver, alive or dead: live on a terminal, else once.", "tools.stat:stat"
    ),
    "streams": IndexEntry(
        "Show how far each stream of a driver, alive or dead, has come, and how far each party is behind.",
        "tools.streams:streams",
    ),
    "backlog": IndexEntry(
        "Show what senders and subscribers of a driver, alive or dead, have still to do, in bytes.",
        "tools.backlog:backlog",
    ),
    "errors": IndexEntry("Show the distinct errors of a driver, alive or dead.", "tools.error_log:errors"),
    "loss": IndexEntry("Show the loss report of a driver, alive or dead, as CSV.", "tools.loss:loss"),
    "log-inspect": IndexEntry(
        "Show the metadata and the frames of a log, of a living stream or of one that is gone.",
        "tools.log_inspect:log_inspect",
    ),
    "terminate": IndexEntry("Ask a driver to end, and wait until it has.", "tools.terminate:terminate"),
    "clean": IndexEntry(
        "Delete the directory of a driver that has died; one that lives keeps its own.", "tools.clean:clean"
    ),
    "demo": IndexEntry(
        "Send every line of a real log over loopback UDP at an induced loss, and compare what arrives.",
        "demo.demo:demo",
    ),
    "plugins": IndexEntry(
        "Plugins of this installation.",
        commands={
            "list": IndexEntry(
                "Show each plugin with its distribution and the names that it provides.",
                "driver.plugins:list_plugins",
            )
        },
    ),
    "settings": IndexEntry(
        "Settings of the driver.",
        commands={
            "show": IndexEntry(
                "Show the settings that `aeron-core driver` would have with the same files, -D and environment.",
                "driver.settings:show_settings",
            )
        },
    ),
    "recordings": IndexEntry(
        "Recordings of an archive.",
        commands={
            "list": IndexEntry(
                "Show the recordings of an archive: which stream, from where to where, since when, and who reads them.",
                "records.listing:list_recordings",
            ),
            "verify": IndexEntry(
                "Read recordings from end to end, and compare every frame with its place and every check sum.",
                "records.verify:verify_recordings",
            ),
            "export": IndexEntry(
                "Write whole messages of a recording, fragments put together, with --json a summary besides.",
                "records.export:export_recording",
            ),
            "purge": IndexEntry(
                "Delete whole segments from the beginning of recordings, or whole recordings.",
                "records.purge:purge_recordings",
            ),
        },
    ),
}

#: Distribution of this package and of the plugins below.
DISTRIBUTION: Final = "aeron-core"

#: Commands that the plugins of this distribution add.
PLUGIN_COMMANDS: Final[Mapping[str, str]] = {
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
    "spark": {},
}

#: What each hook provides, for people.
HOOKS: Final[Mapping[str, str]] = {
    "aeron_media_transports": "medium",
    "aeron_flow_controls": "flow control",
    "aeron_congestion_controls": "congestion control",
    "aeron_name_resolvers": "name resolver",
    "aeron_idle_strategies": "idle strategy",
    "aeron_settings": "section of settings",
}

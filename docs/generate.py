"""Generate docs/reference and docs/wire from the code, or with --check report outdated pages.

Run it after a change of a setting, hook, counter or command: the tests compare the pages.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import aeron_security.plugin
import pyspark_aeron.plugin
import typer
from aeron_resolvers import csv_table, driver

from aeron_core import settings
from aeron_core.cli import outcome
from aeron_core.cli.program import make_core_app
from aeron_core.concurrent import counter_types
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.recording.settings import RecordingSettings
from aeron_core.settings import ClientSettings, DriverSettings
from aeron_core.settings.model import SettingsModel
from aeron_core.spi import (
    CongestionControlParams,
    FlowControlParams,
    IdleStrategyParams,
    NameResolverParams,
    ProtectorParams,
    ReceiveEndpointParams,
    SendEndpointParams,
    hookspecs,
)
from aeron_core.uri.values import parse_duration_ns, parse_size
from aeron_core.version import SOFTWARE_VERSION

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import archive_page  # noqa: E402 - found beside this program from any working directory
import channel_page  # noqa: E402
import lumberjack_page  # noqa: E402
import sp_page  # noqa: E402
import spark_page  # noqa: E402
import wire_pages  # noqa: E402
from command_pages import command_pages  # noqa: E402

NOTE = "<!-- Written by docs/generate.py from the code: do not edit. -->\n"

STREAM_COUNTERS = {
    "PUBLISHER_LIMIT": ("pub-lmt", "publisher limit: position up to which publishers may offer"),
    "SENDER_POSITION": ("snd-pos", "position up to which the sender has sent"),
    "RECEIVER_HWM": ("rcv-hwm", "highest received position, including gaps"),
    "SUBSCRIBER_POSITION": ("sub-pos", "position up to which a subscriber has read"),
    "RECEIVER_POSITION": ("rcv-pos", "position up to which all frames have been received"),
    "SEND_CHANNEL_STATUS": ("snd-channel", "state of a sending channel: 1 active, 2 closing, -1 errored"),
    "RECEIVE_CHANNEL_STATUS": ("rcv-channel", "state of a receiving channel, likewise"),
    "SENDER_LIMIT": ("snd-lmt", "sender limit: position up to which flow control allows sending"),
    "PER_IMAGE": (
        "rcv-cc-…, rcv-owl-…",
        "measurements of an image's congestion control; one-way latency from the sender, and its drift",
    ),
    "CLIENT_HEARTBEAT": ("client-heartbeat", "time of the client's last keepalive, in ms since the epoch"),
    "PUBLISHER_POSITION": ("pub-pos", "position up to which publishers have offered, updated periodically"),
    "SENDER_BPE": ("snd-bpe", "back-pressure events: how often flow control has stopped the sender"),
    "LOCAL_SOCKADDR": ("snd-local-sockaddr, rcv-local-sockaddr", "a bound address; 1 while bound"),
    "FLOW_CONTROL_RECEIVERS": ("fc-receivers", "receivers that flow control tracks"),
    "MDC_DESTINATIONS": ("mdc-num-dest", "destinations of a multi-destination channel"),
    "SENDER_NAKS_RECEIVED": ("snd-naks-received", "NAKs received by a publication"),
    "RECEIVER_NAKS_SENT": ("rcv-naks-sent", "NAKs sent by an image"),
    "RECORDING_POSITION": (
        "rec-pos",
        "position up to which a recording is stored, of a recorder or of Aeron Archive",
    ),
    "MEDIA": ("...", "counters of a medium for one channel endpoint; see the page of the medium"),
    "PEER": (
        "...",
        "a peer of a channel endpoint: session id in the upper 32 bits, then 0x80000000 while it is connected, and "
        "the maximum length of a message that it accepts now; the key has its address",
    ),
    "REFUSALS": (
        "...",
        "connections that a channel endpoint or its peer has refused, by reason",
    ),
    "ARCHIVE_LIMITS": (
        "archive-limits",
        "what `aeron-core archive` has refused or let wait, by kind: clients, requests, seconds in which a host had "
        "too many requests",
    ),
    "PROTECTION": (
        "security-…",
        "what the protector of a secured channel or of the name resolver has done; see [secured channels]"
        "(#secured-channels)",
    ),
}

#: Counters of the built-in protectors, without the start `security-`, and the modes that have them.
SECURITY_COUNTERS = {
    "sealed": ("both", "datagrams sealed"),
    "opened": ("both", "datagrams accepted"),
    "rotations": ("both", "changes of the traffic key by time or number"),
    "handshakes": ("identities", "handshakes that have ended well"),
    "rekeys": ("identities", "keys replaced because a peer was removed from the list, or has expired there"),
    "refused-plain": ("both", "not sealed, or damaged in the first bytes"),
    "refused-secret": ("both", "sealed with another secret, or in the other mode"),
    "refused-role": ("both", "of a socket of the same side"),
    "refused-echo": ("both", "sent by this socket"),
    "refused-busy": ("both", "of unknown peers, or of handshakes, beyond the limits"),
    "refused-forged": ("both", "with a wrong seal: another cipher, changed on the path, or forged"),
    "refused-replayed": ("both", "received before, or overtaken by more than 2048 others"),
    "refused-unproved": ("both", "of a peer that has not proved yet that it sends now"),
    "refused-handshake": ("identities", "of handshakes: late, forged or damaged"),
    "refused-identity": ("identities", "of a host that is not in the list, or has expired there"),
}
#: Those that `Aeron.watch_peers` reports.
SECURITY_REFUSALS = frozenset(
    {"refused-plain", "refused-secret", "refused-role", "refused-forged", "refused-identity"}
)

#: Counters of the built-in name resolvers.
RESOLVER_COUNTERS = {
    driver.NEIGHBORS_TYPE_ID: (
        "Resolver neighbors: bound",
        "drivers that have answered; this one sends them its name and those of others",
    ),
    driver.CACHE_ENTRIES_TYPE_ID: ("Resolver cache entries: name=", "names received from other drivers"),
    driver.BOOTSTRAP_NEIGHBOR_TYPE_ID: ("Bootstrap neighbor: name=", "1 while it is a neighbour"),
    driver.REFUSED_TYPE_ID: (
        "Refused gossip: name=",
        "names and drivers that a limit refused; see [name resolution](../explanation/name-resolution.md)",
    ),
    csv_table.ROW_TYPE_ID: (
        "NameEntry{…}",
        "selected host of a row of `csv_table`: 0 the first, 1 the second, -1 none; write the counter to select",
    ),
}


#: Params objects of the factories of each hook.
HOOK_PARAMS = {
    "aeron_congestion_controls": (CongestionControlParams,),
    "aeron_datagram_protectors": (ProtectorParams,),
    "aeron_flow_controls": (FlowControlParams,),
    "aeron_idle_strategies": (IdleStrategyParams,),
    "aeron_media_transports": (SendEndpointParams, ReceiveEndpointParams),
    "aeron_name_resolvers": (NameResolverParams,),
}
#: Guides to each hook.
HOOK_PAGES = {
    "aeron_congestion_controls": ("write a congestion control", "../how-to/write-a-congestion-control.md"),
    "aeron_flow_controls": ("write a flow control", "../how-to/write-a-flow-control.md"),
    "aeron_media_transports": ("write a medium", "../how-to/write-a-medium.md"),
    "aeron_name_resolvers": ("write a name resolver", "../how-to/write-a-name-resolver.md"),
}


def settings_page() -> Iterator[str]:
    """Yield the reference page of settings."""
    yield "# Settings\n"
    yield (
        "Sources of a value, in order of precedence: channel URI, argument, `-D`, environment, file, default. "
        "`aeron-core settings show` prints each value with its source.\n"
    )
    yield (
        "The table shows the name in TOML and Python, and the environment variable. In a properties file and after "
        "`-D`, write the variable in lower case with dots (`aeron.mtu.length=8k`). [Sizes and durations]"
        "(#sizes-and-durations) may have units.\n"
    )
    for title, table, model in (
        ("Driver", "driver", DriverSettings),
        ("Client", "client", ClientSettings),
        ("Recording inside a driver", "recording", RecordingSettings),
    ):
        yield f"## {title}\n\nTOML table `[{table}]`.\n"
        yield from settings_table(model)
    yield from quantities_section()
    yield "## In Python\n"
    # The tables above have the fields.
    yield "```{api} aeron_core.settings\n:no-fields:\nDriverSettings()\nClientSettings()\n```\n"
    names = [name for name in settings.__all__ if name not in {"DriverSettings", "ClientSettings"}]
    yield "\n".join(["```{api} aeron_core.settings", *(f"{name}()" for name in names), "```\n"])


def quantities_section() -> Iterator[str]:
    """Yield the syntax of sizes and durations, one for channels, settings, commands and Spark."""
    yield "## Sizes and durations\n"
    yield (
        "One syntax in channel URIs, environment variables, files, Python, options of commands, Spark and pipelines: a "
        "whole decimal number and a unit, in lower or upper case, without a space.\n"
    )
    yield "| | unit | is | also in the reference |\n|---|---|---|---|"
    yield "| size | none | bytes | yes |"
    for unit, length in (("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)):
        assert parse_size(f"1{unit}") == length
        yield f"| size | `{unit}` | {length:,} bytes | yes |"
    yield "| duration | none | nanoseconds; on the command line seconds | yes |"
    for unit, duration_ns, meaning in (
        ("ns", 1, "nanoseconds"),
        ("us", 10**3, "microseconds"),
        ("ms", 10**6, "milliseconds"),
        ("s", 10**9, "seconds"),
        ("min", 60 * 10**9, "minutes"),
        ("h", 3600 * 10**9, "hours"),
        ("d", 86_400 * 10**9, "days of 24 hours"),
    ):
        assert parse_duration_ns(f"1{unit}") == duration_ns
        is_of_reference = "yes" if duration_ns <= 10**9 else "no: an extension"
        yield f"| duration | `{unit}` | {meaning} | {is_of_reference} |"
    yield (
        "\nMinutes are `min`, not `m`, which is a unit of sizes. In a channel that drivers of the reference read "
        "too, use units up to `s`. A duration beyond 292 years is 292 years; a size of 2^63 bytes or more is "
        "refused. In environment variables, property files and after `-D`, text after the unit of a size is "
        "ignored, as in the C driver: `64mb` is `64m`.\n\n"
        "Options of commands with the value `DURATION` may also be a number of seconds without a unit, fractions "
        "included, such as `0.5`; ages, such as that of `--retain-age`, need a unit. Pipelines accept the names of "
        "Spark too, with a space: `10 seconds`; there a number needs a unit.\n"
    )


def settings_table(model: type[SettingsModel]) -> Iterator[str]:
    """Yield the table of one settings model."""
    yield "| setting | environment | default | meaning |\n|---|---|---|---|"
    for name, field in model.model_fields.items():
        variable = model.variable(name)
        default = field.get_default()
        text = "" if default is None else f"`{variable.format(default)}`" if variable.format(default) else ""
        if field.default_factory is not None:
            text = "depends on the user"
        effect = f" *Accepted but ignored: {variable.without_effect}.*" if variable.without_effect else ""
        yield f"| `{name}` | `{variable.name}` | {text} | {field.description}{effect} |"
    yield ""


def hooks_page() -> Iterator[str]:
    """Yield the reference page of hooks, with the examples of docs/hook_examples."""
    yield "# Hooks\n"
    yield (
        "A plugin is a module with functions that are marked with `hookimpl`. Register it by an entry point in the "
        "group `aeron_core`; the name of the entry point is the name of the plugin:\n\n"
        '```toml\n[project.entry-points.aeron_core]\nmy_plugin = "my_package.my_module"\n```\n'
    )
    yield (
        "Hooks that return a table map a name, as written in a channel URI or a setting, to a factory. The factory is "
        "called with one frozen params object for each resource, such as a publication or an image. If two plugins "
        "provide the same name, the driver does not start. Instead of a factory a table may have the text "
        "`module:name`, which is imported when the name is first used. Hooks are called at start, factories when a "
        "resource is added, never for a message. `aeron-core plugins list` shows the plugins that are installed, "
        "`aeron-core plugins new NAME --kind KIND` writes a distribution with a plugin that works.\n"
    )
    yield (
        "The examples below are complete modules; `tests/test_hook_examples.py` runs them. To use a module in a test "
        "without installing it, pass it as `plugins=[module]` to `aeron_core.testing.DriverPair`, or as "
        "`registry=Registry.load([module])` to `MediaDriver`.\n"
    )
    for name, function in inspect.getmembers(hookspecs, inspect.isfunction):
        if name.startswith("aeron_"):
            signature = str(inspect.signature(function)).replace("'", "")
            yield f"## `{name}`\n\n```python\ndef {name}{signature}: ...\n```\n\n{inspect.getdoc(function)}\n"
            if name in HOOK_PARAMS:
                params = " or ".join(f"[`{each.__name__}`](plugins.md)" for each in HOOK_PARAMS[name])
                yield f"Its factories are called with {params}.\n"
            source = (DOCS / "hook_examples" / f"{name}.py").read_text(encoding="utf-8")
            yield f"Example:\n\n```python\n{source.rstrip()}\n```\n"
            if name in HOOK_PAGES:
                yield f"See [{HOOK_PAGES[name][0]}]({HOOK_PAGES[name][1]}).\n"


def counters_page() -> Iterator[str]:
    """Yield the reference page of counters."""
    yield "# Counters\n"
    yield (
        "Counters are in `cnc.dat`, so tools of any Aeron implementation can read them; `aeron-core stat` shows all. "
        "Ids, types, labels and keys are those of the reference driver.\n"
    )
    yield "## System counters\n"
    yield "Type 0; the ids are fixed.\n\n| id | label |\n|---|---|"
    for index, (_, label) in enumerate(labelled(SystemCounterLabels())):
        # The version and the commit of the driver that runs.
        yield f"| {index} | {label.replace(SOFTWARE_VERSION, 'version=… commit=…')} |"
    yield "\n## Streams, channels and clients\n\n| type | label prefix | value |\n|---|---|---|"
    for name, (label, meaning) in STREAM_COUNTERS.items():
        yield f"| {getattr(counter_types, name)} | `{label}` | {meaning} |"
    yield "\n## Secured channels\n"
    yield (
        "Of type 1025; those marked * have type 1022, which `Aeron.watch_peers` reports to applications, except at a "
        "name resolver. Labels are `security-NAME: CHANNEL`; key and registration id are those of the channel, as of "
        "`snd-channel`. [Metrics](../how-to/monitor-drivers.md) have the name or reason and the channel as labels. "
        "Protectors of other plugins have names of their own.\n"
    )
    yield "| label prefix | mode | what is counted: datagrams, but for changes and handshakes |\n|---|---|---|"
    for name, (mode, meaning) in SECURITY_COUNTERS.items():
        yield f"| `security-{name}`{' *' if name in SECURITY_REFUSALS else ''} | {mode} | {meaning} |"
    yield "\n## Name resolvers\n\n| type | label prefix | value |\n|---|---|---|"
    for type_id, (label, meaning) in RESOLVER_COUNTERS.items():
        yield f"| {type_id} | `{label}` | {meaning} |"
    yield ""


def cli_page() -> Iterator[str]:
    """Yield the reference page of the command line."""
    yield "# Command line\n"
    yield (
        "`aeron-core` finds its driver by `--aeron-dir`, then `AERON_DIR`, then the user's default directory. "
        "Diagnostics go to stderr, one line each; output goes to stdout. A `DURATION` is a number of seconds, or has a "
        "unit: `0.5`, `100ms`, `2min`; see [sizes and durations](settings.md#sizes-and-durations).\n"
    )
    yield (
        "`aeron-core --install-completion` lets bash, zsh or fish complete commands, options and values: media, keys "
        "and values of channels (in bash, begin a channel with `'`), channels, stream and session ids and counters of "
        "a running driver, directories of drivers, and settings. `NO_COLOR=1` disables colours.\n"
    )
    yield "## Exit codes\n"
    yield "| code | meaning |\n|---|---|"
    for line in (inspect.getdoc(outcome) or "").splitlines():
        code, _, meaning = line.strip().partition(" ")
        if code[:1].isdigit():
            yield f"| {code} | {meaning.strip()} |"
    yield ""
    yield from command_pages("aeron-core", typer.main.get_command(program()))


def program() -> typer.Typer:
    """Return the application with the commands of this package and of the plugins in its distribution."""
    app = make_core_app()
    # Not all installed plugins: the page must not depend on the environment.
    aeron_security.plugin.aeron_cli(app)
    pyspark_aeron.plugin.aeron_cli(app)
    return app


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "reference/channels.md": channel_page.channels_page,
    "reference/cli.md": cli_page,
    "reference/counters.md": counters_page,
    "reference/hooks.md": hooks_page,
    "reference/lumberjack.md": lumberjack_page.lumberjack_page,
    "reference/sp.md": sp_page.sp_page,
    "reference/settings.md": settings_page,
    "reference/spark.md": spark_page.spark_page,
    "wire/archive-control.md": archive_page.archive_control_page,
    "wire/cnc.md": wire_pages.cnc_page,
    "wire/frames.md": wire_pages.frames_page,
    "wire/log-buffers.md": wire_pages.log_buffers_page,
}


def rendered(name: str) -> str:
    """Return the current text of a page."""
    return NOTE + "\n".join(PAGES[name]()).rstrip() + "\n"


def main() -> int:
    """Write or check all pages; return the exit code."""
    stale = [
        name
        for name in PAGES
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != rendered(name)
    ]
    if "--check" in sys.argv:
        for name in stale:
            print(f"docs/{name} is out of date: run docs/generate.py", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(rendered(name), encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

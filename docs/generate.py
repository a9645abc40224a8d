"""Writes docs/reference and docs/wire from the code itself, or with --check says what is out of date.

Run it after a change of a setting, a hook, a counter, an error or a command: the tests compare.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import typer
from aeron_resolvers import csv_table, driver

from aeron_core import errors
from aeron_core.cli import outcome
from aeron_core.cli.main import make_core_app
from aeron_core.concurrent import counter_types
from aeron_core.driver.agents.system_counters import SystemCounterLabels, labelled
from aeron_core.recording.settings import RecordingSettings
from aeron_core.settings import ClientSettings, DriverSettings
from aeron_core.settings.model import SettingsModel
from aeron_core.spi import hookspecs

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import channel_page  # noqa: E402 - beside this program, however it is run
import client_page  # noqa: E402
import lumberjack_page  # noqa: E402
import sp_page  # noqa: E402
import spark_page  # noqa: E402
import wire_pages  # noqa: E402
from command_pages import command_pages  # noqa: E402

NOTE = "<!-- Written by docs/generate.py from the code: do not edit. -->\n"

STREAM_COUNTERS = {
    "PUBLISHER_LIMIT": ("pub-lmt", "position up to which publishers may offer"),
    "SENDER_POSITION": ("snd-pos", "position up to which the sender has sent"),
    "RECEIVER_HWM": ("rcv-hwm", "highest position that has been received, gaps or not"),
    "SUBSCRIBER_POSITION": ("sub-pos", "position up to which a subscriber has read"),
    "RECEIVER_POSITION": ("rcv-pos", "position up to which everything has been received"),
    "SEND_CHANNEL_STATUS": ("snd-channel", "state of a sending channel: 1 active, 2 closing, -1 errored"),
    "RECEIVE_CHANNEL_STATUS": ("rcv-channel", "state of a receiving channel, likewise"),
    "SENDER_LIMIT": ("snd-lmt", "position up to which flow control lets the sender send"),
    "PER_IMAGE": (
        "rcv-cc-…, rcv-owl-…",
        "what the congestion control of an image measures; the latency from the sender, and the drift of it",
    ),
    "CLIENT_HEARTBEAT": ("client-heartbeat", "when a client was last heard of, in ms since the epoch"),
    "PUBLISHER_POSITION": ("pub-pos", "position up to which publishers have offered, as of the last check"),
    "SENDER_BPE": ("snd-bpe", "how often flow control has stopped the sender"),
    "LOCAL_SOCKADDR": ("snd-local-sockaddr, rcv-local-sockaddr", "a bound address; 1 while it is"),
    "FLOW_CONTROL_RECEIVERS": ("fc-receivers", "receivers that flow control reckons with"),
    "MDC_DESTINATIONS": ("mdc-num-dest", "destinations that a channel sends to, where it may have several"),
    "SENDER_NAKS_RECEIVED": ("snd-naks-received", "NAKs that a publication has received"),
    "RECEIVER_NAKS_SENT": ("rcv-naks-sent", "NAKs that an image has sent"),
    "MEDIA": ("...", "whatever a medium counts of one channel endpoint; the page of the medium says what"),
    "PEER": (
        "...",
        "a peer of a channel endpoint: its session above, 0x80000000 while it is there, and the longest message "
        "that it takes now; the key says where it is",
    ),
    "REFUSALS": (
        "...",
        "peers that a channel endpoint has turned away, or that have, for the reason of that name",
    ),
}

#: Of the resolvers that come with aeron-core.
RESOLVER_COUNTERS = {
    driver.NEIGHBORS_TYPE_ID: ("Resolver neighbors: bound", "drivers that this one tells its name to"),
    driver.CACHE_ENTRIES_TYPE_ID: ("Resolver cache entries: name=", "names that other drivers have told"),
    driver.BOOTSTRAP_NEIGHBOR_TYPE_ID: ("Bootstrap neighbor: name=", "1 while it is one of the neighbours"),
    csv_table.ROW_TYPE_ID: (
        "NameEntry{…}",
        "which host of a row of `csv_table` counts: 0 the first, 1 the second, -1 none; write it to choose",
    ),
}


def settings_page() -> Iterator[str]:
    """Yield the reference of settings."""
    yield "# Settings\n"
    yield (
        "A value comes from the strongest source that has one: channel URI, argument, `-D`, environment, "
        "file, default. `aeron-core settings show` says which it was.\n"
    )
    yield (
        "In the environment a setting has the name below; in a properties file and after `-D` it is the same "
        "in lower case with dots (`aeron.mtu.length=8k`); in TOML and in Python it is the name of the field. "
        "Sizes take `64k`, `16m`, `1g`; durations take `100ms`, `5s`; a number alone is bytes or nanoseconds.\n"
    )
    for title, table, model in (
        ("Driver", "driver", DriverSettings),
        ("Client", "client", ClientSettings),
        ("Recording by the driver", "recording", RecordingSettings),
    ):
        yield f"## {title}\n\nTOML table `[{table}]`.\n"
        yield from settings_table(model)


def settings_table(model: type[SettingsModel]) -> Iterator[str]:
    """Yield one model as a table."""
    yield "| setting | environment | default | meaning |\n|---|---|---|---|"
    for name, field in model.model_fields.items():
        variable = model.variable(name)
        default = field.get_default()
        text = "" if default is None else f"`{variable.format(default)}`" if variable.format(default) else ""
        if field.default_factory is not None:
            text = "of the user"
        effect = f" *Accepted without effect: {variable.without_effect}.*" if variable.without_effect else ""
        yield f"| `{name}` | `{variable.name}` | {text} | {field.description}{effect} |"
    yield ""


def hooks_page() -> Iterator[str]:
    """Yield the reference of hooks."""
    yield "# Hooks\n"
    yield (
        "A plugin registers by an entry point in the group `aeron_core`. Hooks that return a table map a "
        "name, as written in a channel URI or a setting, to a factory; a name that two plugins provide stops "
        "the start. Hooks are called when things start or are bound, never for a message.\n"
    )
    for name, function in inspect.getmembers(hookspecs, inspect.isfunction):
        if name.startswith("aeron_"):
            signature = str(inspect.signature(function)).replace("'", "")
            yield f"## `{name}`\n\n```python\ndef {name}{signature}: ...\n```\n\n{inspect.getdoc(function)}\n"


def counters_page() -> Iterator[str]:
    """Yield the reference of counters."""
    yield "# Counters\n"
    yield (
        "Counters lie in `cnc.dat`, where tools of any origin read them; `aeron-core stat` shows all. Ids, "
        "types, labels and keys are those of the reference driver.\n"
    )
    yield "## Of the driver\n"
    yield "Type 0; the id never changes.\n\n| id | label |\n|---|---|"
    for index, (_, label) in enumerate(labelled(SystemCounterLabels())):
        yield f"| {index} | {label} |"
    yield "\n## Of streams, channels and clients\n\n| type | label begins with | value |\n|---|---|---|"
    for name, (label, meaning) in STREAM_COUNTERS.items():
        yield f"| {getattr(counter_types, name)} | `{label}` | {meaning} |"
    yield "\n## Of name resolvers\n\n| type | label begins with | value |\n|---|---|---|"
    for type_id, (label, meaning) in RESOLVER_COUNTERS.items():
        yield f"| {type_id} | `{label}` | {meaning} |"
    yield ""


def errors_page() -> Iterator[str]:
    """Yield the reference of errors."""
    tree = inspect.getdoc(errors) or ""
    yield f"# Errors\n\n```text\n{tree.split(chr(10), 2)[2].rpartition(chr(10) * 2)[0]}\n```\n"
    yield "Results of hot calls such as `offer` are negative numbers with names, never exceptions.\n"
    yield "| exception | meaning |\n|---|---|"
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.AeronError):
            yield f"| `{name}` | {' '.join((inspect.getdoc(kind) or '').split())} |"
    yield "\n## Codes\n\nWhat a driver tells clients and other drivers: `ErrorCode`.\n\n| code | name |\n|---|---|"
    for code in errors.ErrorCode:
        yield f"| {code.value} | `{code.name}` |"
    yield ""


def cli_page() -> Iterator[str]:
    """Yield the reference of the command line."""
    yield "# Command line\n"
    yield (
        "`aeron-core` finds its driver by `--aeron-dir`, else by `AERON_DIR`, else in the user's own "
        "directory. Messages for people go to stderr, in one line each; output goes to stdout.\n"
    )
    yield "## Exit codes\n"
    yield "| code | meaning |\n|---|---|"
    for line in (inspect.getdoc(outcome) or "").splitlines():
        code, _, meaning = line.strip().partition(" ")
        if code.isdigit():
            yield f"| {code} | {meaning.strip()} |"
    yield ""
    yield from command_pages("aeron-core", typer.main.get_command(make_core_app()))


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "reference/channels.md": channel_page.channels_page,
    "reference/cli.md": cli_page,
    "reference/client.md": client_page.client_page,
    "reference/counters.md": counters_page,
    "reference/errors.md": errors_page,
    "reference/hooks.md": hooks_page,
    "reference/lumberjack.md": lumberjack_page.lumberjack_page,
    "reference/sp.md": sp_page.sp_page,
    "reference/settings.md": settings_page,
    "reference/spark.md": spark_page.spark_page,
    "wire/cnc.md": wire_pages.cnc_page,
    "wire/frames.md": wire_pages.frames_page,
    "wire/log-buffers.md": wire_pages.log_buffers_page,
}


def rendered(name: str) -> str:
    """Return what a page should hold."""
    return NOTE + "\n".join(PAGES[name]()).rstrip() + "\n"


def main() -> int:
    """Write all pages, or check them; return the exit code."""
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

"""Options that several commands share."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.conversion import integer_between
from aeron_core.cli.outcome import is_tty
from aeron_core.errors import ConfigurationError
from aeron_core.settings.aeron_dir import aeron_dir_of


def int32(text: str) -> int:
    """Parse a stream id or session id; raise ValueError unless it is from -2**31 to 2**31 - 1."""
    return integer_between(text, -(2**31), 2**31 - 1)


def settings_file(text: str) -> Path:
    """Parse the name or `file://` URL of a settings file, as aeronmd; raise ValueError for `http://` and NUL."""
    if text.startswith("http://"):
        raise ValueError("must be a file: aeron-core does not load settings over HTTP; download it first")
    if "\0" in text:
        raise ValueError("must be a path without NUL")
    return Path(text.removeprefix("file://"))


AeronDir = Annotated[
    Path | None,
    typer.Option(
        "--aeron-dir",
        "-d",
        metavar="DIR",
        help="Directory of the driver; default: AERON_DIR, else the user's own directory.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Channel = Annotated[
    str,
    typer.Argument(
        metavar="CHANNEL", help="Channel, such as aeron:udp?endpoint=localhost:20121 or aeron:ipc."
    ),
]
StreamId = Annotated[
    int, typer.Argument(metavar="STREAM_ID", parser=int32, help="Stream id within the channel.")
]
MetricsTokenFile = Annotated[
    Path | None,
    typer.Option(
        "--metrics-token-file",
        metavar="FILE",
        help="File with the token that requests for --metrics must send; no other user may be able to read it.",
    ),
]
MetricsOpen = Annotated[
    bool,
    typer.Option(
        "--metrics-open", help="Serve --metrics to every host that reaches the address, without a token."
    ),
]
Otlp = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Export the metrics to this OpenTelemetry collector, such as http://localhost:4318/v1/metrics.",
    ),
]
Defines = Annotated[
    list[str] | None,
    typer.Option(
        "-D", metavar="NAME=VALUE", help="Set one setting, as in -Daeron.dir=/dev/shm/mine; may be repeated."
    ),
]
SettingsFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        parser=settings_file,
        help="Settings files: .properties, or .toml with a table [driver].",
    ),
]


def directory_of(aeron_dir: Path | None) -> Path:
    """Return the given directory, by default that of AERON_DIR or else the user's own."""
    return aeron_dir or aeron_dir_of()


def command_line(command: str, aeron_dir: Path | None) -> str:
    """Return a command of this program for the directory that the option --aeron-dir names, as text in backquotes.

    None: the option is not given.
    """
    option = "" if aeron_dir is None else f" --aeron-dir {shlex.quote(str(aeron_dir))}"
    return f"`aeron-core {command}{option}`"


def print_json(document: Mapping[str, object] | Sequence[object], *, to_stderr: bool = False) -> None:
    """Print a JSON document in one line, to stdout or stderr; drop it if that was closed when the process started."""
    file = sys.stderr if to_stderr else sys.stdout
    if file is None:  # with None as the file, `print` would write to stdout
        return
    text = json.dumps(document, ensure_ascii=False, default=str)
    try:
        print(text, file=file, flush=True)
    except UnicodeEncodeError:  # a file name that is not UTF-8, or an output that is ASCII
        print(json.dumps(document, default=str), file=file, flush=True)


def positive(name: str, value: float | None) -> None:
    """Raise ConfigurationError if a number is given and is not greater than zero."""
    if value is not None and not value > 0:
        raise ConfigurationError(f"{name}={value}: must be more than 0")


def is_terminal() -> bool:
    """Return whether stderr, which shows progress, is a terminal."""
    return is_tty(sys.stderr)

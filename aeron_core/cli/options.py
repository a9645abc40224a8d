"""Options that several commands have, and how they are read."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.errors import ConfigurationError
from aeron_core.settings import load_client_settings

AeronDir = Annotated[
    Path | None,
    typer.Option(
        "--aeron-dir", "-d", help="Directory of the driver; AERON_DIR, or the user's own, where not given."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Channel = Annotated[
    str, typer.Argument(help="Channel, such as aeron:udp?endpoint=localhost:20121 or aeron:ipc.")
]
StreamId = Annotated[int, typer.Argument(help="Stream within the channel.")]
Defines = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="NAME=VALUE", help="Set one setting, as in -Daeron.dir=/dev/shm/mine."),
]
SettingsFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", help="Files .properties, or .toml with a table [driver]."),
]


def directory_of(aeron_dir: Path | None) -> Path:
    """Return the directory that was given, or the one of the environment."""
    return aeron_dir or load_client_settings().settings.aeron_dir


def print_json(document: Mapping[str, object] | Sequence[object]) -> None:
    """Print one JSON document in one line."""
    print(json.dumps(document, ensure_ascii=False, default=str), flush=True)


def positive(name: str, value: float | None) -> None:
    """Raise ConfigurationError for a number that was given and is not above zero, or none at all, as `nan`."""
    if value is not None and not value > 0:
        raise ConfigurationError(f"{name}={value}: must be more than 0")


def is_terminal() -> bool:
    """Return whether a person sees stderr, where progress is shown."""
    return sys.stderr.isatty()

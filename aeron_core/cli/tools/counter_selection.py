"""Selection of counters by their labels and types, for commands that show counters."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from aeron_core.concurrent.counters import CounterRecord
from aeron_core.errors import ConfigurationError

Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="Show only counters of this type: its number, or the beginning of its labels, such as pub-pos; "
        "may be repeated.",
    ),
]


def compiled(option: str, text: str) -> re.Pattern[str]:
    """Return the pattern of an option; raise ConfigurationError, which names the option, if it is none."""
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigurationError(
            f"{option}={text}: must be a regular expression of Python: {error}"
        ) from None


def beginning_of_label(record: CounterRecord) -> str:
    """Return the name of a counter without its kind: `pub-pos` for `pub-pos (concurrent): …`."""
    return record.label.partition(":")[0].partition(" (")[0]


def names_of_type(record: CounterRecord) -> set[str]:
    """Return the names of the counter's type that --type accepts."""
    return {str(record.type_id), beginning_of_label(record), record.label.partition(":")[0]}

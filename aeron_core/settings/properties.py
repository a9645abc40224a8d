r"""Property files and -Dname=value: `name = value` or `name: value`, `#` and `!` comments; `\` continues a line.

Source: aeron_properties_util.c.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from aeron_core.errors import ConfigurationError

_SEPARATOR = re.compile(r"[:=]")
_BLANKS = " \t\r\n\f"


class Property(NamedTuple):
    """A value with the name as written."""

    name: str
    value: str


def environment_name(property_name: str) -> str:
    """Return the environment variable of a property: AERON_DIR for `aeron.dir`."""
    return property_name.replace(".", "_").upper()


def parse_properties(text: str, where: str) -> dict[str, Property]:
    """Return the properties of a file by environment name; the last of equal names counts.

    `where` is the name of the file in messages. Empty values are kept: they unset a setting. Raises ConfigurationError
    for a line without a name or a separator.
    """
    found: dict[str, Property] = {}
    pending = ""
    # Not splitlines(), which also splits at characters that do not end a line in a property file.
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        stripped = line.lstrip(_BLANKS)
        if not stripped or stripped[0] in "#!":
            continue
        pending += stripped.removesuffix("\\")
        if stripped.endswith("\\"):
            continue
        one = _split(pending, f"{where}, line {number}")
        found[environment_name(one.name)] = one
        pending = ""
    if pending:
        one = _split(pending, f"{where}, last line")
        found[environment_name(one.name)] = one
    return found


def parse_defines(defines: Sequence[str]) -> dict[str, Property]:
    """Return the `name=value` items by environment name; the last of equal names counts.

    Raises ConfigurationError for an item without a name or a separator.
    """
    found = (_split(define.strip(_BLANKS), "-D") for define in defines)
    return {environment_name(one.name): one for one in found}


def _split(line: str, where: str) -> Property:
    match = _SEPARATOR.search(line)
    name = line[: match.start()].rstrip(_BLANKS) if match is not None else ""
    if match is None or not name:
        raise ConfigurationError(f"{line!r} ({where}): must be name=value or name:value")
    return Property(name, line[match.end() :].strip(_BLANKS))

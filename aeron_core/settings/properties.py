r"""Property files and -Dname=value: `name = value` or `name: value`, `#` and `!` comments, `\` at ends.

Source: aeron_properties_util.c.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from aeron_core.errors import ConfigurationError

_SEPARATOR = re.compile(r"[:=]")
_BLANKS = " \t\r\n\f"


def environment_name(property_name: str) -> str:
    """Return the environment variable that a property stands for: `aeron.dir` is AERON_DIR."""
    return property_name.replace(".", "_").upper()


def parse_properties(text: str, where: str) -> dict[str, str]:
    """Return the values of a property file by environment name; the last of equal names counts.

    `where` names the file in messages. An empty value is kept: it takes a setting back.
    """
    found: dict[str, str] = {}
    pending = ""
    # Not splitlines(): only these end a line in a property file.
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        stripped = line.lstrip(_BLANKS)
        if not stripped or stripped[0] in "#!":
            continue
        pending += stripped.removesuffix("\\")
        if stripped.endswith("\\"):
            continue
        name, value = _split(pending, f"{where}, line {number}")
        found[name] = value
        pending = ""
    if pending:
        name, value = _split(pending, f"{where}, last line")
        found[name] = value
    return found


def parse_defines(defines: Sequence[str]) -> dict[str, str]:
    """Return the values of `name=value` items by environment name; the last of equal names counts."""
    return dict(_split(define.strip(_BLANKS), "-D") for define in defines)


def _split(line: str, where: str) -> tuple[str, str]:
    match = _SEPARATOR.search(line)
    name = line[: match.start()].rstrip(_BLANKS) if match is not None else ""
    if match is None or not name:
        raise ConfigurationError(f"{line!r} ({where}): must be name=value")
    return environment_name(name), line[match.end() :].strip(_BLANKS)

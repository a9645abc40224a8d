"""Man pages of commands, in roff, with their sections in the order of man-pages(7), from their help texts.

Made when they are asked for: the pages of all commands would be a hundredth of the size that a wheel may have.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from aeron_core.cli import outcome
from aeron_core.cli.command import name_of, usage_of
from aeron_core.cli.groups import LazyGroup
from aeron_core.cli.program import HELP, PROGRAM
from aeron_core.version import VERSION

SECTION: Final = 1
_CODE: Final = re.compile(r"`([^`]*)`")
_BRACKETS: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")

#: Of all commands.
ENVIRONMENT: Final = (
    ("AERON_DIR", "Directory of the driver, if --aeron-dir does not name one."),
    ("AERON_...", "Settings of drivers and clients; `aeron-core settings show` lists them."),
    ("NO_COLOR", "Print no colours if it is set and not empty."),
)


def man_pages(command: object) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of the page of the program and of each command below it."""
    yield from _pages((PROGRAM,), command)


def man_page(command: Any, names: Sequence[str]) -> str | None:
    """Return the page of the command that `names` lead to from the program; None if there is none."""
    for name in names:
        command = _children(command).get(name)
        if command is None:
            return None
    return _text_of((PROGRAM, *names), command)


def _pages(path: tuple[str, ...], command: Any) -> Iterator[tuple[str, str]]:
    yield f"{'-'.join(path)}.{SECTION}", _text_of(path, command)
    for child, below in _children(command).items():
        yield from _pages((*path, child), below)


def _text_of(path: tuple[str, ...], command: Any) -> str:
    return "\n".join(_page(path, command, _children(command))) + "\n"


def _children(command: Any) -> dict[str, Any]:
    """Return the commands of a group, all imported; none of a command."""
    if not isinstance(command, LazyGroup):
        return dict(getattr(command, "commands", {}))
    # The commands of this package use no context.
    return {name: command.get_command(None, name) for name in command.list_commands(None)}


def _page(path: tuple[str, ...], command: object, children: dict[str, object]) -> Iterator[str]:
    first, *rest = [HELP] if len(path) == 1 else _paragraphs(command)
    source = quoted(f"{PROGRAM} {VERSION}")
    yield f'.TH {quoted("-".join(path).upper())} {SECTION} "" {source} {quoted("User Commands")}'
    yield ".SH NAME"
    # The form that mandb and apropos read: without fonts.
    yield f"{roff('-'.join(path))} \\- {roff(first.replace('`', '').rstrip('.'))}"
    yield ".SH SYNOPSIS"
    arguments = [usage_of(param) for param in _params(command, "argument")]
    usage = ["[OPTIONS]", *(["COMMAND", "[ARGS]..."] if children else arguments)]
    yield f"\\fB{roff(' '.join(path))}\\fP {roff(' '.join(usage))}"
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate([first, *rest]):
        yield from ([".PP"] if number else [])
        yield formatted(paragraph)
    yield from _definitions(
        "ARGUMENTS", ((name_of(param), param.help) for param in _params(command, "argument"))
    )
    yield from _definitions("OPTIONS", map(_option, _params(command, "option")))
    yield from _definitions(
        "COMMANDS",
        (
            (f"{PROGRAM if len(path) == 1 else ' '.join(path)} {name}", _paragraphs(child)[0])
            for name, child in children.items()
        ),
    )
    if not children:
        yield from _definitions("EXIT STATUS", _exit_codes())
        yield from _definitions("ENVIRONMENT", ENVIRONMENT)
    yield ".SH SEE ALSO"
    above = "-".join(path[:-1])
    names = [f"{'-'.join(path)}-{name}" for name in children] if children else []
    also = [above, *names] if above else names
    yield ",\n".join(f".BR {roff(name)} ({SECTION})" for name in sorted(also)).replace(",\n", " ,\n")


def _params(command: object, kind: str) -> list[Any]:
    return [param for param in getattr(command, "params", []) if param.param_type_name == kind]


def _paragraphs(command: object) -> list[str]:
    text = inspect.cleandoc(getattr(command, "help", None) or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _option(param: Any) -> tuple[str, str]:
    names = ", ".join([*param.opts, *param.secondary_opts])
    default = param.default
    is_shown = default not in (None, False, "", []) and not callable(default)
    text = param.help or ""
    return f"{names} {param.metavar or ''}".rstrip(), f"{text} Default: {default}." if is_shown else text


def _exit_codes() -> Iterator[tuple[str, str]]:
    for line in (inspect.getdoc(outcome) or "").splitlines():
        code, _, meaning = line.strip().partition(" ")
        if code[:1].isdigit():
            yield code, meaning.strip()


def _definitions(
    title: str, entries: Iterator[tuple[str, str | None]] | tuple[tuple[str, str], ...]
) -> Iterator[str]:
    """Yield a section with terms and their texts, nothing if there is none."""
    for number, (term, text) in enumerate(entries):
        yield from ([f".SH {quoted(title)}"] if number == 0 else [])
        yield ".TP"
        yield f"\\fB{roff(term)}\\fP"
        yield formatted(text or "")


def formatted(text: str) -> str:
    """Return prose as roff: code in bold, links by their text."""
    parts = _CODE.split(_BRACKETS.sub(r"\1", text))
    return roff_line(
        "".join(f"\\fB{roff(part)}\\fP" if number % 2 else roff(part) for number, part in enumerate(parts))
    )


def roff(text: str) -> str:
    """Return text without characters that roff interprets; a hyphen can be copied as one."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in escaped)


def roff_line(text: str) -> str:
    """Return a line that does not begin with a control character."""
    return f"\\&{text}" if text.startswith((".", "'")) else text


def quoted(text: str) -> str:
    """Return an argument of a macro."""
    escaped = roff(text).replace('"', "\\(dq")
    return f'"{escaped}"'

"""Write a man page for each command, in the order of sections of man-pages(7): `python docs/man_pages.py FOLDER`.

From the same help texts as docs/reference/cli.md. The pages are in FOLDER/man1; `man -M FOLDER aeron-core` shows one.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from aeron_core.cli import outcome
from aeron_core.cli.command import name_of, usage_of
from aeron_core.cli.program import HELP, PROGRAM
from aeron_core.version import VERSION

SECTION = 1
_CODE = re.compile(r"`([^`]*)`")
_BRACKETS = re.compile(r"\[([^\]]*)\]\([^)]*\)")

#: Of all commands.
ENVIRONMENT = (
    ("AERON_DIR", "Directory of the driver, if --aeron-dir does not name one."),
    ("AERON_...", "Settings of drivers and clients; `aeron-core settings show` lists them."),
    ("NO_COLOR", "Print no colours if it is set and not empty."),
)


def man_pages(command: object) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of the page of the program and of each command below it."""
    yield from _pages((PROGRAM,), command)


def _pages(path: tuple[str, ...], command: object) -> Iterator[tuple[str, str]]:
    children = dict(getattr(command, "commands", {}))
    name = "-".join(path)
    yield f"{name}.{SECTION}", "\n".join(_page(path, command, children)) + "\n"
    for child, below in children.items():
        yield from _pages((*path, child), below)


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


def _params(command: object, kind: str) -> list[typer.core.TyperOption]:
    return [param for param in getattr(command, "params", []) if param.param_type_name == kind]


def _paragraphs(command: object) -> list[str]:
    text = inspect.cleandoc(getattr(command, "help", None) or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _option(param: typer.core.TyperOption) -> tuple[str, str]:
    names = ", ".join([*param.opts, *param.secondary_opts])
    default = param.default
    is_shown = default not in (None, False, "", []) and not callable(default)
    text = param.help or ""
    return f"{names} {param.metavar or ''}".rstrip(), f"{text} Default: {default}." if is_shown else text


def _exit_codes() -> Iterator[tuple[str, str]]:
    for line in (inspect.getdoc(outcome) or "").splitlines():
        code, _, meaning = line.strip().partition(" ")
        if code.isdigit():
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


def main() -> None:
    """Write the pages into the folder that the command line names."""
    from generate import program  # noqa: PLC0415 - found beside this program

    folder = Path(sys.argv[1]) / f"man{SECTION}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages(typer.main.get_command(program())):
        (folder / name).write_text(text, encoding="utf-8")
    print(f"wrote {folder}; man -M {folder.parent} {PROGRAM} shows the first page")


if __name__ == "__main__":
    main()

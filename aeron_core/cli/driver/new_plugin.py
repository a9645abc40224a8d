"""`aeron-core plugins new`: a distribution with a plugin that works, its tests, its page and its CI file.

The texts are in plugin_templates.toml, without a template engine: docs/decisions/0016-plugins-from-plain-templates.md.
Invariant: the new folder appears complete or not at all.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import Annotated, Any, Final

import typer

from aeron_core.cli.index import PLUGINS
from aeron_core.cli.text_table import counted
from aeron_core.errors import ConfigurationError
from aeron_core.version import DISTRIBUTION

#: Characters of the longest name. Invented: file names with it remain below the 255 bytes of file systems.
_MAX_NAME_LENGTH: Final = 64
# Source: packaging.python.org, names and normalization; a module must also begin with a letter.
_NAME: Final = re.compile(r"[A-Za-z]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_SPI_VERSION: Final = """\
#: SPI version that this module was compiled against: another aeron-core refuses it instead of calling wrong methods.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

"""


class PluginKind(StrEnum):
    """What a new plugin provides."""

    FLOW_CONTROL = "flow-control"
    CONGESTION = "congestion"
    RESOLVER = "resolver"
    MEDIUM = "medium"
    IDLE_STRATEGY = "idle-strategy"
    PROTECTOR = "protector"
    DECODER = "decoder"


def new_plugin(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the distribution, such as short-bursts.")
    ],
    kind: Annotated[
        PluginKind,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="flow-control, congestion, resolver, medium, idle-strategy, protector or decoder (of Spark).",
        ),
    ],
    compiled: Annotated[
        bool, typer.Option("--compiled", help="A strategy without the GIL: flow-control and congestion only.")
    ] = False,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Folder in which the new folder is created.")
    ] = Path(),
) -> None:
    """Create a distribution with a plugin: code, tests, README and CI file."""
    templates = tomllib.loads(Path(__file__).with_name("plugin_templates.toml").read_text(encoding="utf-8"))
    template = templates["kinds"][kind.value]
    if compiled and "compiled" not in template:
        able = " and ".join(key for key, value in templates["kinds"].items() if "compiled" in value)
        raise ConfigurationError(
            f"--compiled: there is no compiled form of --kind {kind.value}, only of {able}: leave the option out"
        )
    values = _values_of(name, template, templates["compiling"] if compiled else "")
    _check_table(values["plugin"], template)
    texts = dict(templates["files"]) | template["files"]
    if "hook" in template:
        texts |= templates["hooked"]
    if compiled:
        texts |= templates["compiled"] | template["compiled"]
    files = {_filled(path, values): _filled(text.removeprefix("\n"), values) for path, text in texts.items()}
    folder = to / name
    _write(folder, files)
    isolation = values["isolation"]
    print(f"created {folder}: {counted(len(files), 'file')}, {values['noun']} {values['plugin']!r}")
    # Without an isolated environment, pip takes what compiles it from this one.
    tools = "python -m pip install 'setuptools>=77' 'Cython>=3.1' && " if compiled else ""
    print(
        f"next: cd {shlex.quote(str(folder))} && {tools}python -m pip install {isolation}-e '.[test]' && "
        "python -m pytest"
    )
    if compiled:
        print("after an edit of the strategy, compile it again: the same commands")


def _values_of(name: str, template: Mapping[str, Any], compiling: str) -> dict[str, str]:
    """Return what the texts of a plugin mention; raise ConfigurationError for a name that cannot be used.

    `compiling`: the paragraph of the README about compiling, empty for a plugin in plain Python.
    """
    if len(name) > _MAX_NAME_LENGTH or _NAME.fullmatch(name) is None:
        raise ConfigurationError(
            f"NAME={name[: _MAX_NAME_LENGTH + 1]}: must be a letter, then letters, digits, '.', '-' and '_', with a "
            f"letter or digit at the end, and at most {_MAX_NAME_LENGTH} characters"
        )
    plugin = re.sub(r"[-_.]+", "-", name).lower()
    module = plugin.replace("-", "_")
    if iskeyword(module) or module in sys.stdlib_module_names or find_spec(module) is not None:
        raise ConfigurationError(
            f"NAME={name}: its module {module} exists in this Python already: choose another name, or uninstall that"
        )
    words = "".join(part[:1].upper() + part[1:] for part in module.split("_"))
    part = template["part"]
    compiled = bool(compiling)
    is_hooked = "hook" in template
    return {
        "extra": "" if is_hooked else "[spark]",
        "factory": template.get("factory", ""),
        "hook": template.get("hook", ""),
        "name": name,
        "noun": template["noun"],
        "summary": template["summary"],
        "part": part,
        "plugin": plugin,
        "module": module,
        "cls": words.removesuffix(template.get("suffix", "")) + template.get("suffix", ""),
        "use": Template(template["use"].removeprefix("\n")).substitute(plugin=plugin),
        "group": "aeron_core" if is_hooked else "pyspark_aeron.decoders",
        "entry": f"{module}.plugin" if is_hooked else f"{module}.{part}:decode",
        "listed": "aeron-core plugins list" if is_hooked else f"python -c 'import {module}.{part}'",
        "where_named": f"`src/{module}/plugin.py`" if is_hooked else "`pyproject.toml`",
        "requires": ', "Cython>=3.1", "aeron-core"' if compiled else "",
        "tools": ", `setuptools` and `Cython`" if compiled else "",
        "isolation": "--no-build-isolation " if compiled else "",
        "compiling": compiling,
        "edits": f", except one of `{part}.py`, which the same command compiles again" if compiled else "",
        "base": f"({template['base']})" if compiled else "",
        "base_import": f"{template['base']}, " if compiled else "",
        "final_import": "from typing import Final\n\n" if compiled else "",
        "native_import": "from aeron_core._native import wire\n" if compiled else "",
        "spi_version": _SPI_VERSION if compiled else "",
    }


def _check_table(plugin: str, template: Mapping[str, Any]) -> None:
    """Raise ConfigurationError if aeron-core itself provides the name: a driver would refuse the second one."""
    own = {name for tables in PLUGINS.values() for name in tables.get(template.get("hook", ""), ())}
    if plugin in own:
        raise ConfigurationError(
            f"NAME={plugin}: {DISTRIBUTION} has a {template['noun']} of this name: choose another name than "
            f"{', '.join(sorted(own))}"
        )


def _filled(text: str, values: Mapping[str, str]) -> str:
    return Template(text).substitute(values)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write `files`, texts by path within `folder`; remove them all if that fails.

    Raises ConfigurationError if the folder exists, or if its parent does not.
    """
    if folder.exists() or folder.is_symlink():
        raise ConfigurationError(
            f"{folder} exists: choose another name, another folder with --to, or delete it"
        )
    if not folder.parent.is_dir():
        raise ConfigurationError(f"--to {folder.parent}: must be a folder that exists")
    # Beside the new folder: a rename within one file system moves all files at once.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as staging:
        root = Path(staging, folder.name)
        for path, text in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        root.rename(folder)

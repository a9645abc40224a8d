"""Entry points of installed distributions, found without `importlib.metadata`.

The import of that module, with a parser of e-mails, takes a tenth of the time until a driver is ready. What is read
here is the same: `*.dist-info` and `*.egg-info` in the folders of the search path. If there is anything else that may
have distributions, such as an archive or a finder of another program, `importlib.metadata` is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

_SUFFIXES = (".dist-info", ".egg-info")


class InstalledDistribution:
    """Name and version of a distribution, read when they are first used."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @cached_property
    def _headers(self) -> dict[str, str]:
        name = "METADATA" if self._folder.endswith(".dist-info") else "PKG-INFO"
        head = _read(self._folder, name).partition("\n\n")[0]
        pairs = (line.partition(":") for line in head.splitlines() if not line.startswith((" ", "\t")))
        return {key.lower(): value.strip() for key, _, value in pairs}

    @property
    def name(self) -> str:
        """The name as the distribution writes it."""
        return self._headers.get("name", "unknown")

    @property
    def version(self) -> str:
        """The version, empty if the metadata names none."""
        return self._headers.get("version", "")


class InstalledEntryPoint:
    """One entry point: a name, the text `module:attribute`, and the distribution that has both."""

    def __init__(self, name: str, value: str, dist: InstalledDistribution) -> None:
        self.name = name
        self.value = value
        self.dist = dist

    def load(self) -> Any:
        """Import the module and return it, or the attribute that the text names; errors are not caught."""
        module, _, path = self.value.partition("[")[0].partition(":")
        found: Any = import_module(module.strip())
        for attribute in filter(None, path.strip().split(".")):
            found = getattr(found, attribute)
        return found


def entry_points(*, group: str) -> Iterable[Any]:
    """Return the entry points of a group in the order of the search path, with `name`, `value`, `dist` and `load`.

    A distribution that is found twice counts once, as the first that was found.
    """
    # A finder that has the method from PathFinder adds nothing.
    finders = (getattr(finder, "find_distributions", None) for finder in sys.meta_path)
    if all(finder is None or finder == PathFinder.find_distributions for finder in finders):
        # The path of an archive, such as that of the standard library, may name nothing.
        with suppress(NotADirectoryError):
            return list(_found(group))
    from importlib import metadata  # noqa: PLC0415 - slow to import

    return metadata.entry_points(group=group)


def _found(group: str) -> Iterator[InstalledEntryPoint]:
    seen = set()
    header = f"[{group}]"
    # Imports ignore a Path in it, and other objects, but `importlib.metadata` reads a Path.
    for folder in (os.fspath(entry) for entry in sys.path if isinstance(entry, str | os.PathLike)):
        for name in _names(folder):
            key = _normalized(name)
            if key in seen:
                continue
            seen.add(key)
            path = os.path.join(folder, name)
            text = _read(path, "entry_points.txt")
            if header in text:
                dist = InstalledDistribution(path)
                yield from (InstalledEntryPoint(*pair, dist) for pair in _section(text, header))


def _names(folder: str) -> list[str]:
    """Return the names of the metadata folders in a folder; raise NotADirectoryError for an archive or an egg."""
    if folder.endswith(".egg"):
        raise NotADirectoryError(folder)
    try:
        return [name for name in os.listdir(folder or ".") if name.endswith(_SUFFIXES)]
    except NotADirectoryError:
        raise
    except OSError:
        return []


def _normalized(name: str) -> str:
    """Return the name of a distribution as the name of its folder has it, in the one form that is compared."""
    parts = name.rpartition(".")[0].partition("-")[0].lower().replace("-", "_").replace(".", "_").split("_")
    return "_".join(filter(None, parts))


def _section(text: str, header: str) -> Iterator[tuple[str, str]]:
    """Return the names and values of a section of `entry_points.txt`."""
    is_inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            is_inside = line == header
        elif is_inside and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _read(folder: str, name: str) -> str:
    try:
        # Authors may be written in another encoding, and what is read here is ASCII.
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

"""Translate many modules to C with Cython, and parse each declaration file once.

Cython translates each module in a new context and parses all declarations (`.pxd`) that the module needs again: about
24 here, half of the time of a translation. Contexts cannot be shared, because a module leaves traces in the
declarations that it used. A process can: this one parses all declarations, then each module is translated in a fork of
it, which no other module sees. 169 modules take 37 instead of 81 s of processor time.
"""

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import Cython
from Cython.Build import Dependencies, cythonize
from Cython.Compiler import Errors, Main
from setuptools import Extension

#: This file calls internal functions of Cython: the releases that it was compared with, module by module.
KNOWN_RELEASES = ("3.3.",)
#: For fewer modules the declarations of all would take longer.
LEAST_MODULES = 8


class NamesAfterCimport:
    """Pattern for the names after `from package cimport`, in place of Cython's, which never matches there.

    Its `^` matches at the start of a line, not where a search begins. Cython therefore does not find that a module
    needs the declarations of `from package cimport module`, and old values of constants remain in its C code.
    """

    def __init__(self, names: str = "") -> None:
        """Hold the names of a match."""
        self._names = names

    def search(self, source: str, pos: int) -> "NamesAfterCimport | None":
        """Return the names from a position on, without those after `as`."""
        found = NAMES_PATTERN.match(source, pos)
        return NamesAfterCimport(re.sub(r"\s+as\s+\w+", "", found[1] or found[2])) if found else None

    def groups(self) -> tuple[str, str]:
        """Return what a match of Cython's pattern returns: names in parentheses, or else in one line."""
        return "", self._names


#: In parentheses, also in several lines, or up to the end of the line.
NAMES_PATTERN = re.compile(r"[ \t\f]+(?:\(([\w.,\s]*)\)|([\w., \t\f]*))[ \t\f]*[#\n]")
Dependencies.dependency_after_from_regex = NamesAfterCimport()


class SharedContext(Main.Context):
    """Context with declarations that were parsed in advance.

    A module gets the code of all declarations in `pxds`, in the order in which it requests them. Declarations are
    therefore set apart first, and enter `pxds` only when the module requests them, after those which they request.
    """

    def __init__(self, options: object, names: Sequence[str]) -> None:
        """Parse the declarations of modules."""
        super().__init__(
            options.include_path,
            options.compiler_directives,
            options.cplus,
            options.language_level,
            options=options,
        )
        Errors.init_thread()
        self._unused = None
        for name in names:
            self.find_module(name)
        self._unused = {id(scope): (name, nodes, scope) for name, (nodes, scope) in self.pxds.items()}
        self.pxds = {}

    def find_module(self, *args: object, **options: object) -> object:
        """Return the scope of a module; parse its declarations unless this has happened."""
        scope = super().find_module(*args, **options)
        if self._unused is not None:
            self._use(scope)
        return scope

    def _use(self, scope: object) -> None:
        """Enter declarations that were parsed in advance."""
        found = self._unused.pop(id(scope), None)
        if found is not None:
            for needed in scope.cimported_modules:
                self._use(needed)
            name, nodes, _ = found
            self.pxds[name] = (nodes, scope)


class Forks:
    """Child processes, a limited number at a time."""

    def __init__(self, limit: int) -> None:
        """Prepare for at most `limit` children at a time."""
        self._limit = limit
        self._running: dict[int, str] = {}
        self.failed: list[str] = []

    def start(self, name: str, run: object, *args: object) -> None:
        """Call a function in a child process; wait for another child first if too many run."""
        if len(self._running) >= self._limit:
            self._wait_for_one()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            self._running[pid] = name
            return
        status = 1
        try:
            run(*args)
            status = 0
        except BaseException as error:
            # Caught here: nothing of the parent may run in the child.
            print(f"error: {name}: {error}", file=sys.stderr)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def finish(self) -> None:
        """Wait for all children."""
        while self._running:
            self._wait_for_one()

    def _wait_for_one(self) -> None:
        pid, status = os.wait()
        name = self._running.pop(pid)
        if status:
            self.failed.append(name)


def translate(modules: Sequence[Extension], *, processes: int, **options: object) -> list[Extension]:
    """Translate the modules that have changed; return one extension for each, with C sources.

    An extension whose C code a translation has not changed has the attribute `unchanged_since`: the time of the file
    with that code before.

    Takes the options of `cythonize`. Prints how many modules it translates. Raises SystemExit if a module cannot be
    translated; Cython has then printed why.
    """
    if not Cython.__version__.startswith(KNOWN_RELEASES) or not hasattr(os, "fork"):
        return cythonize(list(modules), nthreads=processes, **options)
    # `cythonize` decides which modules have changed. Without threads it calls this function for each.
    tasks = []
    translate_one = Dependencies.cythonize_one
    Dependencies.cythonize_one = lambda *task: tasks.append(task)
    try:
        translated = cythonize(list(modules), **options)
    finally:
        Dependencies.cythonize_one = translate_one
    if not tasks:
        return translated
    print(f"translating {len(tasks)} of {len(modules)} modules", file=sys.stderr)
    contexts: dict[int, SharedContext] = {}
    names = [module.name for module in modules] if len(tasks) >= LEAST_MODULES else []

    def translate_with(context: SharedContext, task: Sequence[object]) -> None:
        context.options = task[OPTIONS]
        Main.Context.from_options = lambda _: context
        translate_one(*task)

    forks = Forks(processes)
    before = {task[C_FILE]: state_of(task[C_FILE]) for task in tasks}
    for task in tasks:
        source, task_options = task[SOURCE], task[OPTIONS]
        context = contexts.get(id(task_options))
        if context is None:
            context = contexts[id(task_options)] = SharedContext(task_options, names)
        forks.start(str(source), translate_with, context, task)
    forks.finish()
    if forks.failed:
        raise SystemExit(f"error: Cython cannot translate {', '.join(forks.failed)}")
    for extension in translated:
        digest, time = before.get(extension.sources[0], (None, 0))
        if digest is not None and digest == state_of(extension.sources[0])[0]:
            extension.unchanged_since = time
    return translated


def state_of(path: str) -> tuple[bytes | None, float]:
    """Return a digest of a file and its time; None and 0 if there is none."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest(), os.path.getmtime(path)
    except FileNotFoundError:
        return None, 0


#: Positions in the arguments of `cythonize_one`.
SOURCE = 0
C_FILE = 1
OPTIONS = 4

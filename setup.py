"""Build rule alone: compile every module that has a sibling `.pxd`; all metadata is in pyproject.toml."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist

# A build in isolation does not look for modules in the folder of this file.
sys.path.insert(0, str(Path(__file__).parent / "tools"))
from compile_flags import FLAGS_DIRECTORY, SANITIZERS, compile_arguments, link_arguments, record_flags
from compiler import compression_library, require_compiler
from translation import translate

ROOTS = [
    ".",
    "plugins/flow_control",
    "plugins/congestion",
    "plugins/resolvers",
    "plugins/media",
    "plugins/security",
]
# The source roots, also those without compiled modules.
SOURCE_ROOTS = [*ROOTS, "plugins/spark"]
PACKAGES = [
    "aeron_core",
    "aeron_flow_control",
    "aeron_congestion",
    "aeron_resolvers",
    "aeron_media",
    "aeron_security",
]
#: Packages whose C declarations no plugin may use: wheels are without them.
PRIVATE = ("aeron_core.driver", "aeron_core.recording", "aeron_core.testing", *PACKAGES[1:])
DIRECTIVES = {
    "language_level": 3,
    # Python annotations describe the Python face; C types live in the .pxd alone.
    "annotation_typing": False,
    # Locals of compiled modules take the C type of what is assigned to them.
    "infer_types": True,
    # Positions and ids wrap as in C; division by a variable is never done on a hot path.
    "cdivision": True,
    # No object of a driver or client survives its process: pickling would add two methods to each class.
    "auto_pickle": False,
    # Methods are built-in ones: Cython's own function objects triple the work of the C compiler and slow each call.
    "binding": False,
    # The signatures that `help` and `inspect.signature` show, because built-in methods have no code object.
    "embedsignature": True,
    "embedsignature.format": "clinic",
}
# For a coverage build (`make coverage`): packages whose modules report each line that they execute.
TRACED = tuple(os.environ.get("AERON_CORE_LINE_TRACE", "").split())
# Cython repeats each source line above its C code: a third of what the C compiler reads. Coverage needs it. An option
# until Cython 3.2, then a directive.
Options.emit_code_comments = bool(TRACED)
if "emit_code_comments" in Options.get_directive_defaults():
    DIRECTIVES["emit_code_comments"] = bool(TRACED)
# The only modules that inflate and deflate; they are linked with a compression library.
COMPRESSING = {
    "aeron_media.lumberjack._native.inflater",
    "aeron_media.lumberjack._native.deflater",
}
# Generated C files; the source tree holds sources and extension modules only. Coverage looks beside the sources.
C_DIRECTORY = None if TRACED else "build/cython"
CORES = os.cpu_count() or 1


def is_traced(name: str) -> bool:
    """Return whether a module reports the lines that it executes."""
    return any(name == package or name.startswith(f"{package}.") for package in TRACED)


def extension(name: str, source: Path) -> Extension:
    """Return the extension of one module."""
    return Extension(
        name,
        [str(source)],
        include_dirs=["aeron_core/_native", str(source.parent)],
        # Without the GIL too: a traced line takes it.
        define_macros=[("CYTHON_TRACE_NOGIL", "1")] if is_traced(name) else [],
        depends=[str(path) for path in sorted(source.parent.glob("*.h"))],
        extra_compile_args=compile_arguments(name),
        extra_link_args=link_arguments(),
    )


def extensions() -> list[Extension]:
    """Return one extension for each module with a sibling `.pxd`."""
    found = []
    for root in map(Path, ROOTS):
        for package in PACKAGES:
            for declaration in sorted((root / package).rglob("*.pxd")):
                sources = [declaration.with_suffix(suffix) for suffix in (".pyx", ".py")]
                source = next((path for path in sources if path.exists()), None)
                if source is not None and source.name != "__init__.py":
                    name = ".".join(declaration.relative_to(root).with_suffix("").parts)
                    found.append(extension(name, source))
    return found


class Build(build):
    """Check what the compiler needs before anything is copied, so that an error is not behind a long log."""

    def run(self) -> None:
        """Build the distribution."""
        if self.distribution.has_ext_modules():
            compression_library()
            require_compiler()
        # After the checks, so that a build that cannot start changes nothing; before the file is copied.
        record_commit()
        super().run()


class BuildModules(build_py):
    """Leave out declarations that no plugin may use."""

    def exclude_data_files(self, package: str, src_dir: str, files: list[str]) -> list[str]:
        """Return the data files of a package for the wheel."""
        is_private = any(f"{package}.".startswith(f"{name}.") for name in PRIVATE)
        kept = super().exclude_data_files(package, src_dir, files)
        return [file for file in kept if not (is_private and file.endswith((".pxd", ".h")))]


def is_newer(path: str, time: float, others: list[str]) -> bool:
    """Return whether a file exists and is newer than a time and than other files."""
    times = [time, *(os.path.getmtime(other) for other in others if os.path.exists(other))]
    return os.path.exists(path) and os.path.getmtime(path) > max(times)


class BuildExtensions(build_ext):
    """Translate to C in processes, compile in threads, and report progress.

    Translation runs here, not when this file is read, so that metadata and source distributions cost nothing.
    """

    def run(self) -> None:
        """Build all extensions."""
        self._started = time.monotonic()
        self._compiled = 0
        self._lock = threading.Lock()
        for ext in self.extensions:
            if ext.name in COMPRESSING:
                library, macros = compression_library()
                ext.libraries, ext.define_macros = [library], [*ext.define_macros, *macros]
        require_compiler()
        self._translate([ext for ext in self.extensions if not is_traced(ext.name)], DIRECTIVES)
        self._translate(
            [ext for ext in self.extensions if is_traced(ext.name)], DIRECTIVES | {"linetrace": True}
        )
        super().run()
        if self.inplace:
            record_commit()

    def _translate(self, modules: list[Extension], directives: dict[str, object]) -> None:
        """Translate modules to C and make the C files their sources."""
        translated = translate(
            modules,
            processes=CORES,
            compiler_directives=directives,
            include_path=ROOTS,
            build_dir=C_DIRECTORY,
            force=self.force,
            quiet=True,
            # Reports of sanitizers name lines of the source instead of the generated C file.
            emit_linenums=bool(SANITIZERS),
        )
        for ext, done in zip(modules, translated, strict=True):
            ext.sources, ext.depends = done.sources, done.depends
            ext.unchanged_since = getattr(done, "unchanged_since", None)

    def build_extension(self, ext: Extension) -> None:
        """Build one extension and report how many are done."""
        path = self.get_ext_fullpath(ext.name)
        stamp = FLAGS_DIRECTORY / f"{ext.name}-{'inplace' if self.inplace else 'build'}"
        record_flags(ext, stamp)
        ext.depends = [*ext.depends, str(stamp)]
        if ext.unchanged_since is not None and is_newer(path, ext.unchanged_since, ext.depends):
            # Compiled from this C code: a declaration changed that this module does not use.
            os.utime(path)
        before = os.path.getmtime(path) if os.path.exists(path) else 0
        super().build_extension(ext)
        with self._lock:
            self._compiled += 1
            if before != os.path.getmtime(path):
                self._report_progress()

    def _report_progress(self) -> None:
        """Print how many modules are done: on a terminal in one line, else every 25 modules."""
        count = len(self.extensions)
        is_last = self._compiled == count
        if sys.stderr.isatty() or is_last or self._compiled % 25 == 0:
            seconds = time.monotonic() - self._started
            start, end = ("\r", "" if not is_last else "\n") if sys.stderr.isatty() else ("", "\n")
            print(
                f"{start}compiled {self._compiled} of {count} modules, {seconds:.0f} s",
                end=end,
                file=sys.stderr,
            )


class PathFile:
    """Content of an editable installation: a `.pth` file with the source roots.

    With several roots setuptools installs an import hook instead, which type checkers and editors cannot read.
    """

    def __init__(self, name: str) -> None:
        self._name = f"__editable__.{name}.pth"

    def __call__(self, wheel, files: list[str], mapping: dict[str, str]) -> None:
        """Write the file into the wheel."""
        wheel.writestr(self._name, "".join(f"{(ROOT / root).resolve()}\n" for root in SOURCE_ROOTS))

    def __enter__(self) -> "PathFile":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class EditableWheel(editable_wheel):
    """Make editable installations that type checkers can read."""

    def run(self) -> None:
        """Build the wheel."""
        record_commit()
        super().run()

    def _select_strategy(self, name: str, tag: str, build_lib: str) -> PathFile:
        # Private to setuptools, but the only place that chooses; tests/test_distributions.py fails if it changes.
        return PathFile(name)


ROOT = Path(__file__).parent
#: Read by `aeron_core.version`; part of source distributions, which have no repository.
COMMIT_FILE = ROOT / "aeron_core" / "commit.txt"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in the folder of this file."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def record_commit() -> None:
    """Write the commit that is built, for labels of counters; keep what is there if this is no repository.

    Its form, also the suffix of a commit with changes, is that of the reference (CMakeLists.txt).
    """
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return
    found = git("log", "-1", "--format=%h", "--abbrev=10")
    if found.returncode:
        return
    suffix = "+guilty" if git("diff-index", "--quiet", "HEAD", "--").returncode else ""
    text = found.stdout.strip() + suffix
    if not COMMIT_FILE.exists() or COMMIT_FILE.read_text(encoding="ascii") != text:
        COMMIT_FILE.write_text(text, encoding="ascii")


class SourceDistribution(sdist):
    """Record the commit, which an unpacked distribution does not contain."""

    def run(self) -> None:
        """Build the distribution."""
        record_commit()
        super().run()


# An editable installation compiles in a folder that it throws away, and the next `setup.py build_ext --inplace`
# would repeat all of it: with this variable the installation compiles nothing.
IS_COMPILED_ELSEWHERE = bool(os.environ.get("AERON_CORE_COMPILED_ELSEWHERE"))

setup(
    ext_modules=[] if IS_COMPILED_ELSEWHERE else extensions(),
    cmdclass={
        "build": Build,
        "build_ext": BuildExtensions,
        "build_py": BuildModules,
        "editable_wheel": EditableWheel,
        "sdist": SourceDistribution,
    },
    options={"build_ext": {"parallel": CORES}},
)

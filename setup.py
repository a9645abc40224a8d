"""Build rule alone: compile every module that has a sibling `.pxd`; all metadata is in pyproject.toml."""

import functools
import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup

ROOTS = [".", "plugins/flow_control", "plugins/congestion", "plugins/resolvers", "plugins/media"]
PACKAGES = ["aeron_core", "aeron_flow_control", "aeron_congestion", "aeron_resolvers", "aeron_media"]
DIRECTIVES = {
    "language_level": 3,
    # Python annotations describe the Python face; C types live in the .pxd alone.
    "annotation_typing": False,
    # Locals of compiled modules take the C type of what is assigned to them.
    "infer_types": True,
    # Positions and ids wrap as in C; division by a variable is never done on a hot path.
    "cdivision": True,
    "embedsignature": True,
    # No object of a driver or client survives its process: pickling would add two methods to each class.
    "auto_pickle": False,
}
# For a coverage build (`make coverage`): packages whose modules report each line that they execute.
TRACED = tuple(os.environ.get("AERON_CORE_LINE_TRACE", "").split())
# Cython repeats each source line above its C code: a third of what the C compiler reads. Coverage needs it.
Options.emit_code_comments = bool(TRACED)
# These alone inflate and deflate, and are linked with what does it.
COMPRESSING = {
    "aeron_media.lumberjack._native.inflater",
    "aeron_media.lumberjack._native.deflater",
}


def has_header(name: str) -> bool:
    """Return whether the C compiler finds a header."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]
    flags = shlex.split(os.environ.get("CPPFLAGS", "")) + shlex.split(os.environ.get("CFLAGS", ""))
    command = [*compiler, *flags, "-E", "-x", "c", "-o", os.devnull, "-"]
    done = subprocess.run(command, input=f"#include <{name}>\n", text=True, capture_output=True, check=False)
    return done.returncode == 0


@functools.cache
def compression_library() -> tuple[str, list[tuple[str, str]]]:
    """Return the library to link with and its macros: ISA-L, which is some times faster, else zlib.

    `AERON_CORE_COMPRESSION=zlib` in the environment asks for zlib where both are there.
    """
    asked = os.environ.get("AERON_CORE_COMPRESSION", "")
    if asked not in {"", "isal", "zlib"}:
        raise SystemExit(f"error: AERON_CORE_COMPRESSION={asked}: must be isal or zlib")
    if asked != "zlib" and has_header("isa-l/igzip_lib.h"):
        return "isal", [("AERON_HAS_ISAL", "1")]
    if asked != "isal" and has_header("zlib.h"):
        return "z", []
    raise SystemExit(
        "error: found no header of ISA-L or zlib: on Debian, apt-get install libisal-dev or zlib1g-dev"
    )


def is_traced(name: str) -> bool:
    """Return whether a module reports the lines that it executes."""
    return any(name == package or name.startswith(f"{package}.") for package in TRACED)


def extensions() -> list[Extension]:
    """Return one extension for each module with a sibling `.pxd`."""
    found = []
    for root in map(Path, ROOTS):
        for package in PACKAGES:
            for declaration in sorted((root / package).rglob("*.pxd")):
                sources = [declaration.with_suffix(suffix) for suffix in (".pyx", ".py")]
                source = next((path for path in sources if path.exists()), None)
                if source is None or source.name == "__init__.py":
                    continue
                name = ".".join(declaration.relative_to(root).with_suffix("").parts)
                library, macros = compression_library() if name in COMPRESSING else ("", [])
                if is_traced(name):
                    # Without the GIL too: a traced line takes it.
                    macros = [*macros, ("CYTHON_TRACE_NOGIL", "1")]
                found.append(
                    Extension(
                        name,
                        [str(source)],
                        include_dirs=["aeron_core/_native"],
                        libraries=[library] if library else [],
                        define_macros=macros,
                        depends=[str(path) for path in sorted(source.parent.glob("*.h"))],
                        extra_compile_args=[
                            "-O3",
                            # Python's own flags ask for debug information: a third of the time, most of the size.
                            "-g0",
                            "-std=gnu11",
                            "-fno-strict-aliasing",
                            # Of Python's own flags, which a CFLAGS of the environment may take the place of.
                            "-fwrapv",
                            "-DNDEBUG",
                            # Warnings about what Cython has written help nobody.
                            "-w",
                        ],
                    )
                )
    return found


CORES = os.cpu_count() or 1

# For a build that compiles by itself: an editable installation compiles in a folder that it throws away, so
# that the next `setup.py build_ext --inplace` would do all of it again.
IS_COMPILED_ELSEWHERE = bool(os.environ.get("AERON_CORE_COMPILED_ELSEWHERE"))


def translate(modules: list[Extension], directives: dict[str, object]) -> list[Extension]:
    """Return the extensions with their sources translated to C."""
    if not modules:
        return []
    translated: list[Extension] = cythonize(
        modules, compiler_directives=directives, include_path=ROOTS, nthreads=CORES, quiet=True
    )
    return translated


def translated_extensions() -> list[Extension]:
    """Return all extensions, translated; those in TRACED with line tracing."""
    modules = extensions()
    traced = [module for module in modules if is_traced(module.name)]
    others = [module for module in modules if not is_traced(module.name)]
    return translate(others, DIRECTIVES) + translate(traced, DIRECTIVES | {"linetrace": True})


setup(
    ext_modules=[] if IS_COMPILED_ELSEWHERE else translated_extensions(),
    options={"build_ext": {"parallel": CORES}},
)

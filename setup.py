"""Build rule alone: compile every module that has a sibling `.pxd`; all metadata is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
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
}


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
                found.append(
                    Extension(
                        name,
                        [str(source)],
                        include_dirs=["aeron_core/_native"],
                        depends=[str(path) for path in sorted(source.parent.glob("*.h"))],
                        extra_compile_args=[
                            "-O3",
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

setup(
    ext_modules=[]
    if IS_COMPILED_ELSEWHERE
    else cythonize(
        extensions(), compiler_directives=DIRECTIVES, include_path=ROOTS, nthreads=CORES, quiet=True
    ),
    options={"build_ext": {"parallel": CORES}},
)

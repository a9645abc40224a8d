"""Builds environments and foreign programs if they are missing; they are kept between runs.

If two processes need the same, the second one waits and finds it built.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

#: Default installation folder of Go, in addition to the search path.
GO_HOME = "/usr/local/go/bin"


@contextmanager
def alone(made: Path) -> Iterator[None]:
    """Lock the build of a folder; the lock of a killed process is released."""
    made.parent.mkdir(parents=True, exist_ok=True)
    with made.with_name(f"{made.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_once(folder: Path, content: str, make: Callable[[], object]) -> None:
    """Build a folder unless it was built from the same `content`."""
    marker = folder / "made"
    with alone(folder):
        if not (marker.exists() and marker.read_text(encoding="utf-8") == content):
            make()
            marker.write_text(content, encoding="utf-8")


def make_environment(environment: Path, requirements: Sequence[str], *, base: str = sys.executable) -> Path:
    """Return the Python of an environment with these packages from PyPI."""
    python = environment / "bin" / "python"

    def make() -> None:
        subprocess.run([base, "-m", "venv", "--clear", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)

    make_once(environment, "\n".join([sys.version, *requirements]), make)
    return python


def make_go_program(source: Path, program: Path) -> Path | None:
    """Return a Go program, None without Go; Go decides what to rebuild."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}{os.pathsep}{GO_HOME}")
    if go is None:
        return None
    # Use the installed Go only; do not download another toolchain.
    options = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    command = [go, "build", "-o", program, "."]
    with alone(program):
        subprocess.run(command, cwd=source, env={**os.environ, **options}, check=True)
    return program

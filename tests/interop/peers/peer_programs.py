"""Makes environments and programs of others where they are missing; they are kept between runs.

Two processes that want the same at once make it one after the other: the second one finds it made.
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

#: Where Go is unpacked by its own instructions, besides the search path.
GO_HOME = "/usr/local/go/bin"


@contextmanager
def alone(made: Path) -> Iterator[None]:
    """Wait until no other process makes this; a process that is killed holds nobody up."""
    made.parent.mkdir(parents=True, exist_ok=True)
    with made.with_name(f"{made.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_once(folder: Path, content: str, make: Callable[[], object]) -> None:
    """Make what belongs into a folder, unless the same was made before; `content` says what that is."""
    marker = folder / "made"
    with alone(folder):
        if not (marker.exists() and marker.read_text(encoding="utf-8") == content):
            make()
            marker.write_text(content, encoding="utf-8")


def make_environment(environment: Path, requirements: Sequence[str], *, base: str = sys.executable) -> Path:
    """Return the Python of an environment that has these packages of PyPI."""
    python = environment / "bin" / "python"

    def make() -> None:
        subprocess.run([base, "-m", "venv", "--clear", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)

    make_once(environment, "\n".join([sys.version, *requirements]), make)
    return python


def make_go_program(source: Path, program: Path) -> Path | None:
    """Return a program of Go, None without Go; Go itself knows what is to be built again."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}{os.pathsep}{GO_HOME}")
    if go is None:
        return None
    # No other Go is fetched than the one that is there.
    options = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    command = [go, "build", "-o", program, "."]
    with alone(program):
        subprocess.run(command, cwd=source, env={**os.environ, **options}, check=True)
    return program

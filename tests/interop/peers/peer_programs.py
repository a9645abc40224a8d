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
#: Options of a Java that runs for seconds: the first compiler only, and the serial collector.
QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
#: A project of Maven that copies artifacts into a folder. One for all: Maven takes 5 s of CPU time to start.
COPYING = """<project>
<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>jars</artifactId><version>1</version>
<packaging>pom</packaging>
<build><plugins><plugin><artifactId>maven-dependency-plugin</artifactId><configuration>
<outputDirectory>{folder}</outputDirectory><useBaseVersion>true</useBaseVersion>
<artifactItems>{items}</artifactItems>
</configuration></plugin></plugins></build>
</project>
"""


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


def download_jars(artifacts: Sequence[str], folder: Path) -> None:
    """Copy artifacts from Maven Central, each `group:name:version`, into an existing folder."""
    items = "".join(
        "<artifactItem><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></artifactItem>".format(
            *artifact.split(":")
        )
        for artifact in artifacts
    )
    project = folder / "pom.xml"
    project.write_text(COPYING.format(folder=folder, items=items), encoding="utf-8")
    options = " ".join(filter(None, [os.environ.get("MAVEN_OPTS"), *QUICK_JAVA]))
    command = ["mvn", "-q", "-B", "-f", project, "dependency:copy"]
    subprocess.run(command, env={**os.environ, "MAVEN_OPTS": options}, check=True)


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

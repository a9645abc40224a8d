"""Java clients and drivers of the real Aeron, in one JVM that serves the tests of a whole session."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path

from peer_programs import QUICK_JAVA, download_jars, make_once

#: The one place that names the version; `aeron-all` contains client, driver and agrona.
AERON_VERSION = "1.51.0"
ARTIFACT = f"io.aeron:aeron-all:{AERON_VERSION}"
SOURCES = sorted((Path(__file__).parents[1] / "java").glob("*.java"))
MAKE = Path(__file__).parents[3] / ".venv-java"
#: Agrona reads fields of JDK classes; a short-lived process needs neither the second compiler nor a big heap.
JVM_OPTIONS = [
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.util.zip=ALL-UNNAMED",
    "-Xshare:auto",
    *QUICK_JAVA,
    "-Xmx512m",
    "-Daeron.CubicCongestionControl.measureRtt=true",
]
ANSWER_S = 120


def missing_programs() -> list[str]:
    """Return the programs that are needed but not installed."""
    needed = ["java", "javac"] if _jar().exists() else ["java", "javac", "mvn"]
    return [program for program in needed if shutil.which(program) is None]


def class_path() -> str:
    """Return the class path of the peer, after downloading Aeron and compiling the peer if necessary."""
    classes = MAKE / "classes"

    def make() -> None:
        MAKE.mkdir(exist_ok=True)
        if not _jar().exists():
            download_jars([ARTIFACT], MAKE)
        shutil.rmtree(classes, ignore_errors=True)
        quick = (f"-J{option}" for option in QUICK_JAVA)
        subprocess.run(["javac", *quick, "-cp", _jar(), "-d", classes, *SOURCES], check=True)

    texts = "\n".join(source.read_text(encoding="utf-8") for source in SOURCES)
    make_once(MAKE, f"{ARTIFACT}\n{texts}", make)
    return f"{_jar()}{os.pathsep}{classes}"


def _jar() -> Path:
    return MAKE / f"aeron-all-{AERON_VERSION}.jar"


class JavaError(Exception):
    """An exception of the JVM."""


class JavaPeer:
    """A JVM that runs Peer.java; `start` returns at once, `call` waits for the response."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["java", *JVM_OPTIONS, "-cp", class_path(), "Peer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._ids = itertools.count(1)
        self._pending: dict[str, Future[str]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, command: str, *arguments: object) -> Future[str]:
        """Send a request and return its future response."""
        assert self.process.stdin is not None
        response: Future[str] = Future()
        with self._lock:
            request_id = str(next(self._ids))
            self._pending[request_id] = response
            self.process.stdin.write("\t".join([request_id, command, *map(str, arguments)]) + "\n")
            self.process.stdin.flush()
        return response

    def call(self, command: str, *arguments: object) -> str:
        """Send a request and return its response; raise JavaError if it failed."""
        return self.start(command, *arguments).result(ANSWER_S)

    def stop(self) -> None:
        """End the input of the process, which makes it exit."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            request_id, _, response = line.rstrip("\n").partition("\t")
            status, _, value = response.partition("\t")
            pending = self._pending.pop(request_id)
            if status == "ok":
                pending.set_result(value)
            else:
                pending.set_exception(JavaError(value))
        for pending in self._pending.values():
            pending.set_exception(JavaError("the JVM has exited"))

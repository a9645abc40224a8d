"""Processes of the system: each has a name, a log, and is started again after its death."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from laboratory.pressure import Bound


class System:
    """All processes by name. A process that ends although nothing has ended it is a violation."""

    def __init__(
        self, logs: Path, report: Callable[[str], None], may_end: Callable[[str], bool] = lambda name: False
    ) -> None:
        """`may_end`: whether a process that has ended by itself had a reason that is no violation."""
        self._logs = logs
        self._report = report
        self._may_end = may_end
        self._commands: dict[str, tuple[list[str], dict[str, str]]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._expected_dead: set[str] = set()
        self._lives: dict[str, Bound] = {}

    def add(self, name: str, command: list[object], environment: Mapping[str, str]) -> None:
        """Add a process, which is not started."""
        self._commands[name] = [str(part) for part in command], {**os.environ, **environment}

    def start(self, name: str) -> None:
        """Start a process that does not run; its output goes to its log."""
        if self.is_running(name):
            return
        command, environment = self._commands[name]
        with (self._logs / f"{name}.log").open("ab") as log:
            log.write(f"--- start at {time.monotonic():.3f}\n".encode())
            log.flush()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        self._lives[name] = Bound(0)
        self._running[name] = process
        self._expected_dead.discard(name)

    def pid(self, name: str) -> int:
        """Return the id of a process, the last one of the name."""
        return self._running[name].pid

    def is_running(self, name: str) -> bool:
        """Return whether a process runs, or is stopped by a signal."""
        return name in self._running and self._running[name].poll() is None

    def age_s(self, name: str) -> float:
        """Return the seconds since the last start of a process."""
        return self._lives[name].elapsed_s

    def stalled_share(self, name: str) -> float:
        """Return the share of the time since the last start of a process in which tasks waited for a processor."""
        return self._lives[name].stalled_s / max(self.age_s(name), 1e-3)

    def last_output(self, name: str) -> str:
        """Return what a process has printed since its last start."""
        return self.tail(name, 100_000).rpartition("--- start at ")[2]

    def names(self) -> list[str]:
        """Return the names of all processes that were started."""
        return list(self._running)

    def send(self, name: str, number: int) -> None:
        """Send a signal to a process that has not ended."""
        if self.is_running(name):
            self._running[name].send_signal(number)

    def kill(self, name: str) -> None:
        """Kill a process, with what it has started, and wait for its end."""
        self._expected_dead.add(name)
        _kill_group(self._running[name])

    def end(self, name: str, number: int = signal.SIGTERM, timeout_s: float = 15) -> int | None:
        """Ask a process to end; return its exit code, None if it had to be killed."""
        self._expected_dead.add(name)
        self.send(name, number)
        bound = Bound(timeout_s)
        while not bound.is_over():
            with suppress(subprocess.TimeoutExpired):
                return self._running[name].wait(0.5)
        self.kill(name)
        return None

    def check(self) -> None:
        """Report processes that ended by themselves, and start them again."""
        for name, process in list(self._running.items()):
            if process.poll() is not None and name not in self._expected_dead:
                if not self._may_end(name):
                    self._report(f"{name} ended by itself with code {process.returncode}: {self.tail(name)}")
                self.start(name)

    def limit(self, name: str, kind: int, soft: int | None) -> None:
        """Set a soft limit of a process, or with None lift it."""
        if self.is_running(name):
            hard = resource.prlimit(self.pid(name), kind)[1]
            resource.prlimit(self.pid(name), kind, (hard if soft is None else soft, hard))

    def tail(self, name: str, length: int = 600) -> str:
        """Return the end of a log."""
        path = self._logs / f"{name}.log"
        return path.read_text(errors="replace")[-length:] if path.exists() else ""

    def kill_all(self) -> None:
        """Kill what still runs."""
        for name, process in self._running.items():
            if process.poll() is None:
                self._expected_dead.add(name)
                _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has not ended, and its group: Java, if it is a query of Spark."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Let SIGTERM and SIGINT wait for the end of the context."""
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _: received.append(got))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in received[:1]:
            os.kill(os.getpid(), number)


def descriptors_of(pid: int) -> list[str]:
    """Return what the descriptors of a process refer to."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except OSError:  # closed meanwhile
            continue
    return sorted(found)


def log_buffers_of(pid: int) -> list[str]:
    """Return the log buffers that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    return sorted({line.split(maxsplit=5)[5] for line in lines if ".logbuffer" in line})


def status_of(pid: int) -> dict[str, int]:
    """Return resident, private and virtual memory in kilobytes, and the number of threads."""
    wanted = ("VmRSS", "RssAnon", "VmSize", "Threads")
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines())
    return {line[0][:-1]: int(line[1]) for line in lines if line and line[0][:-1] in wanted}


def cpu_s_of(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    # Fields 14 and 15, after the name in brackets, which may contain spaces.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""Machines on one switch: network namespaces, each connected by a veth pair to a bridge.

Needs root and iproute2.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from forked import start_program

PEERS = Path(__file__).parent / "peers"
HOST = PEERS / "host.py"
SWITCH = PEERS / "switch.py"
ATTACKER = PEERS / "attacker.py"
COUNT = 9
SUBNET = "10.77.0"


def ip(*arguments: object) -> None:
    """Run a program."""
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, text=True)


@dataclass(frozen=True)
class Conditions:
    """Impairment of packets to a machine, in milliseconds and percent."""

    delay: int
    jitter: int
    loss: int
    reorder: int
    duplicate: int


ROUGH = Conditions(delay=20, jitter=10, loss=5, reorder=10, duplicate=2)
#: The jitter changes the order of most datagrams.
HOSTILE = Conditions(delay=1, jitter=1, loss=5, reorder=5, duplicate=0)


@dataclass
class Process:
    """A process on one machine, and its output."""

    process: subprocess.Popen[str]
    output: list[dict[str, Any]] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    _has_ended: bool = False
    _grown: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._grown:
                if line.startswith("{"):
                    self.output.append(json.loads(line))
                else:
                    self.noise.append(line)
                self._grown.notify_all()
        with self._grown:
            self._has_ended = True
            self._grown.notify_all()

    def await_output(self, timeout: float = 60, **wanted: object) -> dict[str, Any]:
        """Wait for a line of output with these items (None for any value) and return it."""

        def found() -> dict[str, Any] | None:
            for line in self.output:
                if all(key in line and value in (None, line[key]) for key, value in wanted.items()):
                    return line
            return None

        with self._grown:
            self._grown.wait_for(lambda: found() or self._has_ended, timeout)
            line = found()
        assert line is not None, f"no output {wanted}, only {self.output[-5:]} {self.noise[-20:]}"
        return line

    def await_state(self, is_wanted: Callable[[dict[str, Any]], bool], timeout: float = 60) -> dict[str, Any]:
        """Wait until the last line of output with a state is as wanted, and return it."""

        def found() -> dict[str, Any]:
            with contextlib.suppress(StopIteration):
                state = next(line for line in reversed(self.output) if "security" in line)
                return state if is_wanted(state) else {}
            return {}

        with self._grown:
            self._grown.wait_for(lambda: found() or self._has_ended, timeout)
            state = found()
        assert state, f"not in the wanted state: {self.output[-3:]} {self.noise[-20:]}"
        return state

    def write_line(self) -> None:
        """Write a line to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def last(self, key: str) -> object:
        """Return the last output with a key."""
        with self._grown:
            return next(line[key] for line in reversed(self.output) if key in line)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Terminate it, then kill it if it does not exit."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


@dataclass
class Machines:
    """Nine machines with the addresses .1 to .9 of one subnet."""

    names: list[str]
    ports: list[str]  # ports of the switch, one per machine
    bridge: str

    def address(self, index: int) -> str:
        """Return the address of a machine."""
        return f"{SUBNET}.{index + 1}"


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    missing = None
    if os.geteuid() != 0:
        missing = "root, to create network namespaces"
    elif shutil.which("ip") is None:
        missing = "iproute2"
    if missing is not None:
        if os.environ.get("CI"):
            pytest.fail(f"these tests need {missing}; CI must run them")
        pytest.skip(f"tests between several machines need {missing}")
    names = [f"aeron-{os.getpid()}-{number}" for number in range(COUNT)]
    ports = [f"ac{os.getpid()}p{number}"[:15] for number in range(COUNT)]
    bridge = f"acb{os.getpid()}"[:15]
    try:
        # There is no multicast querier, so snooping would forget group members after a while.
        ip("link", "add", bridge, "type", "bridge", "mcast_snooping", 0)
        ip("link", "set", bridge, "up")
        for number, (name, port) in enumerate(zip(names, ports, strict=True)):
            ip("netns", "add", name)
            ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", port, "master", bridge, "up")
            ip("-n", name, "addr", "add", f"{SUBNET}.{number + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "eth0", "up")
        yield Machines(names, ports, bridge)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", bridge], check=False, capture_output=True)


@contextlib.contextmanager
def _single_datagrams(machines: Machines) -> Iterator[None]:
    """Let datagrams of a GSO run cross the links one by one, so that each is impaired separately."""
    for name in machines.names:
        ip("-n", name, "link", "set", "eth0", "gso_max_segs", 1)
    try:
        yield
    finally:
        for name, port in zip(machines.names, machines.ports, strict=True):
            subprocess.run(["tc", "qdisc", "del", "dev", port, "root"], check=False, capture_output=True)
            ip("link", "set", port, "master", machines.bridge)
            ip("-n", name, "link", "set", "eth0", "gso_max_segs", 65535)


@pytest.fixture
def rough(machines: Machines) -> Iterator[Conditions]:
    """Impair the links to all machines by netem or, on kernels without it, by an equivalent switch."""
    switch = None
    with _single_datagrams(machines):
        try:
            if not all(_set_netem(port, ROUGH) for port in machines.ports):
                switch = _start_switch(machines, ROUGH)
            yield ROUGH
        finally:
            if switch is not None:
                output, _ = switch.communicate(timeout=10)
                print(f"by {SWITCH.name}: {output}")


@pytest.fixture
def attacker(machines: Machines) -> Iterator[Callable[[], dict[str, int]]]:
    """Connect all machines by a switch that attacks sealed channels; return a function that ends it.

    The function returns how many packets it has sent, by kind.
    """
    with _single_datagrams(machines):
        switch = _start_switch(machines, HOSTILE, ATTACKER)

        def end() -> dict[str, int]:
            output, _ = switch.communicate(timeout=20)
            *noise, counts = output.splitlines()
            assert noise == []
            found: dict[str, int] = ast.literal_eval(counts)
            return found

        try:
            yield end
        finally:
            if switch.poll() is None:
                switch.kill()
                switch.wait()


def _set_netem(port: str, conditions: Conditions) -> bool:
    """Impair packets that leave by a port; return whether the kernel supports it."""
    discipline = [
        "netem", "limit", "10000", "delay", f"{conditions.delay}ms", f"{conditions.jitter}ms",
        "loss", f"{conditions.loss}%", "reorder", f"{conditions.reorder}%", "duplicate", f"{conditions.duplicate}%",
    ]  # fmt: skip
    command = ["tc", "qdisc", "add", "dev", port, "root", *discipline]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    # "Specified qdisc kind is unknown": neither built in nor a module.
    assert result.returncode == 0 or "unknown" in result.stderr, result.stderr
    return result.returncode == 0


def _start_switch(
    machines: Machines, conditions: Conditions, program: Path = SWITCH
) -> subprocess.Popen[str]:
    for port in machines.ports:
        ip("link", "set", port, "nomaster")
    switch = subprocess.Popen(
        [sys.executable, str(program), *map(str, astuple(conditions)), *machines.ports],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert switch.stdout is not None
    assert switch.stdout.readline() == "ready\n", switch.stdout.read()
    return switch


@pytest.fixture
def start(machines: Machines) -> Iterator[Callable[..., Process]]:
    """Start `host.py`, or another program, on a machine; it is terminated after the test."""
    parent = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="aeron-netns-", dir=parent if parent.is_dir() else None))
    processes: list[Process] = []

    def start_one(
        index: int, command: str, channel: str, *numbers: int, program: Path = HOST, **environment: str
    ) -> Process:
        directory = root / str(len(processes))
        within = ["ip", "netns", "exec", machines.names[index]]
        arguments = [command, str(directory), channel, *map(str, numbers)]
        process = start_program(
            [*within, sys.executable, str(program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        processes.append(Process(process))
        return processes[-1]

    yield start_one
    for process in processes:
        process.stop()
    shutil.rmtree(root, ignore_errors=True)

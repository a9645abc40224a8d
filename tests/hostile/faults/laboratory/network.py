"""Two machines, left and right: network namespaces with a switch between them. Needs root and iproute2."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from laboratory.plan import LEFT, MACHINES, RIGHT

PREFIX = "aeron-faults-"  # of the names of namespaces; the id of the process follows
SUBNET = "10.79.0"
SWITCH = Path(__file__).parent / "switch.py"
_numbers = itertools.count()
PROBE_S = 5  # for an answer of the other machine's kernel
#: Connects to a port without a listener: the refusal shows that packets pass in both directions.
PROBE = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), float(sys.argv[2])).close()
except ConnectionRefusedError:
    pass
except OSError as error:
    sys.exit(str(error))
"""


def ip(*arguments: object) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, text=True)


def sweep() -> list[str]:
    """Remove the namespaces, with their processes, that killed runs have left; return their names."""
    swept = []
    for path in Path("/run/netns").glob(f"{PREFIX}*"):
        pid = path.name.removeprefix(PREFIX).partition("-")[0]
        # What has the id of this process is not its own: it is swept before its first network.
        if Path(f"/proc/{pid}").exists() and pid != str(os.getpid()):
            continue
        found = subprocess.run(
            ["ip", "netns", "pids", path.name], check=False, capture_output=True, text=True
        )
        for process in found.stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        remove(path.name)
        swept.append(path.name)
    return swept


def remove(name: str) -> None:
    """Remove a namespace, if it exists, and with it what it holds of links."""
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    shutil.rmtree(Path("/etc/netns") / name, ignore_errors=True)


class Network:
    """The machines, their addresses, and what happens to packets to each of them."""

    def __init__(self, seed: int) -> None:
        # The kernel removes interfaces some time after their namespaces.
        unique = f"{os.getpid()}-{next(_numbers)}"
        self.names = {machine: f"{PREFIX}{unique}-{machine}" for machine in MACHINES}
        self.ports = {machine: f"af{unique}{machine[0]}"[:15] for machine in MACHINES}
        self._last_octets = {LEFT: 1, RIGHT: 2}
        self._hosts = {machine: Path("/etc/netns") / name / "hosts" for machine, name in self.names.items()}
        self._seed = seed
        self._switch: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Create the machines and connect them."""
        for machine, name in self.names.items():
            self._hosts[machine].parent.mkdir(parents=True)
            self._hosts[machine].touch()
            port = self.ports[machine]
            ip("netns", "add", name)
            ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", port, "up")
            ip("-n", name, "addr", "add", f"{self.address(machine)}/24", "dev", "eth0")
            # Datagrams of a GSO run cross the link one by one, so that each is impaired separately.
            ip("-n", name, "link", "set", "eth0", "gso_max_segs", 1)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "eth0", "up")
        self._write_hosts()
        self._switch = subprocess.Popen(
            [sys.executable, str(SWITCH), str(self._seed), *self.ports.values()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._switch.stdout is not None
        if self._switch.stdout.readline() != "ready\n":
            raise RuntimeError("the switch does not start: its error is printed above")

    def stop(self) -> dict[str, int]:
        """Remove everything; return the counts of packets of the switch, none if it was killed."""
        output = ""
        if self._switch is not None:
            try:
                output, _ = self._switch.communicate(timeout=10)
            except subprocess.TimeoutExpired:  # stopped by a signal, for example
                self._switch.kill()
                self._switch.wait()
        for machine, name in self.names.items():
            subprocess.run(["ip", "link", "del", self.ports[machine]], check=False, capture_output=True)
            remove(name)
        return json.loads(output) if output else {}

    def within(self, machine: str) -> list[str]:
        """Return the start of a command that runs on a machine."""
        return ["ip", "netns", "exec", self.names[machine]]

    def address(self, machine: str) -> str:
        """Return the present address of a machine."""
        return f"{SUBNET}.{self._last_octets[machine]}"

    def probe(self, machine: str, peer: str) -> str | None:
        """Return why a packet of a machine, or the answer of the other one, does not arrive; None if both do."""
        if self._switch is None or self._switch.poll() is not None:
            return "the switch does not run"
        command = [
            *self.within(machine),
            sys.executable,
            "-I",
            "-S",
            "-c",
            PROBE,
            self.address(peer),
            str(PROBE_S),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        return None if done.returncode == 0 else done.stderr.strip()

    def impair(self, machine: str, **conditions: float) -> None:
        """Impair packets to a machine; without conditions, end that."""
        assert self._switch is not None
        assert self._switch.stdin is not None
        self._switch.stdin.write(json.dumps({"port": MACHINES.index(machine), **conditions}) + "\n")
        self._switch.stdin.flush()

    def plug(self, machine: str, *, is_in: bool) -> None:
        """Plug the cable of a machine in or out; it notices."""
        ip("link", "set", self.ports[machine], "up" if is_in else "down")

    def move(self, machine: str) -> None:
        """Give a machine another address, and its name that address everywhere."""
        name, before = self.names[machine], self.address(machine)
        self._last_octets[machine] += 10
        ip("-n", name, "addr", "del", f"{before}/24", "dev", "eth0")
        ip("-n", name, "addr", "add", f"{self.address(machine)}/24", "dev", "eth0")
        self._write_hosts()

    def _write_hosts(self) -> None:
        text = "127.0.0.1 localhost\n" + "".join(
            f"{self.address(machine)} {machine}\n" for machine in MACHINES
        )
        for path in self._hosts.values():
            # In place: the machines' processes have mounted this very file.
            path.write_text(text, encoding="utf-8")

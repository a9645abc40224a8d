"""Two machines, left and right: network namespaces with a switch between them. Needs root and iproute2."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from laboratory.plan import LEFT, MACHINES, RIGHT

SUBNET = "10.79.0"
SWITCH = Path(__file__).parent / "switch.py"
_numbers = itertools.count()


def ip(*arguments: object) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, text=True)


class Network:
    """The machines, their addresses, and what happens to packets to each of them."""

    def __init__(self, seed: int) -> None:
        # The kernel removes interfaces some time after their namespaces.
        unique = f"{os.getpid()}-{next(_numbers)}"
        self.names = {machine: f"aeron-faults-{unique}-{machine}" for machine in MACHINES}
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
        assert self._switch.stdout.readline() == "ready\n"

    def stop(self) -> dict[str, int]:
        """Remove everything; return the counts of packets of the switch."""
        counts: dict[str, int] = {}
        if self._switch is not None:
            output, _ = self._switch.communicate(timeout=10)
            counts = json.loads(output)
        for machine, name in self.names.items():
            subprocess.run(["ip", "link", "del", self.ports[machine]], check=False, capture_output=True)
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
            shutil.rmtree(self._hosts[machine].parent, ignore_errors=True)
        return counts

    def within(self, machine: str) -> list[str]:
        """Return the start of a command that runs on a machine."""
        return ["ip", "netns", "exec", self.names[machine]]

    def address(self, machine: str) -> str:
        """Return the present address of a machine."""
        return f"{SUBNET}.{self._last_octets[machine]}"

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

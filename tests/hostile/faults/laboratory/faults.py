"""Faults of a plan: each begins at a time, and most of them end later."""

from __future__ import annotations

import os
import resource
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path

from laboratory.plan import DRIVERS, EVERY_CLIENT, RECORDERS, VISITORS, Fault, machine_of
from laboratory.processes import status_of
from laboratory.rig import DRIVER_TIMEOUT_S, Rig


class Faults:
    """What injects faults into a rig; `at(time_s, action)` calls an action at a time of the monotonic clock."""

    def __init__(self, rig: Rig, at: Callable[[float, Callable[[], None]], None]) -> None:
        self._rig = rig
        self._network = rig.network
        self._system = rig.system
        self._at = at

    def begin(self, fault: Fault) -> None:
        """Inject a fault now; its end is scheduled."""
        self._rig.log(str(fault))
        getattr(self, "_" + fault.kind.replace("-", "_"))(fault)

    def _later(self, fault: Fault, action: Callable[[], None], more_s: float = 0) -> None:
        def run() -> None:
            self._rig.log(f"end of {fault.kind} {fault.target}")
            action()

        self._at(time.monotonic() + fault.for_s + more_s, run)

    def _rough(self, fault: Fault) -> None:
        self._network.impair(fault.target, **fault.detail)
        self._later(fault, lambda: self._network.impair(fault.target))

    def _drop(self, fault: Fault) -> None:
        self._network.impair(fault.target, loss=100)
        self._later(fault, lambda: self._network.impair(fault.target))

    def _cut(self, fault: Fault) -> None:
        self._network.plug(fault.target, is_in=False)
        self._later(fault, lambda: self._network.plug(fault.target, is_in=True))

    def _move(self, fault: Fault) -> None:
        self._kill_machine(fault)
        self._network.move(fault.target)

    def _vanish(self, fault: Fault) -> None:
        """Kill all processes of a machine while its cable is out, so that its peers detect it late."""
        self._network.plug(fault.target, is_in=False)
        self._kill_machine(fault)
        self._later(fault, lambda: self._network.plug(fault.target, is_in=True), DRIVER_TIMEOUT_S - 0.1)

    def _kill_machine(self, fault: Fault) -> None:
        """Kill all processes of a machine and start them again after the driver timeout."""
        every = (*EVERY_CLIENT, *VISITORS, *RECORDERS, *DRIVERS)
        names = [name for name in every if machine_of(name) == fault.target]
        for name in names:
            self._system.kill(name)
        self._later(fault, lambda: self._rig.start_driver(f"driver-{fault.target}"), DRIVER_TIMEOUT_S)

        def start_clients() -> None:
            for name in names:
                if name not in DRIVERS:
                    self._system.start(name)

        self._later(fault, start_clients, DRIVER_TIMEOUT_S + 0.1)

    def _kill_driver(self, fault: Fault) -> None:
        self._system.kill(fault.target)
        self._later(fault, lambda: self._rig.start_driver(fault.target), DRIVER_TIMEOUT_S)

    def _restart_driver(self, fault: Fault) -> None:
        number = int(fault.detail["signal"])
        # Without a handler yet, a signal kills a process that starts.
        codes = (number, -number) if fault.target in self._rig.starting else (number,)
        if (code := self._system.end(fault.target, number)) not in codes:
            self._rig.report(f"{fault.target} ended with code {code} at signal {number}")
        self._later(fault, lambda: self._rig.start_driver(fault.target))

    def _kill_client(self, fault: Fault) -> None:
        self._system.kill(fault.target)
        self._later(fault, lambda: self._system.start(fault.target))

    _kill_recorder = _kill_client

    def _kill_query(self, fault: Fault) -> None:
        if self._rig.has_query:
            self._kill_client(fault)

    def _pause_client(self, fault: Fault) -> None:
        self._system.send(fault.target, signal.SIGSTOP)
        self._later(fault, lambda: self._system.send(fault.target, signal.SIGCONT))

    _pause_driver = _pause_recorder = _pause_client

    def _fill(self, fault: Fault, disk: Path) -> None:
        ballast = disk / "ballast"
        with ballast.open("wb") as file:
            for unit in (1 << 20, 1 << 12):
                free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize // unit * unit
                if free:
                    try:
                        os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), free)
                    except OSError as error:
                        self._rig.log(f"fill {disk}: {error}")
        self._later(fault, ballast.unlink)

    def _full_disk(self, fault: Fault) -> None:
        self._fill(fault, self._rig.disk(fault.target))

    def _full_memory_disk(self, fault: Fault) -> None:
        self._fill(fault, self._rig.memory_disk(fault.target))

    def _few_descriptors(self, fault: Fault) -> None:
        if self._rig.is_ready(fault.target):
            highest = max(
                int(entry.name) for entry in Path(f"/proc/{self._system.pid(fault.target)}/fd").iterdir()
            )
            self._limit(fault, resource.RLIMIT_NOFILE, highest + 1 + int(fault.detail["spare"]))

    def _little_memory(self, fault: Fault) -> None:
        if self._rig.is_ready(fault.target):
            size = status_of(self._system.pid(fault.target))["VmSize"] << 10
            self._limit(fault, resource.RLIMIT_AS, size + (int(fault.detail["spare_mb"]) << 20))

    def _limit(self, fault: Fault, kind: int, soft: int) -> None:
        self._system.limit(fault.target, kind, soft)
        self._later(fault, lambda: self._system.limit(fault.target, kind, None))

    def _revoke(self, fault: Fault) -> None:
        self._rig.credentials.revoke(fault.target)
        self._later(fault, lambda: self._rig.credentials.allow(fault.target))

    def _clock(self, fault: Fault) -> None:
        path = self._rig.folder / f"clock-{fault.target}"
        (offset,) = struct.unpack("<q", path.read_bytes())
        with path.open("r+b") as file:  # the machine's processes have mapped this very file
            file.write(struct.pack("<q", offset + int(fault.detail["step_s"]) * 1_000_000_000))

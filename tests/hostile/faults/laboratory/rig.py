"""What one run works on: two machines with a network, disks and clocks, and the processes of the system."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from laboratory.credentials import Credentials
from laboratory.flows import FLOWS, RATE, RECORDED, STREAM, channels_of
from laboratory.monitor import DriverFiles, Monitor
from laboratory.network import Network
from laboratory.plan import DRIVERS, MACHINES, QUERY, Plan, machine_of
from laboratory.processes import System, descriptors_of, status_of
from laboratory.table import QUICK, Table, has_spark

HERE = Path(__file__).parent
DRIVER_TIMEOUT_S = 3
START_S = 30
START_UP_S = 2  # in which a process loads its modules
MAX_VIOLATIONS = 20
REFUSALS = (
    "active media driver",
    "No space left on device",
)  # a driver that starts may be refused for a while
#: What a recorder prints if no driver runs, or none answers, in the first three seconds. It then ends.
NO_DRIVER = ("no media driver is accessible", "no answer from the media driver")
#: Share of its life in which tasks waited for a processor, above which a missing answer is no violation. Invented.
OVERLOAD = 0.5
DRIVER_SETTINGS = {
    "aeron.dir.delete.on.shutdown": "true",
    "aeron.term.buffer.length": "256k",
    "aeron.ipc.term.buffer.length": "256k",
    "aeron.term.buffer.sparse.file": "false",
    "aeron.low.file.store.warning.threshold": "0",
    "aeron.counters.buffer.length": "1m",
    "aeron.error.buffer.length": "1m",
    "aeron.client.liveness.timeout": "3s",
    "aeron.publication.unblock.timeout": "4s",
    "aeron.publication.connection.timeout": "2s",
    "aeron.publication.linger.timeout": "1s",
    "aeron.image.liveness.timeout": "3s",
    "aeron.timer.interval": "100ms",
    "aeron.conductor.idle.strategy": "sleep-ns",
    "aeron.sender.idle.strategy": "sleep-ns",
    "aeron.receiver.idle.strategy": "sleep-ns",
    "aeron.sharednetwork.idle.strategy": "sleep-ns",
    "aeron.shared.idle.strategy": "sleep-ns",
    **{
        f"aeron.{agent}.idle.strategy.init.args": "1ms"
        for agent in ("conductor", "sender", "receiver", "sharednetwork", "shared")
    },
}


class StoppedError(Exception):
    """The system does not work, for a reason that was reported: the run ends without its further phases."""


class Rig:
    """Machines and processes of one run; `violations` and `figures` are its result."""

    def __init__(self, plan: Plan, keep: Path | None = None) -> None:
        self.plan = plan
        self.violations: list[str] = []
        self.figures: dict[str, object] = {}
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"aeron-faults-{plan.seed}-", dir=keep))
        self.network = Network(plan.seed)
        self.system = System(self.folder, self.report, self.may_end)
        self._run_id = f"{os.getpid()}-{time.monotonic_ns()}"
        self.credentials = Credentials(self.folder)
        self.table = Table(self.folder)
        self.has_query = plan.query is not None and has_spark()
        self.files = {machine: DriverFiles(self.memory_disk(machine) / "driver") for machine in MACHINES}
        self.monitors = {
            machine: Monitor(f"driver-{machine}", self.files[machine], self.report) for machine in MACHINES
        }
        #: Drivers that start, and the time at which they must be ready.
        self.starting: dict[str, float] = {}
        #: Number of counters, descriptors and private memory in KB of each driver when it was ready.
        self.baselines: dict[str, tuple[int, list[str], int]] = {}
        self._events = (self.folder / "events.log").open("w", encoding="utf-8", buffering=1)

    def report(self, violation: str) -> None:
        """Add a violation."""
        self.log(f"VIOLATION {violation}")
        # One fault may damage all that follows.
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(violation)

    def log(self, text: str) -> None:
        """Write an event to the log of the run."""
        self._events.write(f"{time.monotonic():.3f} {text}\n")

    def log_counters(self) -> None:
        """Write the counters of both drivers to the log of the run."""
        for machine, files in self.files.items():
            for record in files.counters():
                self.log(f"{machine} {record.value:>20} {record.label}")

    # -- the system

    def disk(self, machine: str) -> Path:
        """Return the disk of a machine."""
        return self.folder / f"disk-{machine}"

    def memory_disk(self, machine: str) -> Path:
        """Return the disk in memory of a machine, for the folder of its driver."""
        return self.folder / f"memory-{machine}"

    def archive(self, machine: str) -> Path:
        """Return the folder of the recordings of a machine."""
        return self.disk(machine) / "archive"

    def prepare(self, recorder_options: Sequence[str] = ()) -> None:
        """Make disks, clocks and network, and add all processes, which are not started."""
        for machine in MACHINES:
            for path, size in ((self.disk(machine), "32m"), (self.memory_disk(machine), "64m")):
                path.mkdir()
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "faults", path], check=True)
            (self.folder / f"clock-{machine}").write_bytes(bytes(8))
        shim = self.folder / "clock.so"
        if compiler := shutil.which("cc"):
            subprocess.run(
                [compiler, "-shared", "-fPIC", "-O1", "-o", shim, HERE / "clock.c", "-ldl"], check=True
            )
        elif any(fault.kind == "clock" for fault in self.plan.faults):
            print("WARNING: found no C compiler (cc): clocks are not set, install one", file=sys.stderr)
        self.network.start()
        self.check_network()
        self.credentials.make()
        channels = channels_of(self.plan, self.credentials)
        for machine in MACHINES:
            settings = DRIVER_SETTINGS | {"aeron.threading.mode": self.plan.threading_modes[machine]}
            self._add(
                machine,
                f"driver-{machine}",
                "driver",
                *(f"-D{key}={value}" for key, value in settings.items()),
            )
            self._add_node(f"visitor-{machine}", "visit", "aeron:udp?endpoint=localhost:20200", STREAM["udp"])
        options = ("--durability", self.plan.durability, "--segment-length", "256k", *recorder_options)
        for name, publisher in RECORDED.items():
            flow = next(flow for flow, (first, _) in FLOWS.items() if first == publisher)
            to = self.archive(machine_of(name))
            self._add(machine_of(name), name, "record", channels[flow][1], STREAM[flow], "--to", to, *options)
        for flow, (publisher, subscriber) in FLOWS.items():
            role = "publish-json" if flow == "lumberjack" else "publish"
            self._add_node(publisher, role, channels[flow][0], STREAM[flow], RATE[flow])
            self._add_node(subscriber, "subscribe", channels[flow][1], STREAM[flow])
        if self.plan.query is not None:
            self._add_query(self.plan.query)

    def _add_query(self, recorder: str) -> None:
        if self.has_query:
            archive = self.archive(machine_of(recorder))
            self.system.add(QUERY, self.table.command(archive), QUICK)
        else:
            print(
                "WARNING: found no Spark with Java: no query copies an archive, install them", file=sys.stderr
            )

    def _add(self, machine: str, name: str, *command: object) -> None:
        python = [*self.network.within(machine), sys.executable]
        self.system.add(name, [*python, "-m", "aeron_core", *command], self._environment(machine))

    def _add_node(self, name: str, role: str, channel: str, stream_id: int, rate: int = 0) -> None:
        machine = machine_of(name)
        python = [*self.network.within(machine), sys.executable, HERE / "node.py"]
        directory = self.files[machine].directory
        options = [
            role,
            directory,
            channel,
            stream_id,
            self.log_of(name),
            rate,
            f"{self.plan.seed} {name}",
        ]
        self.system.add(name, [*python, *options], self._environment(machine))

    def _environment(self, machine: str) -> dict[str, str]:
        environment = {
            "AERON_DIR": str(self.files[machine].directory),
            "AERON_DRIVER_TIMEOUT": str(DRIVER_TIMEOUT_S * 1000),
            "AERON_FAULTS_RUN": self._run_id,
            "AERON_SECURITY_PROFILES": self.credentials.profile(machine, self.plan.media.protector),
        }
        shim = self.folder / "clock.so"
        if shim.exists():
            environment |= {"LD_PRELOAD": str(shim), "FAULTS_CLOCK": str(self.folder / f"clock-{machine}")}
        return environment

    def log_of(self, name: str) -> Path:
        """Return the log of the messages of a client."""
        return self.folder / f"{name}.records"

    def check_network(self) -> None:
        """Raise StoppedError unless packets pass in both directions."""
        for machine, peer in (MACHINES, MACHINES[::-1]):
            if (fault := self.network.probe(machine, peer)) is not None:
                self.report(f"no packet passes from {machine} to {peer} before the drivers start: {fault}")
        if self.violations:
            raise StoppedError

    def stop(self) -> None:
        """End a run whose system does not work: report whether packets pass, and what the drivers have logged."""
        for machine, peer in (MACHINES, MACHINES[::-1]):
            fault = self.network.probe(machine, peer)
            self.report(f"from {machine} to {peer}: {fault or 'packets pass'}")
        for name in DRIVERS:
            self.report(f"errors of {name}: {list(self.monitors[machine_of(name)].errors)}")
        raise StoppedError

    # -- drivers

    def start_driver(self, name: str) -> None:
        """Start a driver, which `check_starting` observes."""
        self.system.start(name)
        self.starting[name] = time.monotonic() + START_S

    def check_starting(self) -> None:
        """Note the drivers that have become ready, and start those again that were refused."""
        for name, deadline_s in list(self.starting.items()):
            is_running = self.system.is_running(name)
            if is_running and self.files[machine_of(name)].pid() == self.system.pid(name):
                del self.starting[name]
                pid = self.system.pid(name)
                counters = len(self.files[machine_of(name)].counters())
                self.baselines[name] = counters, descriptors_of(pid), status_of(pid)["RssAnon"]
                self.log(f"{name} is ready")
            elif not is_running and any(text in self.system.tail(name) for text in REFUSALS):
                if time.monotonic() > deadline_s:
                    self.report(f"{name} does not start: {self.system.tail(name)}")
                    del self.starting[name]
                else:
                    self.system.start(name)

    def may_end(self, name: str) -> bool:
        """Return whether a process that ended had found no driver at its start, which is no defect of it."""
        output = self.system.last_output(name)
        if "disconnected" in output or not any(text in output for text in NO_DRIVER):
            return False
        driver = f"driver-{machine_of(name)}"
        is_missing = (
            driver in self.starting
            or not self.system.is_running(driver)
            or self.system.age_s(driver) < self.system.age_s(name)
        )
        stalled = self.system.stalled_share(name)
        self.log(f"{name} found no driver: missing {is_missing}, stalled {stalled:.2f}: {output}")
        return is_missing or ("no answer" in output and stalled > OVERLOAD)

    def is_ready(self, name: str) -> bool:
        """Return whether a process runs and has loaded its modules: one that starts may fail for lack of resources."""
        return (
            self.system.is_running(name)
            and name not in self.starting
            and self.system.age_s(name) > START_UP_S
        )

    # -- the end

    def remove(self) -> None:
        """Kill all processes and remove network and disks; report the processes that are left."""
        self.system.kill_all()
        self.figures["packets"] = self.network.stop()
        left = [
            path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if self._is_of_this_run(path)
        ]
        if left:
            self.report(f"processes are left: {left}")
        for machine in MACHINES:
            for path in (self.disk(machine), self.memory_disk(machine)):
                if self.violations and path == self.disk(machine) and (path / "archive").exists():
                    (path / "ballast").unlink(missing_ok=True)
                    shutil.copytree(path / "archive", self.folder / f"archive-{machine}")
                subprocess.run(["umount", "-l", path], check=False, capture_output=True)
        (self.folder / "result.json").write_text(
            json.dumps({"violations": self.violations, **self.figures}, indent=1)
        )
        self._events.close()

    def _is_of_this_run(self, path: Path) -> bool:
        try:
            return f"AERON_FAULTS_RUN={self._run_id}".encode() in path.read_bytes()
        except OSError:
            return False

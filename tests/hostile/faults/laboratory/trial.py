"""One run of a plan: starts the system, injects the faults, waits for recovery, and checks the invariants."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

from laboratory import invariants
from laboratory.monitor import DriverFiles, Monitor
from laboratory.network import Network
from laboratory.plan import (
    CLIENTS,
    DRIVERS,
    MACHINES,
    RECORDERS,
    UDP_CHANNELS,
    VISITORS,
    Fault,
    Plan,
    machine_of,
)
from laboratory.pressure import Bound
from laboratory.processes import System, deferred_signals, descriptors_of, log_buffers_of, status_of
from laboratory.records import ACKED, RECEIVED, SENT, last_of

HERE = Path(__file__).parent
TICK_S = 0.1
# Times that a wait may take on a machine with idle processors; `Bound` extends them on one that is overloaded.
#: Time within which each stream must flow again after the last fault. The timeouts of the drivers are 3 s, a stopped
#: TCP connection is tried again after at most as long as it was stopped (5 s), and a client connects again within 1 s.
RECOVERY_S = 12
#: Time in which the published messages must arrive, and in which drivers free what closed clients have left.
DRAIN_S = 12
DRIVER_TIMEOUT_S = 3
#: Time after which SP gives up a peer that has vanished, added to RECOVERY_S if a machine vanishes or moves. More than
#: TCP may need to repeat data after a cut, since SP loses what an ended connection has not delivered.
PEER_TIMEOUT_S = 20
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
IPC = "aeron:ipc"
LUMBERJACK = "aeron:lumberjack?endpoint=right:5044"
SP = "aeron:sp?endpoint=right:7000"
STREAM = {"udp": 1001, "ipc": 2001, "lumberjack": 3001, "sp": 4001}
FLOWS = {
    "udp": ("udp-publisher", "udp-subscriber"),
    "ipc": ("ipc-publisher", "ipc-subscriber"),
    "lumberjack": ("lumberjack-writer", "lumberjack-reader"),
    "sp": ("sp-dialer", "sp-listener"),
}
RECORDED = {"recorder-left": "ipc-publisher", "recorder-right": "udp-publisher"}


class StoppedError(Exception):
    """The system does not work, for a reason that was reported: the run ends without its further phases."""


class Trial:
    """One run; `violations` and `figures` are its result."""

    recorder_options: tuple[str, ...] = ()

    def __init__(self, plan: Plan, keep: Path | None = None) -> None:
        self.plan = plan
        self.violations: list[str] = []
        self.figures: dict[str, object] = {}
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"aeron-faults-{plan.seed}-", dir=keep))
        self._network = Network(plan.seed)
        self._system = System(self.folder, self.report, self._may_end)
        self._run_id = f"{os.getpid()}-{time.monotonic_ns()}"
        self._files = {machine: DriverFiles(self._memory_disk(machine) / "driver") for machine in MACHINES}
        self._monitors = {
            machine: Monitor(f"driver-{machine}", self._files[machine], self.report) for machine in MACHINES
        }
        self._actions: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._starting: dict[str, float] = {}
        #: Whether all streams flow and publishers offer messages.
        self.is_flowing = False
        self._baselines: dict[str, tuple[int, list[str], int]] = {}
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

    def summary(self) -> str:
        """Return the figures that fit into a line; all are in result.json."""
        shown = {
            key: value for key, value in self.figures.items() if key in ("recovery_s", "drain_s", "messages")
        }
        return str(shown)

    def run(self) -> None:
        """Run the plan; the folder with all logs remains."""
        self.log(str(self.plan))
        try:
            self._prepare()
            self._start()
            self._inject()
            self._recover()
            self._drain()
            self._close()
            self._check_logs()
        except StoppedError:
            self._log_counters()
        except Exception as error:
            self.report(f"the trial itself failed: {type(error).__name__}: {error}")
            raise
        finally:
            self._clean()

    # -- the system

    def _disk(self, machine: str) -> Path:
        return self.folder / f"disk-{machine}"

    def _memory_disk(self, machine: str) -> Path:
        return self.folder / f"memory-{machine}"

    def _archive(self, machine: str) -> Path:
        return self._disk(machine) / "archive"

    def _prepare(self) -> None:
        for machine in MACHINES:
            for path, size in ((self._disk(machine), "32m"), (self._memory_disk(machine), "64m")):
                path.mkdir()
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "faults", path], check=True)
            (self.folder / f"clock-{machine}").write_bytes(bytes(8))
        shim = self.folder / "clock.so"
        if shutil.which("gcc"):
            subprocess.run(
                ["gcc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "clock.c", "-ldl"], check=True
            )
        self._network.start()
        self._check_network()
        udp_from, udp_to = UDP_CHANNELS[self.plan.udp]
        for machine in MACHINES:
            settings = DRIVER_SETTINGS | {"aeron.threading.mode": self.plan.threading_modes[machine]}
            self._add(
                machine,
                f"driver-{machine}",
                "driver",
                *(f"-D{key}={value}" for key, value in settings.items()),
            )
            self._add_node(f"visitor-{machine}", "visit", "aeron:udp?endpoint=localhost:20200", "udp")
        for name, channel, stream in (("recorder-left", IPC, "ipc"), ("recorder-right", udp_to, "udp")):
            to = self._archive(machine_of(name))
            options = (
                "--durability",
                self.plan.durability,
                "--segment-length",
                "256k",
                *self.recorder_options,
            )
            self._add(machine_of(name), name, "record", channel, STREAM[stream], "--to", to, *options)
        fast = "|timeout=5s|backoff-init=200ms|backoff-max=1s"
        self._add_node("udp-publisher", "publish", udp_from, "udp", 150)
        self._add_node("udp-subscriber", "subscribe", udp_to, "udp")
        self._add_node("ipc-publisher", "publish", IPC, "ipc", 150)
        self._add_node("ipc-subscriber", "subscribe", IPC, "ipc")
        self._add_node("lumberjack-writer", "publish-json", LUMBERJACK + fast, "lumberjack", 100)
        self._add_node(
            "lumberjack-reader", "subscribe", f"{LUMBERJACK}|term-length=256k|keep-alive=1s", "lumberjack"
        )
        silence = f"term-length=256k|peer-timeout={PEER_TIMEOUT_S}s"
        self._add_node("sp-dialer", "publish", f"{SP}|mode=dial|{silence}|backoff-max=1s", "sp", 100)
        self._add_node("sp-listener", "subscribe", f"{SP}|mode=listen|{silence}", "sp")

    def _add(self, machine: str, name: str, *command: object) -> None:
        python = [*self._network.within(machine), sys.executable]
        self._system.add(name, [*python, "-m", "aeron_core", *command], self._environment(machine))

    def _add_node(self, name: str, role: str, channel: str, stream: str, rate: int = 0) -> None:
        machine = machine_of(name)
        python = [*self._network.within(machine), sys.executable, HERE / "node.py"]
        directory = self._files[machine].directory
        options = [
            role,
            directory,
            channel,
            STREAM[stream],
            self._log_of(name),
            rate,
            f"{self.plan.seed} {name}",
        ]
        self._system.add(name, [*python, *options], self._environment(machine))

    def _environment(self, machine: str) -> dict[str, str]:
        environment = {
            "AERON_DIR": str(self._files[machine].directory),
            "AERON_DRIVER_TIMEOUT": str(DRIVER_TIMEOUT_S * 1000),
            "AERON_FAULTS_RUN": self._run_id,
        }
        shim = self.folder / "clock.so"
        if shim.exists():
            environment |= {"LD_PRELOAD": str(shim), "FAULTS_CLOCK": str(self.folder / f"clock-{machine}")}
        return environment

    def _log_of(self, name: str) -> Path:
        return self.folder / f"{name}.records"

    # -- phases

    def _start(self) -> None:
        for name in DRIVERS:
            self._start_driver(name)
        self._await(lambda: not self._starting, START_S, "the drivers do not start")
        if self._starting:
            self.stop()
        for name in (*RECORDERS, *CLIENTS, *VISITORS):
            self._system.start(name)
        self._await(
            lambda: not self._idle_since(0), START_S, lambda: f"no flow at start: {self._idle_since(0)}"
        )
        if self._idle_since(0):
            self.stop()
        self.is_flowing = True

    def _check_network(self) -> None:
        for machine, peer in (MACHINES, MACHINES[::-1]):
            if (fault := self._network.probe(machine, peer)) is not None:
                self.report(f"no packet passes from {machine} to {peer} before the drivers start: {fault}")
        if self.violations:
            raise StoppedError

    def stop(self) -> None:
        """End a run whose system does not work: report whether packets pass, and what the drivers have logged."""
        for machine, peer in (MACHINES, MACHINES[::-1]):
            fault = self._network.probe(machine, peer)
            self.report(f"from {machine} to {peer}: {fault or 'packets pass'}")
        for name in DRIVERS:
            self.report(f"errors of {name}: {list(self._monitors[machine_of(name)].errors)}")
        raise StoppedError

    def _inject(self) -> None:
        start_s = time.monotonic()
        for fault in self.plan.faults:
            self._at(start_s + fault.at_s, lambda fault=fault: self._begin(fault))
        self._at(start_s + self.plan.seconds, lambda: None)
        self._await(
            lambda: not self._actions and not self._starting, self.plan.seconds + 60, "faults do not end"
        )

    def _recover(self) -> None:
        healed_s = time.monotonic()
        before = {name: self._recorded(name) for name in RECORDERS}
        self.log("healed")

        def idle() -> list[str]:
            return self._idle_since(healed_s, before)

        may_vanish = any(fault.kind in ("move", "vanish") for fault in self.plan.faults)
        took = self._await(
            lambda: not idle(),
            RECOVERY_S + PEER_TIMEOUT_S * may_vanish,
            lambda: f"no flow after the last fault: {idle()}",
        )
        self.figures["recovery_s"] = round(took, 2)
        self._await(lambda: False, 1.0, None)

    def _drain(self) -> None:
        self.log("drain")
        self.is_flowing = False
        for publisher, _ in FLOWS.values():
            self._system.send(publisher, signal.SIGUSR1)
        self._await(lambda: False, 0.3, None)
        took = self._await(
            lambda: not self._undrained(), DRAIN_S, lambda: f"not drained: {self._undrained()}"
        )
        self.figures["drain_s"] = round(took, 2)

    def _close(self) -> None:
        self.log("close")
        for name in (*VISITORS, *CLIENTS, *RECORDERS):
            self._system.send(name, signal.SIGCONT)
            if (code := self._system.end(name)) != 0:
                self.report(f"{name} ended with code {code} at SIGTERM: {self._system.tail(name)}")
        self._await(lambda: not self._leaks(), DRAIN_S, lambda: f"leak: {self._leaks()}")
        for name in DRIVERS:
            self.figures[name] = status_of(self._system.pid(name)) | {
                "start_rss": self._baselines[name][2],
                "errors": list(self._monitors[machine_of(name)].errors),
            }
            if (code := self._system.end(name)) != signal.SIGTERM:
                self.report(f"{name} ended with code {code} at SIGTERM: {self._system.tail(name)}")
            if self._files[machine_of(name)].directory.exists():
                self.report(f"{name} left its directory")

    def _check_logs(self) -> None:
        sent = {name: invariants.sent_of(self._log_of(name)) for name, _ in FLOWS.values()}
        counts = {}
        for flow, (publisher, subscriber) in FLOWS.items():
            positions = sent[publisher] if flow in ("udp", "ipc") else None
            counts[flow] = invariants.check_images(
                subscriber, self._log_of(subscriber), positions, self.report
            )
        counts["acknowledged"] = invariants.check_acknowledged(
            "lumberjack", self._log_of("lumberjack-writer"), self._log_of("lumberjack-reader"), self.report
        )
        for recorder, publisher in RECORDED.items():
            machine = machine_of(recorder)
            counts[recorder] = invariants.check_archive(
                recorder,
                self._archive(machine),
                self._monitors[machine].recorded,
                sent[publisher],
                self.report,
            )
        self.figures["messages"] = counts
        for name in DRIVERS:
            invariants.check_errors(name, self._monitors[machine_of(name)].errors, self.report)
        for name in self._system.names():
            text = (self.folder / f"{name}.log").read_text(errors="replace")
            if "Traceback" in text:
                self.report(f"{name} printed a traceback: {text[text.index('Traceback') :][:1500]}")

    def _clean(self) -> None:
        # A second signal would leave processes, mounts and namespaces.
        with deferred_signals():
            self._remove()

    def _remove(self) -> None:
        self._system.kill_all()
        self.figures["packets"] = self._network.stop()
        left = [
            path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if self._is_of_this_run(path)
        ]
        if left:
            self.report(f"processes are left: {left}")
        for machine in MACHINES:
            for path in (self._disk(machine), self._memory_disk(machine)):
                if self.violations and path == self._disk(machine) and (path / "archive").exists():
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

    def tick(self) -> None:
        """Do what a kind of trial does beside, ten times a second."""

    # -- waiting

    def _at(self, time_s: float, action: Callable[[], None]) -> None:
        heappush(self._actions, (time_s, next(self._order), action))

    def _await(
        self, condition: Callable[[], bool], timeout_s: float, failure: str | Callable[[], str] | None
    ) -> float:
        """Run due actions and take samples until a condition holds; return the seconds that took."""
        bound = Bound(timeout_s)
        while not condition():
            # Without a failure, this is a pause of that duration.
            if failure is None and bound.elapsed_s > timeout_s:
                break
            if failure is not None and bound.is_over():
                self.report(f"{failure if isinstance(failure, str) else failure()} ({bound})")
                self._log_counters()
                break
            while self._actions and self._actions[0][0] <= time.monotonic():
                heappop(self._actions)[2]()
            self._check_starting()
            self._system.check()
            for monitor in self._monitors.values():
                monitor.sample()
            self.tick()
            time.sleep(TICK_S)
        return bound.elapsed_s

    def _log_counters(self) -> None:
        for machine, files in self._files.items():
            for record in files.counters():
                self.log(f"{machine} {record.value:>20} {record.label}")

    # -- conditions

    def _idle_since(self, time_s: float, recorded: dict[str, int] | None = None) -> list[str]:
        """Return the flows without a message since a time, and recorders without progress."""
        idle = [
            flow
            for flow, (_, subscriber) in FLOWS.items()
            if (last := last_of(self._log_of(subscriber), RECEIVED)) is None or last.time_s < time_s
        ]
        before = recorded or dict.fromkeys(RECORDERS, 0)
        return idle + [name for name in RECORDERS if self._recorded(name) <= before[name]]

    def _progress(self) -> dict[str, object]:
        """Return what changes for each stream and recorder as messages arrive."""
        return {
            flow: last_of(self._log_of(subscriber), RECEIVED) for flow, (_, subscriber) in FLOWS.items()
        } | {name: self._recorded(name) for name in RECORDERS}

    def _recorded(self, name: str) -> int:
        """Return the number of bytes that a recorder has reported as recorded."""
        return sum(self._monitors[machine_of(name)].recorded.values())

    def _undrained(self) -> list[str]:
        undrained = []
        for flow, (publisher, subscriber) in FLOWS.items():
            sent, received = (
                last_of(self._log_of(publisher), SENT),
                last_of(self._log_of(subscriber), RECEIVED),
            )
            if sent is None or received is None or sent[2:4] != received[2:4]:
                undrained.append(f"{flow}: sent {sent}, received {received}")
            acked = last_of(self._log_of(publisher), ACKED)
            if flow == "lumberjack" and (sent is None or acked is None or acked.position < sent.position):
                undrained.append(f"{flow}: sent {sent}, acknowledged {acked}")
        for recorder, publisher in RECORDED.items():
            sent = last_of(self._log_of(publisher), SENT)
            positions = self._monitors[machine_of(recorder)].recorded_of_session
            if sent is not None and positions.get(sent.session_id, -1) < sent.position:
                undrained.append(f"{recorder}: sent {sent}, recorded {positions.get(sent.session_id)}")
        return undrained

    def _leaks(self) -> list[str]:
        """Return what drivers hold beyond what they held at their start, before the first client."""
        leaks = []
        for name in DRIVERS:
            files, pid = self._files[machine_of(name)], self._system.pid(name)
            counters, descriptors, _ = self._baselines[name]
            records = files.counters()
            if len(records) > counters:
                leaks.append(f"{name} counters {[record.label for record in records[counters:]]}")
            more = descriptors_of(pid)
            for known in descriptors:
                if known in more:
                    more.remove(known)
            if len(descriptors_of(pid)) > len(descriptors):
                leaks.append(f"{name} descriptors {more}")
            if found := files.log_buffers():
                leaks.append(f"{name} files {found}")
            if found := log_buffers_of(pid):
                leaks.append(f"{name} mappings {found}")
        return leaks

    # -- drivers

    def _start_driver(self, name: str) -> None:
        self._system.start(name)
        self._starting[name] = time.monotonic() + START_S

    def _check_starting(self) -> None:
        for name, deadline_s in list(self._starting.items()):
            if self._files[machine_of(name)].pid() == self._system.pid(name):
                del self._starting[name]
                pid = self._system.pid(name)
                counters = len(self._files[machine_of(name)].counters())
                self._baselines[name] = counters, descriptors_of(pid), status_of(pid)["VmRSS"]
                self.log(f"{name} is ready")
            elif not self._system.is_running(name) and any(
                text in self._system.tail(name) for text in REFUSALS
            ):
                if time.monotonic() > deadline_s:
                    self.report(f"{name} does not start: {self._system.tail(name)}")
                    del self._starting[name]
                else:
                    self._system.start(name)

    def _may_end(self, name: str) -> bool:
        """Return whether a process that ended had found no driver at its start, which is no defect of it."""
        output = self._system.last_output(name)
        if "disconnected" in output or not any(text in output for text in NO_DRIVER):
            return False
        driver = f"driver-{machine_of(name)}"
        is_missing = (
            driver in self._starting
            or not self._system.is_running(driver)
            or self._system.age_s(driver) < self._system.age_s(name)
        )
        stalled = self._system.stalled_share(name)
        self.log(f"{name} found no driver: missing {is_missing}, stalled {stalled:.2f}: {output}")
        return is_missing or ("no answer" in output and stalled > OVERLOAD)

    # -- faults

    def _begin(self, fault: Fault) -> None:
        self.log(str(fault))
        getattr(self, "_" + fault.kind.replace("-", "_"))(fault)

    def _later(self, fault: Fault, action: Callable[[], None], more_s: float = 0) -> None:
        def run() -> None:
            self.log(f"end of {fault.kind} {fault.target}")
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
        every = (*CLIENTS, *VISITORS, *RECORDERS, *DRIVERS)
        names = [name for name in every if machine_of(name) == fault.target]
        for name in names:
            self._system.kill(name)
        self._later(fault, lambda: self._start_driver(f"driver-{fault.target}"), DRIVER_TIMEOUT_S)

        def start_clients() -> None:
            for name in names:
                if name not in DRIVERS:
                    self._system.start(name)

        self._later(fault, start_clients, DRIVER_TIMEOUT_S + 0.1)

    def _kill_driver(self, fault: Fault) -> None:
        self._system.kill(fault.target)
        self._later(fault, lambda: self._start_driver(fault.target), DRIVER_TIMEOUT_S)

    def _restart_driver(self, fault: Fault) -> None:
        number = int(fault.detail["signal"])
        # Without a handler yet, a signal kills a process that starts.
        codes = (number, -number) if fault.target in self._starting else (number,)
        if (code := self._system.end(fault.target, number)) not in codes:
            self.report(f"{fault.target} ended with code {code} at signal {number}")
        self._later(fault, lambda: self._start_driver(fault.target))

    def _kill_client(self, fault: Fault) -> None:
        self._system.kill(fault.target)
        self._later(fault, lambda: self._system.start(fault.target))

    _kill_recorder = _kill_client

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
                        self.log(f"fill {disk}: {error}")
        self._later(fault, ballast.unlink)

    def _full_disk(self, fault: Fault) -> None:
        self._fill(fault, self._disk(fault.target))

    def _full_memory_disk(self, fault: Fault) -> None:
        self._fill(fault, self._memory_disk(fault.target))

    def _few_descriptors(self, fault: Fault) -> None:
        if self._is_ready(fault.target):
            highest = max(
                int(entry.name) for entry in Path(f"/proc/{self._system.pid(fault.target)}/fd").iterdir()
            )
            self._limit(fault, resource.RLIMIT_NOFILE, highest + 1 + int(fault.detail["spare"]))

    def _little_memory(self, fault: Fault) -> None:
        if self._is_ready(fault.target):
            size = status_of(self._system.pid(fault.target))["VmSize"] << 10
            self._limit(fault, resource.RLIMIT_AS, size + (int(fault.detail["spare_mb"]) << 20))

    def _is_ready(self, name: str) -> bool:
        """Return whether a process runs and has loaded its modules: one that starts may fail for lack of resources."""
        return (
            self._system.is_running(name)
            and name not in self._starting
            and self._system.age_s(name) > START_UP_S
        )

    def _limit(self, fault: Fault, kind: int, soft: int) -> None:
        self._system.limit(fault.target, kind, soft)
        self._later(fault, lambda: self._system.limit(fault.target, kind, None))

    def _clock(self, fault: Fault) -> None:
        path = self.folder / f"clock-{fault.target}"
        (offset,) = struct.unpack("<q", path.read_bytes())
        with path.open("r+b") as file:  # the machine's processes have mapped this very file
            file.write(struct.pack("<q", offset + int(fault.detail["step_s"]) * 1_000_000_000))

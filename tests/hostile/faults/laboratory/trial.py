"""One run of a plan: starts the system, injects the faults, waits for recovery, and checks the invariants."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

from laboratory import invariants
from laboratory.conditions import idle_since, leaks, recorded_bytes, undrained
from laboratory.faults import Faults
from laboratory.flows import FLOWS, PEER_TIMEOUT_S, RECORDED
from laboratory.memory import Memory
from laboratory.plan import DRIVERS, EVERY_CLIENT, QUERY, RECORDERS, VISITORS, Plan, machine_of
from laboratory.pressure import Bound
from laboratory.processes import deferred_signals, status_of
from laboratory.rig import START_S, Rig, StoppedError
from laboratory.table import QUERY_S

TICK_S = 0.1
# Times that a wait may take on a machine with idle processors; `Bound` extends them on one that is overloaded.
#: Time within which each stream must flow again after the last fault; if a machine vanishes or moves, `PEER_TIMEOUT_S`
#: is added. The timeouts of the drivers are 3 s. TCP sends again after a pause that is no longer than the one in which
#: nothing arrived (5 s). Clients connect again within 1 s.
RECOVERY_S = 12
#: Time in which the published messages must arrive, and in which drivers free what closed clients have left.
DRAIN_S = 12


class Trial:
    """One run; `violations` and `figures` of its rig are its result."""

    recorder_options: tuple[str, ...] = ()

    def __init__(self, plan: Plan, keep: Path | None = None) -> None:
        self.plan = plan
        self.rig = Rig(plan, keep)
        self._faults = Faults(self.rig, self._at)
        self._memory = Memory(self.rig)
        self._actions: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        #: Whether all streams flow and publishers offer messages.
        self.is_flowing = False

    def summary(self) -> str:
        """Return the figures that fit into a line; all are in result.json."""
        shown = {
            key: value
            for key, value in self.rig.figures.items()
            if key in ("recovery_s", "drain_s", "messages") or key.endswith("growth_kb")
        }
        return str(shown)

    def run(self) -> None:
        """Run the plan; the folder with all logs remains."""
        self.rig.log(str(self.plan))
        try:
            self.rig.prepare(self.recorder_options)
            self._start()
            self._inject()
            self._recover()
            self._drain()
            self._close()
            self._check_logs()
        except StoppedError:
            self.rig.log_counters()
        except Exception as error:
            self.rig.report(f"the trial itself failed: {type(error).__name__}: {error}")
            raise
        finally:
            self._clean()

    # -- phases

    def _start(self) -> None:
        for name in DRIVERS:
            self.rig.start_driver(name)
        self._await(lambda: not self.rig.starting, START_S, "the drivers do not start")
        if self.rig.starting:
            self.rig.stop()
        query = (QUERY,) if self.rig.has_query else ()
        for name in (*RECORDERS, *EVERY_CLIENT, *VISITORS, *query):
            self.rig.system.start(name)
        self._await(
            lambda: not idle_since(self.rig, 0),
            START_S,
            lambda: f"no flow at start: {idle_since(self.rig, 0)}",
        )
        if idle_since(self.rig, 0):
            self.rig.stop()
        if self.rig.has_query:
            self._await(lambda: self.rig.table.batches() > 0, QUERY_S, "the query copies nothing at start")
        self.is_flowing = True

    def _inject(self) -> None:
        start_s = time.monotonic()
        for fault in self.plan.faults:
            self._at(start_s + fault.at_s, lambda fault=fault: self._faults.begin(fault))
        self._at(start_s + self.plan.seconds, lambda: None)
        self._await(
            lambda: not self._actions and not self.rig.starting, self.plan.seconds + 60, "faults do not end"
        )

    def _recover(self) -> None:
        healed_s = time.monotonic()
        before = {name: recorded_bytes(self.rig, name) for name in RECORDERS}
        self.rig.log("healed")

        def idle() -> list[str]:
            return idle_since(self.rig, healed_s, before)

        may_vanish = any(fault.kind in ("move", "vanish") for fault in self.plan.faults)
        took = self._await(
            lambda: not idle(),
            RECOVERY_S + PEER_TIMEOUT_S * may_vanish,
            lambda: f"no flow after the last fault: {idle()}",
        )
        self.rig.figures["recovery_s"] = round(took, 2)
        self._await(lambda: False, 1.0, None)

    def _drain(self) -> None:
        self.rig.log("drain")
        self.is_flowing = False
        for publisher, _ in FLOWS.values():
            self.rig.system.send(publisher, signal.SIGUSR1)
        self._await(lambda: False, 0.3, None)
        took = self._await(
            lambda: not undrained(self.rig), DRAIN_S, lambda: f"not drained: {undrained(self.rig)}"
        )
        self.rig.figures["drain_s"] = round(took, 2)

    def _close(self) -> None:
        self.rig.log("close")
        for name in (*VISITORS, *EVERY_CLIENT, *RECORDERS):
            self.rig.system.send(name, signal.SIGCONT)
            if (code := self.rig.system.end(name)) != 0:
                self.rig.report(f"{name} ended with code {code} at SIGTERM: {self.rig.system.tail(name)}")
        self._await(lambda: not leaks(self.rig), DRAIN_S, lambda: f"leak: {leaks(self.rig)}")
        self._memory.check()
        if self.rig.has_query and (code := self.rig.system.end(QUERY, timeout_s=QUERY_S)) != 0:
            self.rig.report(f"{QUERY} ended with code {code} at SIGTERM: {self.rig.system.tail(QUERY)}")
        for name in DRIVERS:
            self.rig.figures[name] = status_of(self.rig.system.pid(name)) | {
                "start_private_kb": self.rig.baselines[name][2],
                "age_s": round(self.rig.system.age_s(name), 1),
                "errors": list(self.rig.monitors[machine_of(name)].errors),
            }
            if (code := self.rig.system.end(name)) != signal.SIGTERM:
                self.rig.report(f"{name} ended with code {code} at SIGTERM: {self.rig.system.tail(name)}")
            if self.rig.files[machine_of(name)].directory.exists():
                self.rig.report(f"{name} left its directory")

    def _check_logs(self) -> None:
        sent = {name: invariants.sent_of(self.rig.log_of(name)) for name, _ in FLOWS.values()}
        counts = {}
        for flow, (publisher, subscriber) in FLOWS.items():
            positions = sent[publisher] if flow in ("udp", "ipc", "sealed") else None
            counts[flow] = invariants.check_images(
                subscriber, self.rig.log_of(subscriber), positions, self.rig.report
            )
        counts["acknowledged"] = invariants.check_acknowledged(
            "lumberjack",
            self.rig.log_of("lumberjack-writer"),
            self.rig.log_of("lumberjack-reader"),
            self.rig.report,
        )
        for recorder, publisher in RECORDED.items():
            machine = machine_of(recorder)
            counts[recorder] = invariants.check_archive(
                recorder,
                self.rig.archive(machine),
                self.rig.monitors[machine].recorded,
                sent[publisher],
                self.rig.report,
            )
        if self.rig.has_query and self.plan.query is not None:
            archive = self.rig.archive(machine_of(self.plan.query))
            counts["table"] = self.rig.table.check(self.plan.query, archive, self.rig.report)
        self.rig.figures["messages"] = counts
        for machine, monitor in self.rig.monitors.items():
            if not monitor.opened:
                self.rig.report(f"sealed: no datagram was opened with a key on {machine}")
        for name in DRIVERS:
            invariants.check_errors(name, self.rig.monitors[machine_of(name)].errors, self.rig.report)
        for name in self.rig.system.names():
            text = (self.rig.folder / f"{name}.log").read_text(errors="replace")
            if "Traceback" in text:
                self.rig.report(f"{name} printed a traceback: {text[text.index('Traceback') :][:1500]}")

    def _clean(self) -> None:
        # A second signal would leave processes, mounts and namespaces.
        with deferred_signals():
            self.rig.remove()

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
                self.rig.report(f"{failure if isinstance(failure, str) else failure()} ({bound})")
                self.rig.log_counters()
                break
            while self._actions and self._actions[0][0] <= time.monotonic():
                heappop(self._actions)[2]()
            self.rig.check_starting()
            self.rig.system.check()
            for monitor in self.rig.monitors.values():
                monitor.sample()
            self._memory.sample()
            self.tick()
            time.sleep(TICK_S)
        return bound.elapsed_s

"""What must become true of a system: its streams flow, everything has arrived, and nothing is left."""

from __future__ import annotations

from laboratory.flows import FLOWS, RECORDED
from laboratory.plan import DRIVERS, RECORDERS, machine_of
from laboratory.processes import descriptors_of, log_buffers_of
from laboratory.records import ACKED, RECEIVED, SENT, last_of
from laboratory.rig import Rig


def idle_since(rig: Rig, time_s: float, recorded: dict[str, int] | None = None) -> list[str]:
    """Return the flows without a message since a time, and recorders without progress."""
    idle = [
        flow
        for flow, (_, subscriber) in FLOWS.items()
        if (last := last_of(rig.log_of(subscriber), RECEIVED)) is None or last.time_s < time_s
    ]
    before = recorded or dict.fromkeys(RECORDERS, 0)
    return idle + [name for name in RECORDERS if recorded_bytes(rig, name) <= before[name]]


def progress(rig: Rig) -> dict[str, object]:
    """Return what changes for each stream and recorder as messages arrive."""
    return {flow: last_of(rig.log_of(subscriber), RECEIVED) for flow, (_, subscriber) in FLOWS.items()} | {
        name: recorded_bytes(rig, name) for name in RECORDERS
    }


def recorded_bytes(rig: Rig, name: str) -> int:
    """Return the number of bytes that a recorder has reported as recorded."""
    return sum(rig.monitors[machine_of(name)].recorded.values())


def undrained(rig: Rig) -> list[str]:
    """Return the streams and recorders that lack messages which were sent, and what was not acknowledged."""
    found = []
    for flow, (publisher, subscriber) in FLOWS.items():
        sent, received = (
            last_of(rig.log_of(publisher), SENT),
            last_of(rig.log_of(subscriber), RECEIVED),
        )
        if sent is None or received is None or sent[2:4] != received[2:4]:
            found.append(f"{flow}: sent {sent}, received {received}")
        acked = last_of(rig.log_of(publisher), ACKED)
        if flow == "lumberjack" and (sent is None or acked is None or acked.position < sent.position):
            found.append(f"{flow}: sent {sent}, acknowledged {acked}")
    for recorder, publisher in RECORDED.items():
        sent = last_of(rig.log_of(publisher), SENT)
        positions = rig.monitors[machine_of(recorder)].recorded_of_session
        if sent is not None and positions.get(sent.session_id, -1) < sent.position:
            found.append(f"{recorder}: sent {sent}, recorded {positions.get(sent.session_id)}")
    return found


def leaks(rig: Rig) -> list[str]:
    """Return what drivers hold beyond what they held at their start, before the first client."""
    found = []
    for name in DRIVERS:
        files, pid = rig.files[machine_of(name)], rig.system.pid(name)
        counters, descriptors, _ = rig.baselines[name]
        records = files.counters()
        if len(records) > counters:
            found.append(f"{name} counters {[record.label for record in records[counters:]]}")
        more = descriptors_of(pid)
        for known in descriptors:
            if known in more:
                more.remove(known)
        if len(descriptors_of(pid)) > len(descriptors):
            found.append(f"{name} descriptors {more}")
        if left := files.log_buffers():
            found.append(f"{name} files {left}")
        if mapped := log_buffers_of(pid):
            found.append(f"{name} mappings {mapped}")
    return found

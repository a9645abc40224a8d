"""System counters of the driver: their ids are fixed by Aeron, so that any tool finds them.

Invariant: the id of a counter is its index in `labelled`.
Source: aeron_system_counters.c.
"""

from __future__ import annotations

from collections.abc import Iterator

from aeron_core._native import wire
from aeron_core._native.counter import AtomicCounter
from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counters import CountersManager
from aeron_core.frozen import frozen
from aeron_core.uri.values import format_duration_ns
from aeron_core.version import SOFTWARE_VERSION, software_version_number


@frozen()
class SystemCounterLabels:
    """Values that appear in labels; the defaults are those of the settings with the same meaning."""

    threading_mode: str = "DEDICATED"
    driver_name: str = ""
    conductor_threshold_ns: int = 100_000_000
    sender_threshold_ns: int = 100_000_000
    receiver_threshold_ns: int = 100_000_000
    name_resolver_threshold_ns: int = 5_000_000_000


def labelled(labels: SystemCounterLabels) -> Iterator[tuple[str, str]]:
    """Yield the attribute name and the label of each system counter, in the order of their ids."""
    version = SOFTWARE_VERSION
    yield "bytes_sent", "Bytes sent"
    yield "bytes_received", "Bytes received"
    yield "receiver_proxy_fails", "Failed offers to ReceiverProxy"
    yield "sender_proxy_fails", "Failed offers to SenderProxy"
    yield "conductor_proxy_fails", "Failed offers to DriverConductorProxy"
    yield "naks_sent", "NAKs sent"
    yield "naks_received", "NAKs received"
    yield "status_messages_sent", "Status Messages sent"
    yield "status_messages_received", "Status Messages received"
    yield "heartbeats_sent", "Heartbeats sent"
    yield "heartbeats_received", "Heartbeats received"
    yield "retransmits_sent", "Retransmits sent"
    # Under runs: data that begins before the position of the last status message (duplicates, or a slower path), and
    # heartbeats more than a term before it. Over runs: packets that end more than half a term after it.
    yield "flow_control_under_runs", "Flow control under runs"
    yield "flow_control_over_runs", "Flow control over runs"
    yield "invalid_packets", "Invalid packets"
    yield "errors", f"Errors: {version}"
    # Send calls of which the socket accepted only a part, or nothing.
    yield "short_sends", "Short sends"
    yield "free_fails", "Failed attempts to free log buffers"
    # How often publications stopped sending at their sender limit.
    yield "sender_flow_control_limits", "Sender flow control limits, i.e. back-pressure events"
    yield "unblocked_publications", "Unblocked Publications"
    yield "unblocked_commands", "Unblocked Control Commands"
    # Images from multicast senders with a higher TTL than the receiver has: its answers may not reach them.
    yield "possible_ttl_asymmetry", "Possible TTL Asymmetry"
    yield "controllable_idle_strategy", "ControllableIdleStrategy status"
    yield "loss_gap_fills", "Loss gap fills"
    yield "client_timeouts", "Client liveness timeouts"
    yield "resolution_changes", f"Resolution changes: driverName={labels.driver_name}"
    yield from _cycle_times(labels)
    threshold = format_duration_ns(labels.name_resolver_threshold_ns)
    yield "name_resolver_max_time", "NameResolver max time in ns"
    yield (
        "name_resolver_time_threshold_exceeded",
        f"NameResolver exceeded threshold count: threshold={threshold}",
    )
    yield "aeron_version", f"Aeron software: {version}"
    yield "bytes_currently_mapped", "Bytes currently mapped"
    yield "retransmitted_bytes", "Retransmitted bytes"
    yield "retransmit_overflow", "Retransmit Pool Overflow count"
    yield "error_frames_received", "Error Frames received"
    yield "error_frames_sent", "Error Frames sent"
    yield "publications_revoked", "Publications Revoked"
    yield "publication_images_revoked", "Publication Images Revoked"
    yield "images_rejected", "Images rejected"
    yield "control_protocol_version", "Control protocol version"
    yield "status_messages_rejected", "Status Messages rejected"
    yield "native_resource_agent_fails", "Failed offers to NativeResourceAgentProxy"


def _cycle_times(labels: SystemCounterLabels) -> Iterator[tuple[str, str]]:
    # As in the reference, labels show mode and threshold: a tool reads nothing but the counters.
    for role, threshold_ns in (
        ("Conductor", labels.conductor_threshold_ns),
        ("Sender", labels.sender_threshold_ns),
        ("Receiver", labels.receiver_threshold_ns),
    ):
        threshold = format_duration_ns(threshold_ns)
        yield (
            f"{role.lower()}_max_cycle_time",
            f"{role} max cycle time doing its work in ns: {labels.threading_mode}",
        )
        yield (
            f"{role.lower()}_cycle_time_threshold_exceeded",
            f"{role} work cycle exceeded threshold count: threshold={threshold} {labels.threading_mode}",
        )


def _allocate(manager: CountersManager, index: int, label: str) -> AtomicCounter:
    # Tools find a system counter by type and key; its key is its index.
    key = index.to_bytes(4, "little")
    counter_id = manager.allocate(counter_types.SYSTEM, label, key=key, registration_id=index, owner_id=-1)
    return AtomicCounter(manager.values, counter_id)


class SystemCounters:
    """One attribute per system counter, allocated in a `manager` without counters, so that each gets its fixed id.

    Several threads may add to one counter: they use `get_and_add`, which is atomic.
    """

    def __init__(self, manager: CountersManager, labels: SystemCounterLabels) -> None:
        made = {
            name: _allocate(manager, index, label) for index, (name, label) in enumerate(labelled(labels))
        }
        self.bytes_sent = made["bytes_sent"]
        self.bytes_received = made["bytes_received"]
        self.receiver_proxy_fails = made["receiver_proxy_fails"]
        self.sender_proxy_fails = made["sender_proxy_fails"]
        self.conductor_proxy_fails = made["conductor_proxy_fails"]
        self.naks_sent = made["naks_sent"]
        self.naks_received = made["naks_received"]
        self.status_messages_sent = made["status_messages_sent"]
        self.status_messages_received = made["status_messages_received"]
        self.heartbeats_sent = made["heartbeats_sent"]
        self.heartbeats_received = made["heartbeats_received"]
        self.retransmits_sent = made["retransmits_sent"]
        self.flow_control_under_runs = made["flow_control_under_runs"]
        self.flow_control_over_runs = made["flow_control_over_runs"]
        self.invalid_packets = made["invalid_packets"]
        self.errors = made["errors"]
        self.short_sends = made["short_sends"]
        self.free_fails = made["free_fails"]
        self.sender_flow_control_limits = made["sender_flow_control_limits"]
        self.unblocked_publications = made["unblocked_publications"]
        self.unblocked_commands = made["unblocked_commands"]
        self.possible_ttl_asymmetry = made["possible_ttl_asymmetry"]
        self.controllable_idle_strategy = made["controllable_idle_strategy"]
        self.loss_gap_fills = made["loss_gap_fills"]
        self.client_timeouts = made["client_timeouts"]
        self.resolution_changes = made["resolution_changes"]
        self.conductor_max_cycle_time = made["conductor_max_cycle_time"]
        self.conductor_cycle_time_threshold_exceeded = made["conductor_cycle_time_threshold_exceeded"]
        self.sender_max_cycle_time = made["sender_max_cycle_time"]
        self.sender_cycle_time_threshold_exceeded = made["sender_cycle_time_threshold_exceeded"]
        self.receiver_max_cycle_time = made["receiver_max_cycle_time"]
        self.receiver_cycle_time_threshold_exceeded = made["receiver_cycle_time_threshold_exceeded"]
        self.name_resolver_max_time = made["name_resolver_max_time"]
        self.name_resolver_time_threshold_exceeded = made["name_resolver_time_threshold_exceeded"]
        self.aeron_version = made["aeron_version"]
        self.bytes_currently_mapped = made["bytes_currently_mapped"]
        self.retransmitted_bytes = made["retransmitted_bytes"]
        self.retransmit_overflow = made["retransmit_overflow"]
        self.error_frames_received = made["error_frames_received"]
        self.error_frames_sent = made["error_frames_sent"]
        self.publications_revoked = made["publications_revoked"]
        self.publication_images_revoked = made["publication_images_revoked"]
        self.images_rejected = made["images_rejected"]
        self.control_protocol_version = made["control_protocol_version"]
        self.status_messages_rejected = made["status_messages_rejected"]
        self.native_resource_agent_fails = made["native_resource_agent_fails"]
        self.aeron_version.set(software_version_number())
        self.control_protocol_version.set(wire.CONTROL_PROTOCOL_VERSION)

    def by_name(self) -> dict[str, AtomicCounter]:
        """Return all counters by attribute name."""
        return {name: getattr(self, name) for name, _ in labelled(SystemCounterLabels())}

"""System counters of the driver: their ids are fixed by Aeron, so that any tool finds them.

Source: aeron_system_counters.c.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.counter import AtomicCounter
from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counters import CountersManager
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.version import software_version_number


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

"""Names and labels of the system counters. Plain Python keeps compiled modules small.

Invariant: the id of a counter is its index in `labelled`.
Source: aeron_system_counters.c.
"""

from __future__ import annotations

from collections.abc import Iterator

from aeron_core.frozen import frozen
from aeron_core.uri.values import format_duration_ns
from aeron_core.version import SOFTWARE_VERSION


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

"""Configuration dump in the format that the reference driver prints when it starts, for programs that parse it.

Not here: the source of each value (`aeron-core settings show`).
Invariant: names, order and spelling of values are those of the reference. Entries about the C program itself, such as
pointers and clocks, are omitted; settings that only this driver has come last.
Source: aeron_driver_context_print_configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aeron_core._native import wire
from aeron_core.settings.driver import DriverFields
from aeron_core.uri.defaults import Inferable

#: Names of the reference and fields of our settings; a line has both if they differ.
_NAMES: Final[tuple[tuple[str, str], ...]] = tuple(
    (name, field or name)
    for name, _, field in (
        line.partition("=")
        for line in """\
aeron_dir
driver_timeout_ms
print_configuration_on_start=print_configuration
dirs_delete_on_start=dir_delete_on_start
dirs_delete_on_shutdown=dir_delete_on_shutdown
warn_if_dirs_exists=dir_warn_if_exists
term_buffer_sparse_file
perform_storage_checks
spies_simulate_connection
reliable_stream
tether_subscriptions
rejoin_stream
receiver_group_consideration
to_driver_buffer_length=conductor_buffer_length
to_clients_buffer_length=clients_buffer_length
counters_values_buffer_length=counters_buffer_length
error_buffer_length
timer_interval_ns
client_liveness_timeout_ns
image_liveness_timeout_ns
publication_unblock_timeout_ns
publication_connection_timeout_ns
publication_linger_timeout_ns
untethered_window_limit_timeout_ns
untethered_resting_timeout_ns
max_resend
retransmit_unicast_delay_ns
retransmit_unicast_linger_ns
nak_unicast_delay_ns
nak_unicast_retry_delay_ratio
nak_multicast_max_backoff_ns
nak_multicast_group_size
status_message_timeout_ns=rcv_status_message_timeout_ns
counter_free_to_reuse_ns=counters_free_to_reuse_timeout_ns
conductor_cycle_threshold_ns
sender_cycle_threshold_ns
receiver_cycle_threshold_ns
name_resolver_threshold_ns
term_buffer_length
ipc_term_buffer_length
publication_window_length=publication_term_window_length
ipc_publication_window_length=ipc_publication_term_window_length
initial_window_length=rcv_initial_window_length
socket_sndbuf_length=socket_so_sndbuf_length
socket_rcvbuf_length=socket_so_rcvbuf_length
multicast_ttl=socket_multicast_ttl
mtu_length
ipc_mtu_length
file_page_size
low_file_store_warning_threshold=low_file_store_warning_threshold_length
publication_reserved_session_id_low
publication_reserved_session_id_high
loss_report_length=loss_report_buffer_length
send_to_sm_poll_ratio=send_to_status_poll_ratio
receiver_io_vector_capacity
sender_io_vector_capacity
network_publication_max_messages_per_send
resource_free_limit
conductor_cpu_affinity_no=conductor_cpu_affinity
receiver_cpu_affinity_no=receiver_cpu_affinity
sender_cpu_affinity_no=sender_cpu_affinity
native_resource_agent_cpu_affinity_no=native_resource_agent_cpu_affinity
cpuset_affinity
cpuset_warnings_as_errors
threading_mode
conductor_idle_strategy_func=conductor_idle_strategy
conductor_idle_strategy_init_args
sender_idle_strategy_func=sender_idle_strategy
sender_idle_strategy_init_args
receiver_idle_strategy_func=receiver_idle_strategy
receiver_idle_strategy_init_args
shared_network_idle_strategy_func=sharednetwork_idle_strategy
shared_network_idle_strategy_init_args=sharednetwork_idle_strategy_init_args
shared_idle_strategy_func=shared_idle_strategy
shared_idle_strategy_init_args
native_resource_agent_idle_strategy_func=native_resource_agent_idle_strategy
native_resource_agent_idle_strategy_init_args
unicast_flow_control_supplier_func=unicast_flow_control
multicast_flow_control_supplier_func=multicast_flow_control
receiver_group_tag.value=receiver_group_tag
flow_control.group_tag=flow_control_group_tag
flow_control.group_min_size=flow_control_group_min_size
flow_control_receiver_timeout_ns
congestion_control_supplier_func=congestion_control
termination_validator_func=termination_validator
name_resolver_supplier_func=name_resolver
name_resolver_init_args
resolver_name
resolver_interface
resolver_bootstrap_neighbor=resolver_bootstrap_neighbors
re_resolution_check_interval_ns=reresolution_check_interval_ns
sender_wildcard_port_range
receiver_wildcard_port_range
enable_experimental_features
stream_session_limit""".splitlines()
    )
)
_INFERABLE: Final = {Inferable.FALSE: 0, Inferable.TRUE: 1, Inferable.INFER: 2}
_QUOTED: Final = ("sender_wildcard_port_range", "receiver_wildcard_port_range")


def lines_of(settings: DriverFields) -> Iterator[str]:
    """Yield the lines of the dump, without line ends."""
    yield "aeron_driver_context_t {"
    version = wire.CNC_VERSION
    yield f"    cnc_version={version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"
    for name, field in _NAMES:
        if field == "receiver_group_tag":
            yield f"    receiver_group_tag.is_present={int(settings.receiver_group_tag is not None)}"
        yield f"    {name}={_value(settings, field)}"
    shown = {field for _, field in _NAMES}
    for field in DriverFields.field_names():
        if field not in shown:
            yield f"    {field}={settings.formatted(field)}"
    yield "}"


def _value(settings: DriverFields, field: str) -> object:
    value: object = getattr(settings, field)
    if field in _QUOTED:
        return f'"{settings.formatted(field)}"'
    if field == "receiver_group_tag" and value is None:
        return wire.NO_GROUP_TAG
    if isinstance(value, Inferable):
        return _INFERABLE[value]
    return (
        int(value)
        if isinstance(value, int) and field != "enable_experimental_features"
        else settings.formatted(field)
    )

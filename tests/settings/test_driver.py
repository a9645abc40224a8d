"""Values of a driver's settings: their forms, limits, and how they are shown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.errors import ConfigurationError
from aeron_core.settings import DriverSettings, Offload, PortRange, Storage, ThreadingMode
from aeron_core.settings.loader import load_driver_fields
from aeron_core.uri.defaults import Inferable
from aeron_core.uri.values import format_duration_ns, format_size

S = 1_000_000_000
K = 1024
M = 1024 * 1024


@pytest.fixture(scope="module")
def settings():
    return DriverSettings()


@pytest.mark.parametrize(
    ("mode", "expected"), [("0750", 0o750), ("770", 0o770), (0o755, 0o755), ("0700", 0o700), (None, None)]
)
def test_the_mode_of_folders_is_octal(mode, expected):
    assert DriverSettings(dir_mode=mode).dir_mode == expected


@pytest.mark.parametrize(
    "mode", ["", "75", "0o750", "1777", "0640", "0711", "0782", "\u0667\u0665\u0660", 750, -1, True, 7.0]
)
def test_a_mode_that_gives_no_usable_access_is_refused(mode):
    with pytest.raises(
        ConfigurationError, match="must be an octal mode with 7 for the owner, and 7, 5 or 0 for the group"
    ):
        DriverSettings(dir_mode=mode)


def test_a_refused_mode_is_shown_as_it_was_written(monkeypatch):
    monkeypatch.setenv("AERON_CORE_DIR_MODE", "0640")

    with pytest.raises(ConfigurationError, match=r"AERON_CORE_DIR_MODE=0640 .*must be an octal mode"):
        load_driver_fields()


def test_a_number_that_is_no_mode_is_shown_in_decimal_and_in_octal():
    with pytest.raises(ConfigurationError, match=r"dir_mode='770 \(in octal 1402\)': must be an octal mode"):
        DriverSettings(dir_mode=770)


@pytest.mark.parametrize("field", DriverSettings.model_fields)
def test_every_field_is_described_in_a_sentence(field):
    description = DriverSettings.model_fields[field].description

    assert description
    assert description.endswith(".")


def test_settings_are_immutable_and_refuse_other_fields(settings):
    with pytest.raises(ValueError, match="frozen"):
        settings.mtu_length = 64
    with pytest.raises(ConfigurationError, match="unknown setting 'mtu_lenght': did you mean mtu_length"):
        DriverSettings(mtu_lenght=64)
    with pytest.raises(ConfigurationError, match="must be a field of DriverSettings"):
        DriverSettings(qqq=64)


@pytest.mark.parametrize(
    ("field", "written", "value"),
    [
        ("term_buffer_length", "64k", 65536),
        ("term_buffer_length", 65536, 65536),
        ("client_liveness_timeout_ns", "5s", 5 * S),
        ("client_liveness_timeout_ns", 5 * S, 5 * S),
        ("conductor_cycle_threshold_ns", "100ms", 100_000_000),
        ("aeron_dir", "/tmp/aeron", Path("/tmp/aeron")),
        ("threading_mode", "SHARED", ThreadingMode.SHARED),
        ("threading_mode", ThreadingMode.INVOKER, ThreadingMode.INVOKER),
        ("receiver_group_consideration", "true", Inferable.TRUE),
        ("storage", "posix", Storage.POSIX),
        ("udp_gso", "off", Offload.OFF),
        ("driver_connect", False, False),
        ("driver_connect", "false", False),
        ("sender_wildcard_port_range", "20000 20010", PortRange(20000, 20010)),
        ("sender_wildcard_port_range", [20000, 20010], PortRange(20000, 20010)),
        ("resolver_bootstrap_neighbors", "a:1, b:2", ("a:1", "b:2")),
        ("resolver_bootstrap_neighbors", ["a:1", "b:2"], ("a:1", "b:2")),
        ("debug_send_data_loss_rate", "0.5", 0.5),
        ("debug_send_data_loss_rate", 1, 1.0),
        ("conductor_idle_strategy", "sleeping", "sleep-ns"),
        ("conductor_idle_strategy", "signal", "signal"),
        ("conductor_idle_strategy", "my-plugin", "my-plugin"),
        ("multicast_flow_control", "aeron_min_flow_control_strategy_supplier", "min"),
        ("multicast_flow_control", "multicast_tagged", "tagged"),
        ("congestion_control", "aeron_cubic_congestion_control_strategy_supplier", "cubic"),
        ("receiver_group_tag", None, None),
        ("receiver_group_tag", 0, 0),
    ],
)
def test_values_may_be_written_in_several_forms(field, written, value):
    assert getattr(DriverSettings(**{field: written}), field) == value


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("term_buffer_length", "64kb", "must be a size from 64k to 1g"),
        ("term_buffer_length", "32k", "must be a power of two from 64k to 1g"),
        ("term_buffer_length", 1.5, "must be a size"),
        ("term_buffer_length", True, "must be a size"),
        ("mtu_length", 31, "must be a size from 32 to 65504"),
        ("counters_buffer_length", "501m", "must be a size from 1m to 500m"),
        ("client_liveness_timeout_ns", 999, "must be a duration of at least 1us"),
        ("client_liveness_timeout_ns", "5x", "must be a duration"),
        ("client_liveness_timeout_ns", None, "must be a duration"),
        ("threading_mode", "shared", "must be one of DEDICATED, SHARED_NETWORK, SHARED, INVOKER"),
        ("receiver_group_consideration", "maybe", "must be one of false, true, infer"),
        ("driver_connect", "on", "must be true or false"),
        ("driver_connect", 1, "must be true or false"),
        ("max_resend", 257, "must be a number from 1 to 256"),
        ("sender_wildcard_port_range", "20 10", "must be two ports"),
        ("sender_wildcard_port_range", [1, 70000], "must be two ports"),
        ("sender_wildcard_port_range", "1", "must be two ports"),
        ("debug_send_data_loss_rate", 1.5, "must be a number from 0.0 to 1.0"),
        ("debug_send_data_loss_rate", "nan", "must be a number from 0.0 to 1.0"),
        ("resolver_bootstrap_neighbors", ",".join("a" * 21), "at most 20"),
        ("aeron_dir", "", "must be a path"),
        ("name_resolver", 5, "must be text"),
    ],
)
def test_wrong_values_raise_an_error_that_names_field_value_and_what_is_allowed(field, value, allowed):
    with pytest.raises(ConfigurationError) as caught:
        DriverSettings(**{field: value})

    assert str(caught.value).startswith(f"{field}=")
    assert allowed in str(caught.value)


def test_all_wrong_values_are_reported_at_once():
    with pytest.raises(
        ConfigurationError, match=r"max_resend=0: .*; .*mtu_length=1: |mtu_length=1: .*max_resend=0: "
    ):
        DriverSettings(max_resend=0, mtu_length=1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"term_buffer_length": "96k"}, "term_buffer_length=96k: must be a power of two from 64k to 1g"),
        ({"ipc_term_buffer_length": 65537}, "ipc_term_buffer_length=65537: must be a power of two"),
        ({"file_page_size": 5000}, "file_page_size=5000: must be a power of two"),
        ({"mtu_length": 32}, "mtu_length=32: must be a multiple of 32 from 64 to 65504"),
        ({"ipc_mtu_length": 1400}, "ipc_mtu_length=1400: must be a multiple of 32"),
        (
            {"conductor_buffer_length": "2m"},
            "conductor_buffer_length=2m: must be a power of two from 1m to 1g",
        ),
        ({"clients_buffer_length": "2m"}, "clients_buffer_length=2m: must be a power of two from 1m to 1g"),
        (
            {"mtu_length": "8k", "socket_so_sndbuf_length": "4k"},
            "mtu_length=8k: must be at most socket_so_sndbuf_length=4k",
        ),
        (
            {"rcv_initial_window_length": "256k"},
            "rcv_initial_window_length=256k: must be at most socket_so_rcvbuf_length=128k",
        ),
        (
            {"publication_unblock_timeout_ns": "10s"},
            "publication_unblock_timeout_ns=10s: must be more than client_liveness_timeout_ns=10s",
        ),
        (
            {"timer_interval_ns": "10s"},
            "client_liveness_timeout_ns=10s: must be more than timer_interval_ns=10s",
        ),
        (
            {"untethered_window_limit_timeout_ns": "1s"},
            "untethered_window_limit_timeout_ns=1s: must be more than timer_interval_ns=1s",
        ),
        (
            {"untethered_resting_timeout_ns": "1ms"},
            "untethered_resting_timeout_ns=1ms: must be more than timer_interval_ns=1s",
        ),
        (
            {"untethered_linger_timeout_ns": 0},
            "untethered_linger_timeout_ns=0ns: must be more than timer_interval_ns=1s",
        ),
        (
            {"nak_unicast_delay_ns": 2**62},
            "nak_unicast_retry_delay_ratio=100: must be at most 9223372036854775807 ns",
        ),
        ({"resolver_interface": "0.0.0.0:8050"}, "resolver_interface=0.0.0.0:8050 without resolver_name"),
        (
            {"sender_idle_strategy_init_args": "10-20"},
            "sender_idle_strategy_init_args='10-20': must be spins-yields-minPark-maxPark",
        ),
        (
            {"shared_idle_strategy": "sleep-ns", "shared_idle_strategy_init_args": "1x"},
            "shared_idle_strategy_init_args='1x': must be a whole decimal number",
        ),
        ({"error_buffer_length": "2047m"}, "must be at most 2147483647 bytes"),
    ],
)
def test_settings_that_cannot_work_together_are_refused_with_both_values(fields, message):
    with pytest.raises(ConfigurationError) as caught:
        DriverSettings(**fields)

    assert message in str(caught.value)


def test_socket_buffers_of_the_operating_system_are_not_compared():
    settings = DriverSettings(socket_so_rcvbuf_length=0, rcv_initial_window_length="1g")

    assert settings.rcv_initial_window_length == 1 << 30


def test_values_are_shown_with_units():
    settings = DriverSettings(sender_wildcard_port_range="1 2", resolver_bootstrap_neighbors="a:1,b:2")

    shown = {
        field: settings.formatted(field)
        for field in (
            "term_buffer_length", "client_liveness_timeout_ns", "threading_mode", "driver_connect",
            "sender_wildcard_port_range", "resolver_bootstrap_neighbors", "receiver_group_tag", "max_resend",
        )
    }  # fmt: skip

    assert list(shown.values()) == ["16m", "10s", "DEDICATED", "true", "1 2", "a:1,b:2", "", "16"]


@pytest.mark.parametrize("field", DriverSettings.model_fields)
def test_shown_values_are_parsed_again(settings, field):
    value = getattr(settings, field)
    if value is None:
        return

    assert DriverSettings.variable(field).check(settings.formatted(field)) == value


@given(st.integers(5 * S + 1, 2**63 - 1), st.sampled_from([16, 17, 20, 30]))
def test_any_length_and_duration_within_range_is_accepted(timeout_ns, bits):
    settings = DriverSettings(
        publication_linger_timeout_ns=format_duration_ns(timeout_ns),
        term_buffer_length=format_size(1 << bits),
    )

    assert settings.publication_linger_timeout_ns == timeout_ns
    assert settings.term_buffer_length == 1 << bits

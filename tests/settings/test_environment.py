"""Environment variables of a driver, read as the reference reads them: values, limits and warnings."""

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings import load_driver_settings


@pytest.mark.parametrize(
    ("text", "length"), [("64mb", 64 << 20), ("128KiB", 128 << 10), ("1g ", 1 << 30), ("1m1", 1 << 20)]
)
def test_text_after_the_unit_of_a_size_is_ignored_as_in_the_reference(write, text, length):
    file = write("sizes.properties", f"aeron.ipc.term.buffer.length={text}\n")

    loaded = load_driver_settings(files=[file], environ={"AERON_TERM_BUFFER_LENGTH": text})

    assert (loaded.settings.term_buffer_length, loaded.settings.ipc_term_buffer_length) == (length, length)
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        # A number by strtoull: text after it is ignored, and a negative one wraps.
        ("AERON_SEND_TO_STATUS_POLL_RATIO", "4k", "send_to_status_poll_ratio", 4),
        ("AERON_SOCKET_MULTICAST_TTL", "-1", "socket_multicast_ttl", 255),
        ("AERON_DRIVER_TIMEOUT", "0x10 s", "driver_timeout_ms", 16),
        ("AERON_NAK_MULTICAST_GROUP_SIZE", "1.5s", "nak_multicast_group_size", 1),
        # A number by strtoll, which returns its limit for one that is out of range.
        ("AERON_MAX_RESEND", "99999999999999999999", "max_resend", 256),
        ("AERON_RECEIVER_GROUP_TAG", "99999999999999999999", "receiver_group_tag", 2**63 - 1),
        ("AERON_MTU_LENGTH", "99999999999999999999", "mtu_length", 65504),
        ("AERON_MTU_LENGTH", "500ms", "mtu_length", 65504),
        ("AERON_TIMER_INTERVAL", "100msec", "timer_interval_ns", 100_000_000),
        ("AERON_TIMER_INTERVAL", "64mb", "timer_interval_ns", 64_000_000),
    ],
)
def test_environment_is_read_silently_where_the_reference_ignores_a_mistake(variable, text, field, value):
    loaded = load_driver_settings(environ={variable: text})

    assert getattr(loaded.settings, field) == value
    assert loaded.printed == ()


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("AERON_SEND_TO_STATUS_POLL_RATIO", "k4"),
        ("AERON_MAX_RESEND", "4k"),
        ("AERON_MTU_LENGTH", "4.5k"),
        ("AERON_MTU_LENGTH", "-1"),
        ("AERON_TIMER_INTERVAL", "15m"),
        ("AERON_TIMER_INTERVAL", "5sec"),
    ],
)
def test_environment_that_the_reference_cannot_parse_causes_a_printed_warning(variable, text):
    loaded = load_driver_settings(environ={variable: text})

    assert loaded.printed == loaded.warnings
    assert loaded.warnings[0].startswith(f"{variable}={text} ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("deny", "deny"),
        ("allow", "allow"),
        ("aeron_driver_termination_validator_default_allow", "allow"),
    ],
)
def test_a_termination_validator_has_a_name_of_the_reference(text, value):
    loaded = load_driver_settings(environ={"AERON_DRIVER_TERMINATION_VALIDATOR": text})

    assert loaded.settings.termination_validator == value


def test_an_unknown_termination_validator_stops_the_start():
    with pytest.raises(ConfigurationError, match=r"allwo.*must be one of deny, allow"):
        load_driver_settings(environ={"AERON_DRIVER_TERMINATION_VALIDATOR": "allwo"})


@pytest.mark.parametrize(
    ("variable", "text", "field", "value", "warning"),
    [
        ("AERON_MTU_LENGTH", "100k", "mtu_length", 65504, "must be a size from 32 to 65504, "),
        ("AERON_MAX_RESEND", "0", "max_resend", 1, "must be a number from 1 to 256; using 1"),
        ("AERON_MAX_RESEND", "1000", "max_resend", 256, "using 256"),
        (
            "AERON_NAK_UNICAST_DELAY",
            "1",
            "nak_unicast_delay_ns",
            1000,
            "at least 1us, such as 100ms, 5s or 15min; using 1us; a number alone is nanoseconds",
        ),
        ("AERON_DEBUG_SEND_DATA_LOSS_RATE", "7", "debug_send_data_loss_rate", 1.0, "using 1.0"),
        ("AERON_RECEIVER_IO_VECTOR_CAPACITY", "17", "receiver_io_vector_capacity", 16, "using 16"),
        ("AERON_SENDER_IO_VECTOR_CAPACITY", "17", "sender_io_vector_capacity", 16, "using 16"),
        ("AERON_COUNTERS_BUFFER_LENGTH", "32768", "counters_buffer_length", 1 << 20, "using 1m"),
    ],
)
def test_environment_out_of_range_is_clamped_with_a_warning(variable, text, field, value, warning):
    loaded = load_driver_settings(environ={variable: text})

    assert getattr(loaded.settings, field) == value
    assert loaded.sources[field] == f"environment {variable}"
    assert len(loaded.warnings) == 1
    assert loaded.warnings[0].startswith(f"{variable}={text} (environment {variable}): must be ")
    assert warning in loaded.warnings[0]


@pytest.mark.parametrize(
    ("variable", "text", "field"),
    [
        ("AERON_MTU_LENGTH", "8x", "mtu_length"),
        ("AERON_CLIENT_LIVENESS_TIMEOUT", "5 s", "client_liveness_timeout_ns"),
        ("AERON_THREADING_MODE", "shared", "threading_mode"),
        ("AERON_MAX_RESEND", "many", "max_resend"),
        ("AERON_CONDUCTOR_CPU_AFFINITY", str(2**31), "conductor_cpu_affinity"),
        ("AERON_RELIABLE_STREAM", "yes", "reliable_stream"),
    ],
)
def test_environment_that_cannot_be_read_falls_back_to_the_default_with_a_warning(variable, text, field):
    loaded = load_driver_settings(environ={variable: text})

    assert getattr(loaded.settings, field) == getattr(load_driver_settings(environ={}).settings, field)
    assert loaded.sources[field] == "default"
    assert loaded.warnings[0].startswith(f"{variable}={text} (environment {variable}): must be ")
    assert loaded.warnings[0].endswith("; using the default")


def test_unreadable_environment_falls_back_to_the_default_not_to_a_file(write):
    file = write("a.properties", "aeron.max.resend=2\n")

    assert load_driver_settings(files=[file], environ={"AERON_MAX_RESEND": "x"}).settings.max_resend == 16


@pytest.mark.parametrize(
    ("environ", "defines", "is_printed"),
    [
        ({"AERON_MAX_RESEND": "many"}, [], True),
        ({}, ["aeron.max.resend=many"], True),
        ({}, ["aeron.no.such=1"], True),
        ({"AERON_MAX_RESEND": "0"}, [], False),
        ({"AERON_RECEIVER_IO_VECTOR_CAPACITY": "17"}, [], False),
        ({"AERON_SENDER_IO_VECTOR_CAPACITY": "17"}, [], False),
        ({"AERON_COUNTERS_BUFFER_LENGTH": "32768"}, [], False),
        ({}, ["aeron.max.resend=0"], False),
        ({"AERON_DRIVER_DYNAMIC_LIBRARIES": "x.so"}, [], False),
        ({"AERON_TERM_BUFER_LENGTH": "64k"}, [], False),
        # The reference uses the default without a warning.
        ({"AERON_RELIABLE_STREAM": "yes"}, [], False),
        ({"AERON_DEBUG_SEND_DATA_LOSS_RATE": "x"}, [], False),
        ({"AERON_CUBICCONGESTIONCONTROL_INITIALRTT": "x"}, [], False),
        ({"AERON_MAX_RESEND": "many"}, ["aeron.max.resend=0"], False),
    ],
)
def test_a_driver_prints_only_warnings_about_values_that_it_does_not_accept(environ, defines, is_printed):
    loaded = load_driver_settings(environ=environ, defines=defines)

    assert len(loaded.warnings) == 1
    assert loaded.printed == (loaded.warnings if is_printed else ())


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("on", True), ("true", True), ("0", False), ("off", False), ("false ", False)],
)
def test_environment_switches_are_read_as_in_the_reference(text, value):
    assert (
        load_driver_settings(environ={"AERON_DIR_DELETE_ON_START": text}).settings.dir_delete_on_start
        is value
    )


@pytest.mark.parametrize(
    "variable", ["AERON_SENDER_WILDCARD_PORT_RANGE", "AERON_RECEIVER_WILDCARD_PORT_RANGE"]
)
def test_wrong_port_range_stops_the_start_even_from_the_environment(variable):
    with pytest.raises(
        ConfigurationError, match=rf"{variable}=20 10 \(environment {variable}\): must be two ports"
    ):
        load_driver_settings(environ={variable: "20 10"})


def test_any_text_but_true_and_infer_means_no_group_in_the_environment():
    loaded = load_driver_settings(environ={"AERON_RECEIVER_GROUP_CONSIDERATION": "maybe"})

    assert loaded.settings.receiver_group_consideration.value == "false"


def test_empty_variable_counts_as_not_set():
    loaded = load_driver_settings(environ={"AERON_DIR": "", "AERON_MAX_RESEND": " ", "USER": "u"})

    assert loaded.settings.aeron_dir.name == "aeron-u"
    assert loaded.warnings == ()


def test_misspelt_variables_are_reported_except_those_of_other_programs():
    environ = {
        "AERON_TERM_BUFER_LENGTH": "64k",
        "AERON_ARCHIVE_IDLE_STRATEGY": "spin",
        "AERON_HOME": "/opt",
        "AERON_CLIENT_NAME": "x",
    }

    loaded = load_driver_settings(environ=environ)

    assert loaded.warnings == (
        "AERON_TERM_BUFER_LENGTH=64k (environment): did you mean AERON_TERM_BUFFER_LENGTH",
    )


def test_environment_of_the_process_is_the_default(monkeypatch):
    monkeypatch.setenv("AERON_MAX_RESEND", "7")

    assert load_driver_settings().settings.max_resend == 7

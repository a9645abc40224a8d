import subprocess
import sys
from pathlib import Path

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings import ThreadingMode, load_client_settings, load_driver_settings

S = 1_000_000_000


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file


def test_without_sources_all_values_are_defaults():
    loaded = load_driver_settings(environ={"USER": "someone"})

    assert set(loaded.sources.values()) == {"default"}
    assert loaded.warnings == ()
    assert loaded.settings.aeron_dir == Path("/dev/shm/aeron-someone")


def test_stronger_sources_override_weaker_ones(write):
    file = write("low.properties", "".join(f"aeron.{name}=1\n" for name in ("max.resend", "mtu.length")))
    weaker = write(
        "first.toml",
        "[driver]\nmax_resend = 9\nstream_session_limit = 9\nnak_unicast_retry_delay_ratio = 9\n",
    )
    environ = {"AERON_MAX_RESEND": "2", "AERON_MTU_LENGTH": "64", "AERON_IPC_MTU_LENGTH": "64"}
    defines = ["aeron.max.resend=3", "aeron.ipc.mtu.length=96"]

    loaded = load_driver_settings(
        arguments={"max_resend": 4, "mtu_length": None},
        defines=defines,
        files=[weaker, file],
        environ=environ,
    )

    settings = loaded.settings
    assert (settings.max_resend, loaded.sources["max_resend"]) == (4, "argument")
    assert (settings.ipc_mtu_length, loaded.sources["ipc_mtu_length"]) == (96, "-D")
    assert (settings.mtu_length, loaded.sources["mtu_length"]) == (64, "environment AERON_MTU_LENGTH")
    assert (settings.stream_session_limit, loaded.sources["stream_session_limit"]) == (9, "file first.toml")
    assert loaded.sources["term_buffer_length"] == "default"
    assert loaded.warnings == ()


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
    ("field", "text"),
    [("term_buffer_length", "64mb"), ("timer_interval_ns", "100msec"), ("max_resend", "4k")],
)
def test_values_of_python_are_read_strictly(field, text):
    with pytest.raises(ConfigurationError, match="must be"):
        load_driver_settings(arguments={field: text}, environ={})


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


def test_later_file_overrides_an_earlier_one(write):
    first = write("a.properties", "aeron.max.resend=2\n")
    second = write("b.toml", "[driver]\nmax_resend = 3\n")

    assert load_driver_settings(files=[first, second], environ={}).sources["max_resend"] == "file b.toml"
    assert load_driver_settings(files=[second, first], environ={}).settings.max_resend == 2


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


def test_a_stronger_source_removes_the_warning_of_a_weaker_one():
    loaded = load_driver_settings(defines=["aeron.max.resend=5"], environ={"AERON_MAX_RESEND": "x"})

    assert (loaded.settings.max_resend, loaded.warnings) == (5, ())


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


def test_define_without_a_value_unsets_a_setting():
    environ = {"AERON_MAX_RESEND": "5"}

    assert (
        load_driver_settings(defines=["aeron.max.resend="], environ=environ).sources["max_resend"]
        == "default"
    )


def test_empty_variable_counts_as_not_set():
    loaded = load_driver_settings(environ={"AERON_DIR": "", "AERON_MAX_RESEND": " ", "USER": "u"})

    assert loaded.settings.aeron_dir.name == "aeron-u"
    assert loaded.warnings == ()


@pytest.mark.parametrize("define", ["aeron.dir", "=x", ""])
def test_define_must_have_a_name_and_a_value(define):
    with pytest.raises(ConfigurationError, match=r"\(-D\): must be name=value"):
        load_driver_settings(defines=[define], environ={})


def test_wrong_argument_is_reported_with_its_source():
    with pytest.raises(ConfigurationError, match=r"mtu_length='8kb': must be a size .*\(argument\)"):
        load_driver_settings(arguments={"mtu_length": "8kb"}, environ={})
    with pytest.raises(ConfigurationError, match=r"unknown setting 'mtu': .*\(argument\)"):
        load_driver_settings(arguments={"mtu": 64}, environ={})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[driver]\nmtu_length = '8kb'\n", r"mtu_length='8kb': must be a size .*\(file a.toml\)"),
        ("[driver]\nmtu_length = 70000\n", r"mtu_length=70000: must be a size .*\(file a.toml\)"),
        ("[driver]\nmtu = 64\n", r"unknown setting 'mtu': .*\(file a.toml\)"),
        ("driver = 5\n", "'driver' must be a table"),
        ("[driver\n", "must be TOML"),
    ],
)
def test_wrong_toml_is_reported_with_its_file(write, text, message):
    with pytest.raises(ConfigurationError, match=message):
        load_driver_settings(files=[write("a.toml", text)], environ={})


def test_missing_file_is_reported_with_its_path(tmp_path):
    with pytest.raises(
        ConfigurationError,
        match=r"nothing.properties': must be a readable file of UTF-8 text: No such file [a-z ]*$",
    ):
        load_driver_settings(files=[tmp_path / "nothing.properties"], environ={})


def test_toml_accepts_sizes_durations_lists_and_booleans(write):
    text = """
    [driver]
    term_buffer_length = "64k"
    client_liveness_timeout_ns = "5s"
    threading_mode = "SHARED"
    driver_connect = false
    resolver_bootstrap_neighbors = ["a:1", "b:2"]

    [other]
    anything = 1
    """

    settings = load_driver_settings(files=[write("a.toml", text)], environ={}).settings

    assert (settings.term_buffer_length, settings.client_liveness_timeout_ns) == (65536, 5 * S)
    assert (settings.threading_mode, settings.driver_connect) == (ThreadingMode.SHARED, False)
    assert settings.resolver_bootstrap_neighbors == ("a:1", "b:2")


def test_unknown_properties_are_warnings_except_those_of_other_programs(write):
    text = "aeron.no.such=1\naeron.client.name=x\naeron.archive.dir=y\njava.home=z\nAERON_MAX_RESEND=5\n"

    loaded = load_driver_settings(files=[write("a.properties", text)], environ={"AERON_NONSENSE": "1"})

    assert loaded.warnings == (
        "aeron.no.such=1 (file a.properties): unknown setting: it has no effect: correct its name or remove it",
    )
    assert loaded.settings.max_resend == 5


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("aeron.term.bufer.length", "aeron.term.buffer.length"),
        ("AERON_TERM_BUFER_LENGTH", "AERON_TERM_BUFFER_LENGTH"),
    ],
)
def test_a_misspelt_property_is_reported_with_a_similar_name(written, hint):
    loaded = load_driver_settings(defines=[f"{written}=64k"], environ={})

    assert loaded.warnings == (f"{written}=64k (-D): unknown setting: did you mean {hint}",)


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


@pytest.mark.parametrize(
    ("text", "is_reported"), [("max_resend = 5\n", True), ("[client]\n", False), ("", True)]
)
def test_a_toml_file_without_a_known_table_is_a_warning(write, text, is_reported):
    loaded = load_driver_settings(files=[write("d.toml", text)], environ={})

    assert loaded.warnings == (
        ("file d.toml: nothing is taken from it: must have a table [driver] or [client]",)
        if is_reported
        else ()
    )


@pytest.mark.parametrize(
    ("variable", "reason"),
    [
        ("AERON_DRIVER_DYNAMIC_LIBRARIES", "C libraries are not loaded"),
        ("AERON_AGENT_ON_START_FUNCTION", "symbol of the C driver"),
        ("AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MEDIA", "symbol of the C driver"),
        ("AERON_DRIVER_NATIVE_RESOURCE_AGENT_IDLE_STRATEGY", "there is no native resource agent"),
    ],
)
def test_settings_that_only_the_reference_can_use_are_accepted_without_effect(variable, reason):
    loaded = load_driver_settings(environ={variable: "x"})

    assert loaded.warnings[0].startswith(f"{variable} (environment {variable}): accepted, without effect: ")
    assert reason in loaded.warnings[0]


def test_conflicting_settings_are_reported_with_their_sources():
    environ = {"AERON_CLIENT_LIVENESS_TIMEOUT": "20s"}

    with pytest.raises(ConfigurationError) as caught:
        load_driver_settings(environ=environ)

    assert str(caught.value) == (
        "publication_unblock_timeout_ns=15s: must be more than client_liveness_timeout_ns=20s "
        "(client_liveness_timeout_ns from environment AERON_CLIENT_LIVENESS_TIMEOUT)"
    )


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("5", "written '5': a number alone is nanoseconds"),
        ("1ns", "written '1ns'"),
        ("20000000000", "written '20000000000': a number alone is nanoseconds"),
    ],
)
def test_a_conflicting_value_is_quoted_as_written(text, note):
    with pytest.raises(ConfigurationError) as caught:
        load_driver_settings(environ={"AERON_CLIENT_LIVENESS_TIMEOUT": text})

    source = "client_liveness_timeout_ns from environment AERON_CLIENT_LIVENESS_TIMEOUT"
    assert str(caught.value).endswith(f"({source}, {note})")


def test_client_settings_have_the_defaults_of_the_reference():
    settings = load_client_settings(environ={"USER": "u"}).settings

    assert settings.aeron_dir == Path("/dev/shm/aeron-u")
    assert (settings.driver_timeout_ms, settings.client_name) == (10_000, "")
    assert (settings.resource_linger_duration_ns, settings.idle_sleep_duration_ns) == (3 * S, 16_000_000)
    assert (settings.keepalive_interval_ns, settings.use_conductor_agent_invoker) == (500_000_000, False)
    assert settings.pre_touch_mapped_memory is False


def test_client_settings_come_from_the_environment_and_a_toml_table(write):
    file = write("a.toml", "[client]\nclient_name = 'file'\n[driver]\nmtu_length = 64\n")
    environ = {
        "AERON_DIR": "/tmp/a",
        "AERON_DRIVER_TIMEOUT": "500",
        "AERON_CLIENT_IDLE_SLEEP_DURATION": "1ms",
    }

    loaded = load_client_settings(files=[file], environ=environ)

    assert (loaded.settings.aeron_dir, loaded.settings.driver_timeout_ms) == (Path("/tmp/a"), 500)
    assert (loaded.settings.client_name, loaded.sources["client_name"]) == ("file", "file a.toml")
    assert loaded.settings.idle_sleep_duration_ns == 1_000_000


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("AERON_DRIVER_TIMEOUT", "5s"),
        ("AERON_CLIENT_IDLE_SLEEP_DURATION", "x"),
        ("AERON_CLIENT_RESOURCE_LINGER_DURATION", "x"),
        ("AERON_CLIENT_NAME", "x" * 101),
    ],
)
def test_client_refuses_a_wrong_variable(variable, text):
    with pytest.raises(ConfigurationError, match=f"{variable}={text}"):
        load_client_settings(environ={variable: text})


def test_environment_of_the_process_is_the_default(monkeypatch):
    monkeypatch.setenv("AERON_MAX_RESEND", "7")

    assert load_driver_settings().settings.max_resend == 7


@pytest.mark.system
def test_importing_settings_does_not_import_heavy_modules():
    heavy = ["asyncio", "pydantic_settings", "numpy"]
    code = f"import sys, aeron_core.settings; print([m for m in {heavy} if m in sys.modules])"

    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert output.strip() == "[]"

"""Loading of a driver's settings: precedence of sources, files, defines, and settings that conflict."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings import ThreadingMode, load_driver_settings

S = 1_000_000_000


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
    ("field", "text"),
    [("term_buffer_length", "64mb"), ("timer_interval_ns", "100msec"), ("max_resend", "4k")],
)
def test_values_of_python_are_read_strictly(field, text):
    with pytest.raises(ConfigurationError, match="must be"):
        load_driver_settings(arguments={field: text}, environ={})


def test_later_file_overrides_an_earlier_one(write):
    first = write("a.properties", "aeron.max.resend=2\n")
    second = write("b.toml", "[driver]\nmax_resend = 3\n")

    assert load_driver_settings(files=[first, second], environ={}).sources["max_resend"] == "file b.toml"
    assert load_driver_settings(files=[second, first], environ={}).settings.max_resend == 2


def test_a_stronger_source_removes_the_warning_of_a_weaker_one():
    loaded = load_driver_settings(defines=["aeron.max.resend=5"], environ={"AERON_MAX_RESEND": "x"})

    assert (loaded.settings.max_resend, loaded.warnings) == (5, ())


def test_define_without_a_value_unsets_a_setting():
    environ = {"AERON_MAX_RESEND": "5"}

    assert (
        load_driver_settings(defines=["aeron.max.resend="], environ=environ).sources["max_resend"]
        == "default"
    )


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


@pytest.mark.parametrize("suffix", ["", ".toml"])
def test_a_pipe_or_a_device_is_refused_as_a_settings_file(tmp_path, suffix):
    pipe, device = tmp_path / f"pipe{suffix}", tmp_path / f"device{suffix}"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")

    for path in (pipe, device):
        with pytest.raises(
            ConfigurationError, match=f"settings file '{path}': must be a regular file of UTF-8"
        ):
            load_driver_settings(files=[path], environ={})


def test_a_settings_file_of_more_than_a_mebibyte_is_refused_before_it_is_read_whole(tmp_path):
    endless = tmp_path / "endless.properties"
    with endless.open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(ConfigurationError, match=r"endless.properties': must have at most 1048576 bytes"):
        load_driver_settings(files=[endless], environ={})


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
        ("term_buffer_length", "aeron.term.buffer.length"),
        ("term.buffer.length", "aeron.term.buffer.length"),
    ],
)
def test_a_misspelt_property_is_reported_with_a_similar_name(written, hint):
    loaded = load_driver_settings(defines=[f"{written}=64k"], environ={})

    assert loaded.warnings == (f"{written}=64k (-D): unknown setting: did you mean {hint}",)


@pytest.mark.parametrize(
    ("text", "is_reported"), [("max_resend = 5\n", True), ("[client]\n", False), ("", True)]
)
def test_a_toml_file_without_a_known_table_is_a_warning(write, text, is_reported):
    loaded = load_driver_settings(files=[write("d.toml", text)], environ={})

    assert loaded.warnings == (
        ("file d.toml: nothing is taken from it: must have a table [driver] or [client] or [security]",)
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


@pytest.mark.system
def test_importing_settings_does_not_import_heavy_modules():
    heavy = ["asyncio", "pydantic_settings", "numpy"]
    code = f"import sys, aeron_core.settings; print([m for m in {heavy} if m in sys.modules])"

    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert output.strip() == "[]"

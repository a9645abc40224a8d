"""`aeron-core driver` as a replacement for `aeronmd`: its arguments and environment, and what it prints.

Each expectation was observed with aeronmd 1.53 and the same arguments; `aeronmd-configuration.txt` is its output.
"""

import signal
from pathlib import Path

import pytest

from aeron_core.version import COMMIT, VERSION

pytestmark = pytest.mark.system

GOODBYE = "Shutting down driver...\n"
DEFAULTS = {"AERON_COUNTERS_BUFFER_LENGTH": "8m", "AERON_TERM_BUFFER_LENGTH": "16m"}
CONFIGURATION = (Path(__file__).parent / "aeronmd-configuration.txt").read_text(encoding="utf-8")
#: Entries of the C program only: pointers, clocks, libraries; and two factors that channels set (`rrwm`).
ITS_OWN = (
    "unicast_flow_control_rrwm",
    "multicast_flow_control_rrwm",
    "epoch_clock",
    "nano_clock",
    "agent_on_start_func",
    "agent_on_start_state",
    "usable_fs_space_func",
    "termination_validator_state",
    "termination_hook_func",
    "termination_hook_state",
    "udp_channel_transport_bindings.media",
    "conductor_udp_channel_transport_bindings.media",
)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"AERON_ENABLE_EXPERIMENTAL_FEATURES": "1"},
        {"AERON_PUBLICATION_LINGER_TIMEOUT": "0", "AERON_NAK_UNICAST_DELAY": "0"},
        {"AERON_NATIVE_RESOURCE_AGENT_IDLE_STRATEGY": "noop"},
        {"AERON_DRIVER_NATIVE_RESOURCE_AGENT_IDLE_STRATEGY": "noop"},
        {"AERON_RECEIVER_IO_VECTOR_CAPACITY": "17", "AERON_SENDER_IO_VECTOR_CAPACITY": "17"},
        {"AERON_COUNTERS_BUFFER_LENGTH": "32768"},
        {
            "AERON_RELIABLE_STREAM": "yes",
            "AERON_SOCKET_MULTICAST_TTL": "4k",
            "AERON_EVENT_LOG_DISABLE": "nonsense",
        },
        {"AERON_CONDUCTOR_CPU_AFFINITY": "99999", "AERON_SENDER_CPU_AFFINITY": "255"},
        {
            "AERON_DRIVER_DYNAMIC_LIBRARIES": "",
            "AERON_NO_SUCH_SETTING": "1",
            "AERON_TERM_BUFER_LENGTH": "64k",
        },
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED", "INVOKER"])
def test_accepted_variables_write_nothing_to_stderr(launch, environment, mode):
    process, _ = launch(AERON_THREADING_MODE=mode, **environment)
    process.popen.terminate()

    outcome = process.ended()

    assert (outcome.code, outcome.out, outcome.err) == (signal.SIGTERM, GOODBYE, "")


def test_a_value_that_cannot_be_parsed_is_a_warning_as_in_the_reference(launch):
    process, _ = launch(AERON_MAX_RESEND="many")
    process.popen.terminate()

    (line,) = process.ended().err.splitlines()

    assert "warning: AERON_MAX_RESEND=many" in line


def test_it_warns_about_an_existing_directory_and_reports_the_age_of_its_heartbeat(launch):
    process, directory = launch()
    process.popen.terminate()
    process.ended()

    process, _ = launch(AERON_DIR_WARN_IF_EXISTS="1")
    process.popen.terminate()

    first, second = process.ended().err.splitlines()
    assert first == f"WARNING: {directory} exists"
    assert second.startswith("INFO: Aeron driver heartbeat is ")
    assert second.endswith(" ms old")


def test_a_directory_deleted_at_the_start_is_not_checked_for_a_driver(launch):
    process, directory = launch()
    process.popen.kill()
    process.ended()
    (directory / "publications" / "1.logbuffer").touch()

    process, _ = launch(AERON_DIR_WARN_IF_EXISTS="1", AERON_DIR_DELETE_ON_START="1")
    left = list((directory / "publications").iterdir())
    process.popen.terminate()
    outcome = process.ended()

    assert left == []
    assert outcome.err == f"WARNING: {directory} exists\n"
    assert (outcome.code, outcome.out) == (signal.SIGTERM, GOODBYE)


def values(text):
    """Return names and values of a configuration, in its order."""
    head, *lines, tail = text.splitlines()
    assert (head, tail) == ("aeron_driver_context_t {", "}")
    assert all(line.startswith("    ") for line in lines)
    return dict(line.strip().split("=", 1) for line in lines)


def test_the_configuration_has_the_names_the_order_and_the_values_of_the_reference(launch):
    process, _ = launch(AERON_PRINT_CONFIGURATION="1", **DEFAULTS)
    process.popen.terminate()
    outcome = process.ended()

    assert outcome.out.endswith("}\n" + GOODBYE)
    ours = values(outcome.out.removesuffix(GOODBYE))
    theirs = {
        name: value
        for name, value in values(CONFIGURATION.removesuffix(GOODBYE)).items()
        if name not in ITS_OWN
    }
    assert list(ours)[: len(theirs)] == list(theirs)
    # Functions of the reference are names here.
    differing = [name for name in theirs if "_func" not in name and ours[name] != theirs[name]]
    assert [name for name in differing if not name.endswith("_init_args")] == ["aeron_dir"]


def test_defines_and_files_have_the_precedence_of_the_reference(launch, tmp_path):
    properties = tmp_path / "low.properties"
    properties.write_text(
        "# of one host\naeron.mtu.length=4096\naeron.ipc.mtu.length = 2048\naeron.print.configuration=true\n"
    )

    process, _ = launch("-Daeron.max.resend=7", properties)
    process.popen.terminate()
    found = values(process.ended().out.removesuffix(GOODBYE))

    assert [found[name] for name in ("mtu_length", "ipc_mtu_length", "max_resend")] == ["4096", "2048", "7"]
    assert found["term_buffer_length"] == "65536"


@pytest.mark.parametrize("arguments", [("-Dfoo",), ("nosuch.properties",), ("-x",), ("-D",)])
def test_unreadable_arguments_stop_the_start(start, arguments):
    outcome = start("driver", *arguments).ended()

    assert outcome.code != 0
    assert outcome.out == ""
    assert outcome.err


def test_it_shows_its_version_and_exits(start):
    outcome = start("driver", "-v").ended()

    assert outcome.code == 0
    major, minor, patch = VERSION.split(".")
    assert outcome.out == (
        f"aeron-core driver <aeron version={VERSION} commit={COMMIT}> "
        f"major {major} minor {minor} patch {patch} git {COMMIT}\n"
    )

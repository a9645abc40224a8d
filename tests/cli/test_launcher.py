"""`aeron-core driver` as a replacement for `aeronmd`: output, signals and exit codes.

Each expectation was observed with aeronmd 1.53 and the same arguments; `aeronmd-configuration.txt` is its output.
"""

import ctypes
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.errors import AeronError
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.version import COMMIT, VERSION

pytestmark = pytest.mark.system

GOODBYE = "Shutting down driver...\n"
SMALL = {"AERON_COUNTERS_BUFFER_LENGTH": "1m", "AERON_TERM_BUFFER_LENGTH": "64k"}
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


@pytest.fixture
def launch(start, await_driver, tmp_path, monkeypatch):
    """Start the driver as a script for aeronmd does; wait until it accepts clients."""

    def call(*arguments, directory=tmp_path / "driver", **environment):
        for name, value in {"AERON_DIR": directory, **SMALL, **environment}.items():
            monkeypatch.setenv(name, str(value))
        process = start("driver", *arguments)
        await_driver(process, directory)
        return process, directory

    return call


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_its_number_and_the_directory_remains(launch, number):
    process, directory = launch()

    process.popen.send_signal(number)
    outcome = process.ended(timeout=20)

    assert (outcome.code, outcome.out) == (number, GOODBYE)
    assert sorted(path.name for path in directory.iterdir()) == [
        "cnc.dat",
        "images",
        "loss-report.dat",
        "publications",
    ]


def test_the_directory_is_deleted_on_shutdown_if_requested(launch):
    process, directory = launch(AERON_DIR_DELETE_ON_SHUTDOWN="1")

    process.popen.terminate()

    assert process.ended(timeout=20).out == GOODBYE
    assert not directory.exists()


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

    outcome = process.ended(timeout=20)

    assert (outcome.code, outcome.out, outcome.err) == (signal.SIGTERM, GOODBYE, "")


def test_a_value_that_cannot_be_parsed_is_a_warning_as_in_the_reference(launch):
    process, _ = launch(AERON_MAX_RESEND="many")
    process.popen.terminate()

    (line,) = process.ended(timeout=20).err.splitlines()

    assert "warning: AERON_MAX_RESEND=many" in line


def test_a_client_may_terminate_it_and_it_exits_with_0(launch):
    process, directory = launch(AERON_DRIVER_TERMINATION_VALIDATOR="allow")

    with aeron_core.connect(directory) as client:
        client.terminate_driver()
        outcome = process.ended(timeout=20)

    assert (outcome.code, outcome.out) == (0, GOODBYE)


def seconds_to_end(process, client, how):
    started_s = time.monotonic()
    if how == "signal":
        process.popen.terminate()
    else:
        client.terminate_driver()
    process.popen.wait(timeout=20)
    return time.monotonic() - started_s


@pytest.mark.parametrize("how", ["signal", "request"])
@pytest.mark.parametrize("stream_count", [0, 100])
def test_it_exits_within_a_tenth_of_a_second(launch, tmp_path, stream_count, how):
    def measure(attempt):
        process, directory = launch(
            directory=tmp_path / str(attempt),
            AERON_DRIVER_TERMINATION_VALIDATOR="allow",
            AERON_DIR_DELETE_ON_SHUTDOWN="1",
        )
        # The client outlives the driver.
        with suppress(AeronError), aeron_core.connect(directory) as client:
            for stream_id in range(stream_count):
                client.add_publication(f"aeron:udp?endpoint=127.0.0.1:{24000 + stream_id}", stream_id)
            took_s = seconds_to_end(process, client, how)
        assert not directory.exists()
        return took_s

    # The shortest of three: other processes of the machine may delay one.
    assert min(map(measure, range(3))) < 0.1


#: Moves messages on 100 streams of the channel until it is killed; prints a line once they flow.
LOAD = """
import sys, aeron_core
directory, channel = sys.argv[1:]
with aeron_core.connect(directory) as client:
    channels = [channel.format(port=25000 + number % 10) for number in range(100)]
    subscriptions = [client.add_subscription(one, number) for number, one in enumerate(channels)]
    publications = [client.add_publication(one, number) for number, one in enumerate(channels)]
    for publication in publications:
        publication.await_connected(20)
    polled = 0
    while True:
        for publication, subscription in zip(publications, subscriptions):
            publication.offer(bytes(1000))
            polled += subscription.poll(lambda buffer, header: None, 10)
        if polled > 1000:
            print("flowing", flush=True)
            polled = -sys.maxsize
"""


@pytest.mark.parametrize("is_client_stopped", [False, True], ids=["", "client stopped"])
@pytest.mark.parametrize("how", ["signal", "request"])
@pytest.mark.parametrize("channel", ["aeron:udp?endpoint=127.0.0.1:{port}", "aeron:ipc"])
def test_it_exits_within_half_a_second_while_100_streams_flow(
    launch, tmp_path, channel, how, is_client_stopped
):
    def measure(attempt):
        process, directory = launch(
            directory=tmp_path / str(attempt),
            AERON_DRIVER_TERMINATION_VALIDATOR="allow",
            AERON_DIR_DELETE_ON_SHUTDOWN="1",
            AERON_IPC_TERM_BUFFER_LENGTH="64k",
        )
        load = subprocess.Popen(
            [sys.executable, "-c", LOAD, directory, channel],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with suppress(AeronError), load, aeron_core.connect(directory) as client:
            try:
                assert load.stdout.readline() == "flowing\n"
                if is_client_stopped:
                    load.send_signal(signal.SIGSTOP)
                took_s = seconds_to_end(process, client, how)
            finally:
                load.kill()
        assert not directory.exists()
        return took_s

    # One of three: other processes of the machine may delay the others.
    assert any(measure(attempt) < 0.5 for attempt in range(3))


def test_a_reader_that_does_not_read_does_not_delay_the_shutdown(launch):
    process, directory = launch(AERON_EVENT_LOG="admin", AERON_DRIVER_TERMINATION_VALIDATOR="allow")
    fcntl.fcntl(process.popen.stdout, fcntl.F_SETPIPE_SZ, 4096)

    with suppress(AeronError), aeron_core.connect(directory) as client:
        for stream_id in range(100):
            client.add_publication("aeron:ipc?term-length=64k", stream_id)
        client.terminate_driver()
        code = process.popen.wait(timeout=10)

    assert code == 0


def test_a_reader_that_was_killed_is_logged_once_and_the_driver_goes_on(launch):
    process, directory = launch(AERON_EVENT_LOG="admin")
    for stream in (process.popen.stdout, process.popen.stderr):
        stream.close()

    with aeron_core.connect(directory) as client:
        for number in range(100):
            client.add_counter(1001, label=str(number))
    records = list(read_errors(CncFile.open(directory / CNC_FILE, read_only=True).error_log))
    process.popen.terminate()

    assert process.popen.wait(timeout=20) == signal.SIGTERM
    ((count, text),) = [(record.observation_count, record.text) for record in records]
    assert (count, "Broken pipe" in text) == (1, True)
    process.popen.stdout, process.popen.stderr = open(os.devnull), open(os.devnull)  # noqa: SIM115 - the fixture closes


def test_it_runs_without_standard_output_and_error(tmp_path):
    environment = {**os.environ, "AERON_DIR": str(tmp_path / "driver"), **SMALL}
    command = f"exec {sys.executable} -m aeron_core driver >&- 2>&-"
    process = subprocess.Popen(["/bin/sh", "-c", command], env=environment)
    try:
        with aeron_core.connect(tmp_path / "driver") as client:
            client.add_counter(1001, label="served")
        process.terminate()

        assert process.wait(timeout=20) == signal.SIGTERM
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("full", ["stdout", "stderr"])
def test_it_runs_if_the_disk_of_its_output_is_full(tmp_path, full):
    """Warnings and the configuration are written at the start, and the end is announced."""
    directory = tmp_path / "driver"
    environment = {"AERON_DIR": str(directory), **SMALL, "AERON_PRINT_CONFIGURATION": "true"}
    command = [sys.executable, "-m", "aeron_core", "driver", "-Daeron.mtu.length=x", "-Dno.such=1"]
    directory.mkdir()
    with open("/dev/full", "w") as device:
        outputs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, full: device}
        process = subprocess.Popen(
            command, env={**os.environ, **environment, "AERON_DIR_WARN_IF_EXISTS": "true"}, **outputs
        )
    try:
        with aeron_core.connect(directory) as client:
            client.add_counter(1001, label="served")
        process.terminate()

        assert process.wait(timeout=20) == signal.SIGTERM
    finally:
        process.kill()
        process.wait()


def test_a_closed_pipe_does_not_disturb_the_shutdown(launch):
    process, directory = launch(AERON_DIR_DELETE_ON_SHUTDOWN="1")
    process.popen.stdout.close()
    process.popen.terminate()

    assert process.popen.wait(timeout=20) == signal.SIGTERM
    assert process.popen.stderr.read() == ""
    assert not directory.exists()
    process.popen.stdout = open(os.devnull)  # noqa: SIM115 - the fixture reads and closes it


#: Starts a driver with pipes that nothing reads, prints its pid, and waits for it.
PARENT = """
import subprocess, sys
command = [sys.executable, "-m", "aeron_core", "driver"]
driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
print(driver.pid, flush=True)
driver.wait()
"""
#: Source: linux/prctl.h.
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def subreaper():
    """Make this process the parent of processes whose own parent has ended, so that it gets their exit codes."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    assert prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0


@pytest.mark.usefixtures("subreaper")
def test_a_driver_with_a_killed_parent_ends_on_request(tmp_path):
    directory = tmp_path / "driver"
    environment = {
        **os.environ,
        **SMALL,
        "AERON_DIR": str(directory),
        "AERON_DIR_DELETE_ON_SHUTDOWN": "1",
        "AERON_DRIVER_TERMINATION_VALIDATOR": "allow",
    }
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        descriptor = os.pidfd_open(pid)
        with suppress(AeronError), aeron_core.connect(directory) as client:
            parent.kill()
            parent.wait()
            client.terminate_driver()
            has_ended = bool(select.select([descriptor], [], [], 5)[0])
    if not has_ended:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(descriptor)

    # Nothing reads its output, which must not change how it ends.
    assert (has_ended, code) == (True, 0)
    assert not directory.exists()


def test_before_it_exits_its_threads_end_and_its_exit_handlers_run():
    program = """
import atexit, sys, threading
from aeron_core.cli import main as cli

class Freed:
    def __del__(self):
        print("interpreter torn down")

def run(arguments):
    atexit.register(print, "handler")
    threading.Thread(target=lambda: (threading.main_thread().join(0.01), print("thread"))).start()
    return 15

kept, cli.run, sys.argv = Freed(), run, ["aeron-core", "driver"]
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (15, "thread\nhandler\n", "")


@pytest.mark.parametrize("environment", [{}, {"AERON_DRIVER_TERMINATION_VALIDATOR": "deny"}])
def test_a_denied_termination_request_has_no_effect(launch, environment):
    process, directory = launch(**environment)

    with aeron_core.connect(directory) as client:
        client.terminate_driver()
        # The driver has handled the request when it answers a later command.
        client.add_counter(1001, label="after")
    process.popen.terminate()

    assert process.ended(timeout=20).code == signal.SIGTERM


def test_a_hang_up_ends_it_at_once(launch):
    # Under nohup, the tests ignore SIGHUP, and child processes would inherit that.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process, _ = launch()
    signal.signal(signal.SIGHUP, before)

    process.popen.send_signal(signal.SIGHUP)
    outcome = process.ended(timeout=20)

    assert (outcome.code, outcome.out) == (-signal.SIGHUP, "")


def test_it_warns_about_an_existing_directory_and_reports_the_age_of_its_heartbeat(launch):
    process, directory = launch()
    process.popen.terminate()
    process.ended(timeout=20)

    process, _ = launch(AERON_DIR_WARN_IF_EXISTS="1")
    process.popen.terminate()

    first, second = process.ended(timeout=20).err.splitlines()
    assert first == f"WARNING: {directory} exists"
    assert second.startswith("INFO: Aeron driver heartbeat is ")
    assert second.endswith(" ms old")


def test_a_directory_deleted_at_the_start_is_not_checked_for_a_driver(launch):
    process, directory = launch()
    process.popen.kill()
    process.ended(timeout=20)
    (directory / "publications" / "1.logbuffer").touch()

    process, _ = launch(AERON_DIR_WARN_IF_EXISTS="1", AERON_DIR_DELETE_ON_START="1")
    left = list((directory / "publications").iterdir())
    process.popen.terminate()
    outcome = process.ended(timeout=20)

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
    outcome = process.ended(timeout=20)

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
    found = values(process.ended(timeout=20).out.removesuffix(GOODBYE))

    assert [found[name] for name in ("mtu_length", "ipc_mtu_length", "max_resend")] == ["4096", "2048", "7"]
    assert found["term_buffer_length"] == "65536"


@pytest.mark.parametrize("arguments", [("-Dfoo",), ("nosuch.properties",), ("-x",), ("-D",)])
def test_unreadable_arguments_stop_the_start(start, arguments):
    outcome = start("driver", *arguments).ended(timeout=20)

    assert outcome.code != 0
    assert outcome.out == ""
    assert outcome.err


def test_it_shows_its_version_and_exits(start):
    outcome = start("driver", "-v").ended(timeout=20)

    assert outcome.code == 0
    major, minor, patch = VERSION.split(".")
    assert outcome.out == (
        f"aeron-core driver <aeron version={VERSION} commit={COMMIT}> "
        f"major {major} minor {minor} patch {patch} git {COMMIT}\n"
    )

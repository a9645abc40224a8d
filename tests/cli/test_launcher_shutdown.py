"""`aeron-core driver` as a replacement for `aeronmd`: signals, requests to terminate, and exit codes.

Each expectation was observed with aeronmd 1.53 and the same arguments.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from laboratory.pressure import stalled_s

import aeron_core
from aeron_core.errors import AeronError

pytestmark = pytest.mark.system

GOODBYE = "Shutting down driver...\n"
SMALL = {"AERON_COUNTERS_BUFFER_LENGTH": "1m", "AERON_TERM_BUFFER_LENGTH": "64k"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_its_number_and_the_directory_remains(launch, number):
    process, directory = launch()

    process.popen.send_signal(number)
    outcome = process.ended()

    assert (outcome.code, outcome.out) == (number, GOODBYE)
    assert sorted(path.name for path in directory.iterdir()) == [
        "bells",
        "cnc.dat",
        "images",
        "loss-report.dat",
        "publications",
    ]


def test_the_directory_is_deleted_on_shutdown_if_requested(launch):
    process, directory = launch(AERON_DIR_DELETE_ON_SHUTDOWN="1")

    process.popen.terminate()

    assert process.ended().out == GOODBYE
    assert not directory.exists()


def test_a_client_may_terminate_it_and_it_exits_with_0(launch):
    process, directory = launch(AERON_DRIVER_TERMINATION_VALIDATOR="allow")

    with aeron_core.connect(directory) as client:
        client.terminate_driver()
        outcome = process.ended()

    assert (outcome.code, outcome.out) == (0, GOODBYE)


def seconds_to_end(process, client, how):
    """Return the time to the end of a driver, without that in which any process waited for a processor."""
    started_s, stalled_before_s = time.monotonic(), stalled_s()
    if how == "signal":
        process.popen.terminate()
    else:
        client.terminate_driver()
    process.popen.wait(timeout=60)
    return time.monotonic() - started_s - (stalled_s() - stalled_before_s)


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

    assert process.ended().code == signal.SIGTERM


def test_a_hang_up_ends_it_at_once(launch):
    # Under nohup, the tests ignore SIGHUP, and child processes would inherit that.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process, _ = launch()
    signal.signal(signal.SIGHUP, before)

    process.popen.send_signal(signal.SIGHUP)
    outcome = process.ended()

    assert (outcome.code, outcome.out) == (-signal.SIGHUP, "")

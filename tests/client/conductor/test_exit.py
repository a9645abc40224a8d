"""Clients and embedded drivers of programs that exit without closing them."""

import gc
import subprocess
import sys
import time
from pathlib import Path

import pytest

import aeron_core
from aeron_core.agent.at_exit import _open
from aeron_core.concurrent.counter_types import CLIENT_HEARTBEAT

pytestmark = pytest.mark.system

DEADLINE_S = 60
CONNECT = """
import aeron_core, os, sys
aeron = aeron_core.connect(sys.argv[1])
subscription = aeron.add_subscription("aeron:ipc", 1)
publication = aeron.add_publication("aeron:ipc", 1)
"""


@pytest.fixture
def patient_driver():
    """A driver that times no client out during a test."""
    settings = {
        "client_liveness_timeout_ns": "600s",
        "publication_unblock_timeout_ns": "1200s",
        "counters_buffer_length": "1m",
        "ipc_term_buffer_length": "64k",
    }
    with aeron_core.MediaDriver.launch_embedded(settings) as driver:
        yield driver


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def await_no_client_but(aeron):
    deadline = time.monotonic() + DEADLINE_S
    while any(
        record.type_id == CLIENT_HEARTBEAT and record.registration_id != aeron.client_id
        for record in aeron.counters_reader
    ):
        assert time.monotonic() < deadline, "the driver still has the client"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("end", "code"), [("", 0), ("sys.exit(3)", 3), ("raise ValueError", 1), ("del aeron", 0)]
)
def test_the_driver_removes_the_client_of_a_program_that_exits_at_once(patient_driver, end, code):
    with aeron_core.connect(patient_driver.aeron_dir) as aeron:
        done = run(CONNECT + end, patient_driver.aeron_dir)

        assert done.returncode == code
        assert ("Traceback" in done.stderr) is (end == "raise ValueError")
        await_no_client_but(aeron)


def test_close_handlers_run_when_the_program_exits(patient_driver):
    done = run(CONNECT + "aeron.add_close_handler(lambda: print('closed'))", patient_driver.aeron_dir)

    assert (done.stdout, done.stderr) == ("closed\n", "")


def test_a_handler_that_never_returns_does_not_block_the_exit(patient_driver):
    done = run(
        "import threading\n" + CONNECT + "entered = threading.Event()\n"
        "def wait(*_):\n    entered.set()\n    threading.Event().wait()\n"
        "other = aeron.add_subscription('aeron:ipc', 2, on_available_image=wait)\n"
        "aeron.add_publication_async('aeron:ipc', 2)\n"
        "entered.wait()",
        patient_driver.aeron_dir,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_exit_of_a_fork_keeps_the_clients_of_its_parent_open(patient_driver):
    done = run(
        CONNECT + "child = os.fork()\n"
        "if child == 0:\n    sys.exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(aeron.add_counter(1001, label='x').label, publication.is_closed)",
        patient_driver.aeron_dir,
    )

    assert done.stdout == "x False\n", done.stderr


def test_an_embedded_driver_shuts_down_after_its_clients_and_deletes_its_directory():
    done = run(
        """
import aeron_core, os
driver = aeron_core.MediaDriver.launch_embedded({"counters_buffer_length": "1m"})
print(driver.aeron_dir, os.getpid())
aeron = aeron_core.connect(driver.aeron_dir, error_handler=lambda error: print(repr(error)))
aeron.add_close_handler(lambda: print("driver closed first:", driver.is_closed))
publication = aeron.add_publication("aeron:udp?endpoint=127.0.0.1:20121|term-length=64k", 1)
"""
    )

    assert done.stderr == ""
    first, *others = done.stdout.splitlines()
    directory, process_id = first.split()
    assert others == ["driver closed first: False"]
    assert not Path(directory).exists()
    assert not list(Path("/dev/shm").glob(f"aeron-core-{process_id}-*"))


def test_closed_clients_are_not_kept_alive(patient_driver):
    gc.collect()
    before = len(_open)

    for _ in range(3):
        aeron_core.connect(patient_driver.aeron_dir).close()
    gc.collect()

    assert len(_open) == before


def test_a_client_that_has_left_is_removed_at_once_by_retire_client(patient_driver):
    left = aeron_core.connect(patient_driver.aeron_dir)
    left.add_subscription("aeron:ipc", 1)
    left.leave()
    with aeron_core.connect(patient_driver.aeron_dir) as aeron:
        assert aeron.driver_identity == left.driver_identity

        aeron.retire_client(left.client_id)

        await_no_client_but(aeron)

"""Locks of a process that was killed, while a child that it had forked lives on."""

import os
import signal
import subprocess
import sys

import pytest

from aeron_core.file_locks import try_lock

pytestmark = pytest.mark.system

LOCKS = {
    "driver": """
        from aeron_core.driver.media_driver import MediaDriver
        small = {"counters_buffer_length": "1m", "perform_storage_checks": False}
        lock = MediaDriver({"aeron_dir": folder / "driver", **small}, invoker=True)
        path = folder / "driver" / "cnc.dat"
        """,
    "semaphore": """
        from aeron_core._native.semaphore import NamedSemaphore
        name = f"aeron-core-test-{os.getpid()}"
        lock = NamedSemaphore(f"/{name}", create=True)
        path = f"/dev/shm/sem.{name}"
        """,
    "shared memory": """
        from aeron_core.driver.conductor.log_storage import _SharedMemoryNames
        lock = _SharedMemoryNames()
        path = f"/dev/shm/{lock.prefix}lock"
        """,
    "recorder": """
        from aeron_core.recording import Archive
        lock = Archive.create(folder).recorder_lock()
        lock.__enter__()
        path = folder / "recorder.lock"
        """,
    "shipper": """
        from aeron_core.shipping.offset_registry import OffsetRegistry
        lock = OffsetRegistry(folder)
        path = folder / "lock"
        """,
}
BEGIN = """
import os, signal, sys
from pathlib import Path
folder = Path(sys.argv[1])
"""
END = """
if os.fork() == 0:
    print(path, flush=True)
    sys.stdin.read()
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_ends_with_its_process_though_a_forked_child_lives(kind, tmp_path):
    acquire = "\n".join(line.strip() for line in LOCKS[kind].splitlines())
    with subprocess.Popen(
        [sys.executable, "-c", f"{BEGIN}{acquire}{END}", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        path = process.stdout.readline().strip()
        assert process.wait() == -signal.SIGKILL

        with open(path, "rb", buffering=0) as file:
            is_free = try_lock(file)
        os.unlink(path)
        process.stdin.close()  # the child ends

    assert is_free


def test_a_child_that_ends_leaves_the_lock_to_its_process(tmp_path):
    script = f"{BEGIN}{''.join(line.strip() + chr(10) for line in LOCKS['shipper'].splitlines())}" + (
        "child = os.fork()\n"
        "if child == 0: os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(path, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        path = process.stdout.readline().strip()
        with open(path, "rb", buffering=0) as file:
            assert not try_lock(file)
        process.stdin.close()


OPENED = {
    "driver": """
        from aeron_core.driver.media_driver import MediaDriver
        small = {"counters_buffer_length": "1m", "perform_storage_checks": False}
        opened = MediaDriver({"aeron_dir": folder / "driver", **small}, invoker=True)
        work = opened.do_work
        """,
    "recorder": """
        from aeron_core.client.connecting import connect
        from aeron_core.driver.media_driver import MediaDriver
        from aeron_core.recording import Archive
        from aeron_core.recording.writing.recorder import Recorder, RecorderParams
        small = {"counters_buffer_length": "1m", "perform_storage_checks": False}
        driver = MediaDriver({"aeron_dir": folder / "driver", **small}, invoker=True)
        aeron = connect(driver.aeron_dir, driver_invoker=driver.do_work)
        opened = Recorder(aeron, Archive.create(folder / "archive"), [], RecorderParams(on_error=print))
        work = opened.do_work
        """,
    "shipper": """
        from aeron_core.shipping.offset_registry import OffsetRegistry
        opened = OffsetRegistry(folder)
        work = lambda: opened.save({}, 0)
        """,
}


@pytest.mark.parametrize("kind", OPENED)
def test_a_forked_child_does_not_work_without_the_lock_of_its_process(kind, tmp_path):
    begin = "\n".join(line.strip() for line in OPENED[kind].splitlines())
    end = """
from aeron_core.errors import ConfigurationError
work()
if os.fork() == 0:
    try:
        work()
    except ConfigurationError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
work()
os._exit(0)
"""
    run = subprocess.run(
        [sys.executable, "-c", f"{BEGIN}{begin}{end}", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "a forked child without its locks: open it after forking" in run.stdout


def test_a_driver_that_a_forked_child_closes_stays(tmp_path):
    begin = "\n".join(line.strip() for line in OPENED["driver"].splitlines())
    end = """
if os.fork() == 0:
    opened.close()
    os._exit(0)
os.wait()
work()
print(sorted(os.listdir(folder / "driver")), flush=True)
opened.close()
os._exit(0)
"""
    run = subprocess.run(
        [sys.executable, "-c", f"{BEGIN}{begin}{end}", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "cnc.dat" in run.stdout

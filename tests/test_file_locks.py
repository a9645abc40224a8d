"""Locks of a process that was killed, while a child that it had forked lives on."""

import os
import signal
import subprocess
import sys

import pytest

from aeron_core.file_locks import try_lock

LOCKS = {
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

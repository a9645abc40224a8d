"""Locks on the names of shared-memory objects, and the sweep of those that dead drivers have left."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from aeron_core.driver import media_driver
from aeron_core.driver.conductor.log_storage import sweep_shared_memory
from aeron_core.errors import StorageError
from aeron_core.testing import Simulation

SHARED_MEMORY = Path("/dev/shm")
IPC = "aeron:ipc"


def await_swept(names):
    """Wait until no file has one of the names: another process, which starts a driver, may be sweeping it."""
    deadline_s = time.monotonic() + 30
    while list(SHARED_MEMORY.glob(names)):
        assert time.monotonic() < deadline_s, f"{names} is left"
        os.sched_yield()


def objects():
    """Return the log buffers of this process in shared memory."""
    return sorted(SHARED_MEMORY.glob(f"aeron-core-{os.getpid()}-*.logbuffer"))


@pytest.fixture
def dead_pid():
    process = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    return int(process.stdout)


@pytest.fixture
def driver(start_driver):
    return start_driver(storage="posix")


def leave_log(folder, prefix, name="publications-1"):
    """Create the lock file and a log of a driver that was killed; return the path of the log."""
    (folder / f"{prefix}-lock").touch()
    log = folder / f"{prefix}-{name}.logbuffer"
    log.write_bytes(bytes(4096))
    return log


def test_a_driver_that_starts_sweeps_logs_of_dead_drivers(start_driver, dead_pid):
    stale = leave_log(SHARED_MEMORY, f"aeron-core-{dead_pid}-0123abcd")

    start_driver(storage="posix")

    await_swept(f"aeron-core-{dead_pid}-*")
    assert not stale.exists()


def test_a_driver_with_files_sweeps_nothing(start_driver, monkeypatch):
    swept = []
    monkeypatch.setattr(media_driver, "sweep_shared_memory", lambda: swept.append(True))

    # Its successor would wait for the timeout of a live driver, 10 s.
    start_driver(storage="file").close()
    assert swept == []

    # Other drivers on this machine may sweep too: check the call, not which files are left.
    start_driver(storage="posix")
    assert swept == [True]


@pytest.fixture
def lock():
    """Locks a file, as a process of any container does."""
    with ExitStack() as stack:
        yield lambda path: fcntl.flock(stack.enter_context(path.open("rb")), fcntl.LOCK_EX)


def test_the_logs_of_a_live_driver_are_kept_although_no_process_here_has_its_id(tmp_path, dead_pid, lock):
    log = leave_log(tmp_path, f"aeron-core-{dead_pid}-0123abcd")
    lock(tmp_path / f"aeron-core-{dead_pid}-0123abcd-lock")

    assert sweep_shared_memory(tmp_path) == []
    assert log.exists()


def test_the_logs_of_a_dead_driver_are_swept_although_a_process_here_has_its_id(tmp_path, lock):
    dead = leave_log(tmp_path, f"aeron-core-{os.getpid()}-0123abcd")
    leave_log(tmp_path, f"aeron-core-{os.getpid()}-ffffffff")
    lock(tmp_path / f"aeron-core-{os.getpid()}-ffffffff-lock")

    assert sweep_shared_memory(tmp_path) == [dead]


@pytest.mark.parametrize("folder", ["images", "publications"])
def test_all_logs_of_a_dead_driver_and_its_lock_are_swept(tmp_path, folder):
    logs = {leave_log(tmp_path, "aeron-core-7-0123abcd", f"{folder}-{number}") for number in (1, 123456789)}

    assert set(sweep_shared_memory(tmp_path)) == logs
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        "aeron-core-7-0123abcd-images-7.logbuffer",
        "aeron-core-7-signal",
        "aeron-core-7.logbuffer",
        "aeron-7-89abcdef-images-7.logbuffer",
        "my-aeron-core-7-89abcdef-images-7.logbuffer",
    ],
)
def test_only_logs_that_belong_to_a_free_lock_are_swept(tmp_path, name):
    leave_log(tmp_path, "aeron-core-7-89abcdef")
    path = tmp_path / name
    path.write_bytes(b"")

    sweep_shared_memory(tmp_path)

    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name", ["aeron-core-7-lock", "aeron-core--lock", "aeron-core-7-0123abcd-images-lock"]
)
def test_a_lock_of_another_name_selects_no_logs_of_a_live_driver(tmp_path, lock, name):
    log = leave_log(tmp_path, "aeron-core-7-0123abcd")
    lock(tmp_path / "aeron-core-7-0123abcd-lock")
    (tmp_path / name).touch()

    assert sweep_shared_memory(tmp_path) == []
    assert log.exists()


def test_a_link_instead_of_a_lock_is_not_followed(tmp_path):
    log = leave_log(tmp_path, "aeron-core-7-0123abcd")
    (tmp_path / "aeron-core-7-0123abcd-lock").rename(tmp_path / "file")
    (tmp_path / "aeron-core-7-0123abcd-lock").symlink_to(tmp_path / "file")

    assert sweep_shared_memory(tmp_path) == []
    assert log.exists()


def test_a_name_that_cannot_be_deleted_does_not_stop_the_sweep_and_is_tried_again(tmp_path):
    log = leave_log(tmp_path, "aeron-core-7-0123abcd", "images-2")
    obstacle = tmp_path / "aeron-core-7-0123abcd-images-1.logbuffer"
    obstacle.mkdir()

    assert sweep_shared_memory(tmp_path) == [log]

    assert obstacle.exists()
    obstacle.rmdir()
    obstacle.touch()
    assert sweep_shared_memory(tmp_path) == [obstacle]
    assert list(tmp_path.iterdir()) == []


def test_drivers_with_one_process_id_and_directory_share_no_names(tmp_path):
    # As in containers that share /dev/shm: each may have a process 1 and the same path of its directory.
    names = []
    for _ in range(2):
        with Simulation(tmp_path) as simulation:
            simulation.result(simulation.add_driver(storage="posix").connect().add_publication_async(IPC, 1))
            names += [path.name for path in objects()]

    assert len(set(names)) == 2


def test_a_driver_locks_its_names_until_it_is_closed(tmp_path):
    with Simulation(tmp_path) as simulation:
        simulation.result(simulation.add_driver(storage="posix").connect().add_publication_async(IPC, 1))
        (log,) = objects()
        sweep_shared_memory()
        assert objects() == [log]

    assert list(SHARED_MEMORY.glob(f"aeron-core-{os.getpid()}-*")) == []


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM])
def test_a_driver_that_cannot_lock_its_names_does_not_start_and_leaves_no_file(
    start_driver, monkeypatch, code
):
    attempts = []

    def fail(file, operation):
        # The sweep tries the locks of other drivers on this machine, too.
        if f"aeron-core-{os.getpid()}-" in file.name:
            attempts.append(file.name)
        assert len(attempts) < 3
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", fail)

    with pytest.raises(StorageError, match=r"cannot lock /dev/shm/.*; set storage=file") as caught:
        start_driver(storage="posix")

    assert caught.value.errno == code
    assert list(SHARED_MEMORY.glob(f"aeron-core-{os.getpid()}-*")) == []


def test_a_lock_file_that_cannot_be_deleted_does_not_stop_the_close_and_is_swept_later(driver, monkeypatch):
    unlink, attempts = Path.unlink, []

    def fail(path, missing_ok=False):
        if path.name.endswith("-lock"):
            attempts.append(path)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        unlink(path, missing_ok)

    (left,) = SHARED_MEMORY.glob(f"aeron-core-{os.getpid()}-*-lock")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        driver.close()
    assert attempts == [left]

    sweep_shared_memory()

    await_swept(left.name)


@pytest.mark.system
def test_the_logs_of_a_killed_driver_are_swept(tmp_path):
    program = (
        "import glob, os, signal, sys, aeron_core;"
        "driver = aeron_core.MediaDriver.launch({'aeron_dir': sys.argv[1], 'storage': 'posix'});"
        "aeron_core.connect(driver.aeron_dir).add_publication('aeron:ipc', 1);"
        "files = glob.glob(f'/dev/shm/aeron-core-{os.getpid()}-*');"
        "print(os.getpid(), len(files), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "aeron"], capture_output=True, check=False
    )
    pid, count = map(int, killed.stdout.split())
    assert count == 2

    sweep_shared_memory()

    await_swept(f"aeron-core-{pid}-*")

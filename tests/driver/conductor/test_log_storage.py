"""Log buffers in POSIX shared memory: created and deleted with their stream, swept after a driver died."""

import errno
import fcntl
import os
import resource
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from aeron_core._native.address import SocketAddress
from aeron_core.driver import media_driver
from aeron_core.driver.conductor.log_storage import sweep_shared_memory
from aeron_core.errors import ErrorCode, RegistrationError, StorageError
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing import Feed, Simulation, Sink
from aeron_core.testing.pair import S

SHARED_MEMORY = Path("/dev/shm")
IPC = "aeron:ipc"
UDP = "aeron:udp?endpoint=127.0.0.1:20121"
LOG_LENGTH = 3 * 64 * 1024 + 4096


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


def test_the_log_of_a_publication_is_a_shared_memory_object_until_it_is_closed(driver):
    before = driver.driver.counted("bytes_currently_mapped")

    publication = driver.add_publication(IPC, 1)

    (path,) = objects()
    assert path.name.endswith(f"-publications-{publication.registration_id}.logbuffer")
    assert path.stat().st_size == LOG_LENGTH
    assert driver.driver.log_files() == []
    assert driver.driver.counted("bytes_currently_mapped") == before + LOG_LENGTH
    publication.close()
    driver.run_for(10 * S)
    assert objects() == []
    assert driver.driver.counted("bytes_currently_mapped") == before


@pytest.mark.parametrize(("channel", "folders"), [(IPC, ["publications"]), (UDP, ["images", "publications"])])
def test_a_stream_flows_through_shared_memory(driver, channel, folders):
    subscription = driver.add_subscription(channel, 1)
    publication = driver.add_publication(channel, 1)
    driver.run_until(lambda: publication.is_connected and subscription.is_connected)
    sink = Sink(subscription)
    feed = Feed(publication, [b"%d" % n for n in range(1000)])

    driver.run_until(lambda: (feed.offer(), sink.poll(), len(sink.all) == 1000)[-1])

    assert sink.all == feed.messages
    assert [path.name.split("-")[4] for path in objects()] == folders
    subscription.close()
    publication.close()
    driver.run_for(30 * S)
    assert objects() == []


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_duty_cycle_frees_at_most_the_configured_number_of_logs(start_driver, limit):
    driver = start_driver(resource_free_limit=limit)
    publications = [driver.add_publication(IPC, stream_id) for stream_id in range(6)]
    for publication in publications:
        publication.close()
    left = []

    driver.run_for(15 * S, each=lambda: left.append(len(driver.driver.log_files())))

    freed = [before - after for before, after in zip([6, *left], left, strict=False)]
    assert max(freed) == min(limit, 6)
    assert left[-1] == 0


def allocated_bytes(path):
    return path.stat().st_blocks * 512


def test_only_a_sparse_log_allocates_its_space_gradually(driver):
    driver.add_publication(f"{IPC}?sparse=true", 1)
    driver.add_publication(f"{IPC}?sparse=false", 2)

    sparse, full = objects()

    assert allocated_bytes(sparse) < LOG_LENGTH
    assert allocated_bytes(full) >= LOG_LENGTH


def test_a_log_without_space_is_refused_and_leaves_nothing_behind(driver, monkeypatch):
    def no_space(fd, offset, length):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_space)
    registration = driver.client.add_publication_async(f"{IPC}?sparse=false", 1)
    driver.run_until(lambda: registration.is_done)

    with pytest.raises(RegistrationError, match=f"{LOG_LENGTH} bytes are needed") as caught:
        registration.poll()

    assert caught.value.code is ErrorCode.STORAGE_SPACE
    assert objects() == []


def test_a_log_without_a_descriptor_is_refused_and_the_driver_continues(driver):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        with pytest.raises(RegistrationError, match=r"cannot create .*free descriptors") as caught:
            driver.add_publication(IPC, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert caught.value.code is ErrorCode.GENERIC_ERROR
    assert objects() == []
    assert driver.add_publication(IPC, 1)


def test_logs_that_cannot_be_deleted_are_one_error_and_are_tried_again(start_driver):
    driver = start_driver()
    publications = [driver.add_publication(IPC, stream_id) for stream_id in (1, 2)]
    paths = driver.driver.log_files()
    for path in paths:
        path.unlink()
        path.mkdir()
    for publication in publications:
        publication.close()
    driver.run_for(15 * S)

    (record,) = driver.driver.errors()
    assert (
        f"cannot delete a log in {driver.driver.aeron_dir}/publications, the driver will retry" in record.text
    )
    assert record.observation_count > 2
    for path in paths:
        path.rmdir()
        path.touch()
    driver.run_for(15 * S)
    assert driver.driver.log_files() == []


def test_drivers_of_one_process_have_separate_logs(tmp_path):
    with Simulation(tmp_path) as simulation:
        clients = [simulation.add_driver(storage="posix").connect() for _ in range(2)]

        publications = [simulation.result(client.add_publication_async(IPC, 1)) for client in clients]

        assert publications[0].registration_id == publications[1].registration_id
        assert len(objects()) == 2


def test_a_driver_that_closes_leaves_no_objects(tmp_path):
    with Simulation(tmp_path) as simulation:
        driver = simulation.add_driver(storage="posix")
        client = driver.connect()
        simulation.result(client.add_subscription_async(UDP, 1))
        simulation.result(client.add_publication_async(UDP, 1))
        simulation.run_until(lambda: len(objects()) == 2)

    assert objects() == []


def test_a_driver_that_closes_releases_objects_that_agents_have_not_released(driver):
    publications = [driver.add_publication(channel, 1) for channel in (IPC, UDP)]
    assert len(objects()) == 2
    for publication in publications:
        publication.close()
    conductor = driver.driver.media_driver._assembly.conductor
    for _ in range(20):
        conductor.do_work()
        driver.clock.advance(1 * S)

    driver.close()

    assert objects() == []


def test_a_driver_that_closes_closes_sockets_that_agents_have_not_released(driver):
    subscription = driver.add_subscription(UDP, 1)
    subscription.close()
    for _ in range(2):
        driver.driver.media_driver._assembly.conductor.do_work()

    driver.close()

    options = DatagramOptions(SocketAddress.of("127.0.0.1", 20121))
    driver.network.open(options)
    # The first call would have failed like this one if a socket of the driver were still bound to the address.
    with pytest.raises(OSError, match="in use"):
        driver.network.open(options)


def leave_log(folder, prefix, name="publications-1"):
    """Create the lock file and a log of a driver that was killed; return the path of the log."""
    (folder / f"{prefix}-lock").touch()
    log = folder / f"{prefix}-{name}.logbuffer"
    log.write_bytes(bytes(4096))
    return log


def test_a_driver_that_starts_sweeps_logs_of_dead_drivers(start_driver, dead_pid):
    stale = leave_log(SHARED_MEMORY, f"aeron-core-{dead_pid}-0123abcd")

    start_driver(storage="posix")

    assert not stale.exists()
    assert list(SHARED_MEMORY.glob(f"aeron-core-{dead_pid}-*")) == []


def test_a_driver_with_files_sweeps_nothing(start_driver, monkeypatch):
    swept = []
    monkeypatch.setattr(media_driver, "sweep_shared_memory", lambda: swept.append(True))

    start_driver(storage="file")
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
    unlink = Path.unlink

    def fail(path, missing_ok=False):
        if path.name.endswith("-lock"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        driver.close()
    (left,) = SHARED_MEMORY.glob(f"aeron-core-{os.getpid()}-*")

    sweep_shared_memory()

    assert not left.exists()


@pytest.mark.system
def test_the_logs_of_a_killed_driver_are_swept(tmp_path):
    program = (
        "import os, signal, sys, aeron_core;"
        "driver = aeron_core.MediaDriver.launch({'aeron_dir': sys.argv[1], 'storage': 'posix'});"
        "aeron_core.connect(driver.aeron_dir).add_publication('aeron:ipc', 1);"
        "print(os.getpid(), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "aeron"], capture_output=True, check=False
    )
    names = f"aeron-core-{int(killed.stdout)}-*"
    assert len(list(SHARED_MEMORY.glob(names))) == 2

    sweep_shared_memory()

    assert list(SHARED_MEMORY.glob(names)) == []

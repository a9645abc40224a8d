"""Log buffers in POSIX shared memory: created and deleted with their stream or their driver."""

import errno
import os
import resource
from pathlib import Path

import pytest

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing import Feed, Simulation, Sink
from aeron_core.testing.pair import MS, S

SHARED_MEMORY = Path("/dev/shm")
IPC = "aeron:ipc"
UDP = "aeron:udp?endpoint=127.0.0.1:20121"
LOG_LENGTH = 3 * 64 * 1024 + 4096


def objects():
    """Return the log buffers of this process in shared memory."""
    return sorted(SHARED_MEMORY.glob(f"aeron-core-{os.getpid()}-*.logbuffer"))


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
    driver.idle_step_ns = 20 * MS

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

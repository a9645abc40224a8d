"""Directories: that of a live driver is refused, that of a dead driver taken over, any other never touched."""

import os
import re
import resource
import subprocess
import sys
import threading
import time

import pytest

from aeron_core._native import wire
from aeron_core._native.clock import Clock
from aeron_core.concurrent.error_log import DistinctErrorLog
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.driver import media_driver
from aeron_core.driver.directory import delete_dead_directory
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.driver.private_directory import sweep_private_directories
from aeron_core.errors import ActiveDriverError, PluginError, StorageError
from aeron_core.protocol.cnc import CNC_FILE, CncFile, CncLayout
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.testing import Simulation

LAYOUT = CncLayout.of(
    to_driver_length=4096 + wire.RING_TRAILER_LENGTH,
    to_clients_length=4096 + wire.BROADCAST_TRAILER_LENGTH,
    counters_values_length=4096,
    error_log_length=4096,
    page_size=4096,
)
SMALL = {
    "counters_buffer_length": "1m",
    "loss_report_buffer_length": "64k",
    "perform_storage_checks": False,
    "driver_timeout_ms": 5000,
}


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "aeron"


@pytest.fixture
def start(directory):
    """Starts drivers in the directory, without threads and with the system clock."""
    drivers = []

    def start(**settings):
        drivers.append(MediaDriver({"aeron_dir": directory, **SMALL, **settings}, invoker=True))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.close()


def leave_behind(directory, *, age_ms, errors=(), is_ready=True, pid=4242):
    """Create the directory of another process's driver with a heartbeat that is `age_ms` old."""
    for folder in ("publications", "images"):
        (directory / folder).mkdir(parents=True)
    (directory / "publications" / "7.logbuffer").write_bytes(bytes(4096))
    cnc = CncFile.create(
        directory / CNC_FILE, LAYOUT, client_liveness_timeout_ns=10**10, start_timestamp_ms=1, pid=pid
    )
    ManyToOneRingBuffer(cnc.to_driver).consumer_heartbeat_ms = int(time.time() * 1000) - age_ms
    log = DistinctErrorLog(cnc.error_log, Clock())
    for text in errors:
        log.record(1, text)
    if is_ready:
        cnc.publish()


@pytest.fixture
def gone_pid():
    """The pid of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        return process.pid


def saved_errors(directory):
    return sorted(directory.parent.glob("aeron-*-error.log"))


def test_a_driver_creates_its_directory_and_its_parents(directory, tmp_path, start):
    driver = start(aeron_dir=tmp_path / "some" / "where")

    assert sorted(os.listdir(driver.aeron_dir)) == ["cnc.dat", "images", "loss-report.dat", "publications"]
    assert not directory.exists()


def test_the_directory_of_a_live_driver_is_refused_and_the_driver_named(directory, start):
    leave_behind(directory, age_ms=4000)

    with pytest.raises(ActiveDriverError) as raised:
        start()

    assert f"active media driver detected in {directory}: pid 4242, last heartbeat 4" in str(raised.value)
    assert (directory / "publications" / "7.logbuffer").exists()


def test_the_directory_of_a_driver_that_runs_is_free_when_it_is_stopped(directory, start):
    leave_behind(directory, age_ms=1000, pid=os.getppid())

    with pytest.raises(
        ActiveDriverError, match=r"; stop it, or choose another directory with aeron_dir or AERON_DIR$"
    ):
        start()


def test_the_refusal_states_when_the_directory_of_a_killed_driver_is_free(directory, start, gone_pid):
    leave_behind(directory, age_ms=1000, pid=gone_pid)

    with pytest.raises(
        ActiveDriverError, match=r"no process here .* free in [0-4]\.\d s.*DELETE_ON_START=true"
    ):
        start()


def test_two_drivers_of_one_process_do_not_share_a_directory(start):
    start()

    with pytest.raises(ActiveDriverError, match=f"pid {os.getpid()}"):
        start()


def test_the_directory_of_a_driver_that_is_silent_for_too_long_is_taken_over(directory, start):
    leave_behind(directory, age_ms=5500)

    start()

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()
    assert os.listdir(directory / "publications") == []
    assert saved_errors(directory) == []


def test_the_directory_of_a_dead_driver_is_taken_over_although_the_clock_was_set_back(directory, start):
    leave_behind(directory, age_ms=-86_400_000)

    start(driver_timeout_ms=200)

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


def test_the_directory_of_a_live_driver_is_refused_although_the_clock_was_set_back(directory, start):
    leave_behind(directory, age_ms=-86_400_000)
    ring = ManyToOneRingBuffer(CncFile.open(directory / CNC_FILE).to_driver)
    beat = threading.Timer(0.1, setattr, (ring, "consumer_heartbeat_ms", int(time.time() * 1000)))
    beat.start()

    with pytest.raises(ActiveDriverError):
        start(driver_timeout_ms=60_000)
    beat.join()


@pytest.fixture
def beat_in_the_wait(directory, gone_pid, monkeypatch):
    """Leaves a driver with a heartbeat of the future, and returns a function that sets what the wait finds."""
    leave_behind(directory, age_ms=-86_400_000, pid=gone_pid)
    ring = ManyToOneRingBuffer(CncFile.open(directory / CNC_FILE).to_driver)

    def beat(heartbeat_ms):
        monkeypatch.setattr(time, "sleep", lambda _: setattr(ring, "consumer_heartbeat_ms", heartbeat_ms))

    return beat


def test_the_directory_of_a_driver_that_closes_in_the_wait_after_the_clock_was_set_back_is_free(
    directory, start, beat_in_the_wait
):
    beat_in_the_wait(-1)

    start(driver_timeout_ms=60_000)

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


def test_the_age_of_a_heartbeat_of_the_future_is_stated_as_0(start, beat_in_the_wait, capsys):
    beat_in_the_wait(int(time.time() * 1000) + 86_400_001)

    with pytest.raises(ActiveDriverError, match=r"last heartbeat 0 ms ago; .* is free in 60\.0 s"):
        start(driver_timeout_ms=60_000, dir_warn_if_exists=True)

    assert "INFO: Aeron driver heartbeat is 0 ms old\n" in capsys.readouterr().err


def test_the_liveness_timeout_of_a_silent_driver_is_a_setting(directory, start):
    leave_behind(directory, age_ms=5500)

    with pytest.raises(ActiveDriverError):
        start(driver_timeout_ms=60_000)


def test_the_directory_of_a_closed_driver_is_free_at_once(directory, start):
    start().close()

    assert CncFile.open(start().aeron_dir / CNC_FILE).pid == os.getpid()


def test_the_errors_of_a_dead_driver_are_saved_beside_its_directory(directory, start, capsys):
    leave_behind(directory, age_ms=10_000, errors=["the first", "the second", "the first"])

    start()

    (file,) = saved_errors(directory)
    # Source: aeron_driver.c, aeron_report_existing_errors; aeron_strutil.c, aeron_format_date.
    date = r"\d{4}-\d\d-\d\d \d\d[:-]\d\d[:-]\d\d\.\d{3}[+-]\d{4}"
    assert re.fullmatch(rf"aeron-{date}-error\.log", file.name)
    text = file.read_text()
    assert re.match(
        rf"\*\*\*\n2 observations from {date} to {date} for:\n .*the first\n\*\*\*\n1 observations from", text
    )
    assert text.endswith("\n\n2 distinct errors observed.\n")
    assert capsys.readouterr().err == f"WARNING: Existing errors saved to: {file}\n"


def test_errors_that_cannot_be_saved_do_not_prevent_the_start(directory, start, monkeypatch, capsys):
    leave_behind(directory, age_ms=10_000, errors=["the first"])
    # A name that is too long fails as a full disk does.
    monkeypatch.setattr("aeron_core.driver.directory.date_of", lambda _: "9" * 256)

    start()

    assert saved_errors(directory) == []
    assert "WARNING: existing errors not saved to: " in capsys.readouterr().err


@pytest.mark.parametrize("length", [-1, 8, 1 << 20])
def test_a_damaged_error_log_does_not_prevent_the_start_and_is_saved_up_to_the_damage(
    directory, start, capsys, length
):
    leave_behind(directory, age_ms=10_000, errors=["first", "later"])
    log = CncFile.open(directory / CNC_FILE).error_log
    log.put_i32(wire.ERROR_LOG_HEADER_LENGTH + len("(1) first") + 7, length)

    start()

    (file,) = saved_errors(directory)
    assert file.read_text().endswith(" (1) first\n\n1 distinct errors observed.\n")
    assert capsys.readouterr().err == (
        f"WARNING: error log of {directory} is damaged, number of entries before the damage: 1\n"
        f"WARNING: Existing errors saved to: {file}\n"
    )


def test_an_error_log_without_a_valid_entry_does_not_prevent_the_start(directory, start):
    leave_behind(directory, age_ms=10_000)
    CncFile.open(directory / CNC_FILE).error_log.put_i32(0, -1)

    start()

    assert saved_errors(directory) == []


def test_a_driver_that_is_starting_in_the_directory_is_waited_for(directory, start):
    leave_behind(directory, age_ms=0, is_ready=False)
    before = time.monotonic()

    start(driver_timeout_ms=50)

    assert time.monotonic() - before >= 0.05
    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(100), id="zeros"),
        pytest.param((9 << 16).to_bytes(4, "little") + bytes(8188), id="another version"),
        pytest.param((2 << 8).to_bytes(4, "little") + b"\xff" * 8188, id="lengths that cannot be"),
        pytest.param((2 << 8).to_bytes(4, "little") + bytes(8188), id="no lengths"),
    ],
)
def test_a_directory_with_an_unusable_cnc_file_is_taken_over(directory, start, content):
    directory.mkdir()
    (directory / CNC_FILE).write_bytes(content)

    start(driver_timeout_ms=20)

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


@pytest.mark.parametrize("delete_on_start", [False, True])
@pytest.mark.parametrize("name", ["diary.txt", ".hidden", "photographs"])
def test_a_directory_with_foreign_files_is_never_deleted(directory, start, delete_on_start, name):
    leave_behind(directory, age_ms=10_000)
    strange = directory / name
    strange.mkdir() if name == "photographs" else strange.write_text("mine")

    with pytest.raises(StorageError, match=re.escape(f"contains {name!r}, which no media driver created")):
        start(dir_delete_on_start=delete_on_start)

    assert strange.exists()
    assert (directory / CNC_FILE).exists()


def test_an_empty_directory_is_used(directory, start):
    directory.mkdir()

    start()

    assert (directory / CNC_FILE).exists()


def test_a_file_instead_of_the_directory_is_reported(directory, start):
    directory.write_text("mine")

    with pytest.raises(StorageError, match=f"aeron.dir={directory} is not a directory"):
        start()

    assert directory.read_text() == "mine"


def test_a_link_instead_of_the_directory_is_reported_and_kept(directory, start, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    directory.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageError, match=f"cannot delete aeron.dir={directory}"):
        start()

    assert directory.is_symlink()


def test_a_directory_that_cannot_be_created_is_reported(tmp_path, start):
    (tmp_path / "file").write_text("mine")

    with pytest.raises(StorageError, match=f"cannot create aeron.dir={tmp_path}/file/aeron"):
        start(aeron_dir=tmp_path / "file" / "aeron")


def test_a_directory_that_cannot_be_read_is_reported(tmp_path):
    with pytest.raises(StorageError, match=r"cannot read aeron.dir=.*/missing: No such file.*AERON_DIR"):
        delete_dead_directory(tmp_path / "missing", timeout_ms=0)


def test_delete_on_start_deletes_even_the_directory_of_a_live_driver(directory, start):
    leave_behind(directory, age_ms=0, errors=["not worth keeping"])

    start(dir_delete_on_start=True)

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()
    assert saved_errors(directory) == []


@pytest.mark.parametrize("warns", [False, True])
def test_an_existing_directory_causes_a_warning_if_configured(directory, start, capsys, warns):
    leave_behind(directory, age_ms=10_000)

    start(dir_warn_if_exists=warns)

    assert (f"WARNING: {directory} exists" in capsys.readouterr().err) is warns


def test_a_closed_driver_leaves_its_directory_without_logs(directory, tmp_path):
    with Simulation(tmp_path) as simulation:
        driver = simulation.add_driver(aeron_dir=str(directory), dir_delete_on_shutdown=False)
        client = driver.connect()
        simulation.result(client.add_publication_async("aeron:ipc", 1))
        assert len(driver.log_files()) == 1

    assert sorted(os.listdir(directory)) == ["cnc.dat", "images", "loss-report.dat", "publications"]
    assert os.listdir(directory / "publications") == []
    assert ManyToOneRingBuffer(CncFile.open(directory / CNC_FILE).to_driver).consumer_heartbeat_ms == -1


def test_delete_on_shutdown_leaves_nothing(directory, start):
    start(dir_delete_on_shutdown=True).close()

    assert not directory.exists()


def test_delete_on_shutdown_keeps_foreign_files(directory, start):
    driver = start(dir_delete_on_shutdown=True)
    (directory / "diary.txt").write_text("mine")

    driver.close()

    assert os.listdir(directory) == ["diary.txt"]


def test_a_misspelt_plugin_leaves_a_directory_as_it_was(directory, start):
    leave_behind(directory, age_ms=20_000)
    before = sorted(directory.rglob("*"))

    with pytest.raises(PluginError, match="'csw'"):
        start(name_resolver="csw")

    assert sorted(directory.rglob("*")) == before


@pytest.mark.parametrize(
    "name",
    [
        *("congestion_control", "multicast_flow_control", "unicast_flow_control"),
        *(f"{role}_idle_strategy" for role in ("conductor", "sender", "receiver", "sharednetwork", "shared")),
    ],
)
def test_a_strategy_that_is_not_installed_is_refused_before_the_directory_is_touched(directory, start, name):
    with pytest.raises(
        PluginError, match=f"^{name}: no (flow control|congestion control|idle strategy) 'nope'; installed: "
    ):
        start(**{name: "nope"})

    assert not directory.exists()


@pytest.fixture
def no_file_beyond_32_mib():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("no_file_beyond_32_mib")
def test_a_driver_that_cannot_create_its_files_leaves_no_directory(directory, start):
    with pytest.raises(StorageError, match=r"loss-report\.dat"):
        start(loss_report_buffer_length="64m")

    assert not directory.exists()


def test_an_embedded_driver_that_cannot_start_leaves_no_directory():
    before = set(default_aeron_dir().parent.glob(f"{default_aeron_dir().name}-{os.getpid()}-*"))

    for wrong in ({"name_resolver": "csw"}, {"sender_idle_strategy": "sleepy"}):
        with pytest.raises(PluginError):
            MediaDriver.launch_embedded({**SMALL, **wrong})

    assert set(default_aeron_dir().parent.glob(f"{default_aeron_dir().name}-{os.getpid()}-*")) == before


@pytest.mark.parametrize(
    ("name", "age_ms", "is_swept"),
    [
        ("aeron-{gone}-0123abcd", 6000, True),
        ("aeron-{gone}-0123abcd", 4000, False),
        ("aeron-{mine}-0123abcd", 6000, False),
        ("aeron-{gone}", 6000, False),
        ("aeron-{gone}-orders", 6000, False),
        ("aeron-99999999999999999999-0123abcd", 6000, False),
        ("aeron", 6000, False),
        ("other-{gone}-0123abcd", 6000, False),
    ],
)
def test_the_directory_of_an_embedded_driver_is_swept_once_its_process_ended_and_its_heartbeat_is_old(
    tmp_path, gone_pid, name, age_ms, is_swept
):
    left = tmp_path / name.format(gone=gone_pid, mine=os.getpid())
    leave_behind(left, age_ms=age_ms, pid=gone_pid)

    assert sweep_private_directories(tmp_path / "aeron", 5000) == [left] * is_swept
    assert left.exists() != is_swept


def test_a_starting_driver_and_foreign_files_are_not_swept(tmp_path, gone_pid):
    empty, starting, strange, linked = (tmp_path / f"aeron-{gone_pid}-0123abc{digit}" for digit in "cdef")
    empty.mkdir()
    leave_behind(starting, age_ms=6000, is_ready=False)
    for directory in (strange, tmp_path / "target"):
        leave_behind(directory, age_ms=6000)
    (strange / "letter.txt").write_text("Dear Sir")
    linked.symlink_to(tmp_path / "target")

    assert sweep_private_directories(tmp_path / "aeron", 5000) == []
    assert {path.name for path in (tmp_path / "target").iterdir()} == {"cnc.dat", "images", "publications"}
    assert (strange / "publications" / "7.logbuffer").exists()


@pytest.mark.system
def test_an_embedded_driver_sweeps_before_it_starts(tmp_path, monkeypatch):
    default = tmp_path / "aeron"
    monkeypatch.setattr(media_driver, "default_aeron_dir", lambda: default)
    program = (
        "import os, signal, sys; from pathlib import Path; from aeron_core.driver import media_driver;"
        "media_driver.default_aeron_dir = lambda: Path(sys.argv[1]);"
        "media_driver.MediaDriver.launch_embedded(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, default], check=False)
    (left,) = tmp_path.glob("aeron-*")

    with MediaDriver.launch_embedded({"driver_timeout_ms": 0}) as driver:
        assert not left.exists()
        assert [driver.aeron_dir] == list(tmp_path.glob("aeron-*"))

    assert list(tmp_path.glob("aeron-*")) == []

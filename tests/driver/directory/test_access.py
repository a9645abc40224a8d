"""Modes and groups of the files of a driver."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from aeron_core import MediaDriver, connect
from aeron_core.errors import ConfigurationError
from aeron_core.observation.driver_files import DriverFiles

SMALL = {
    "counters_buffer_length": "1m",
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "perform_storage_checks": False,
}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to any group")


@pytest.fixture(params=[0, 0o022], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes_of(path):
    """Return the permissions of a folder and of all that is in it, by kind."""
    found = [path, *path.rglob("*")]
    return {
        kind: {stat.S_IMODE(each.stat().st_mode) for each in found if each.is_dir() == (kind == "folders")}
        for kind in ("folders", "files")
    }


def run(directory, **settings):
    return MediaDriver.launch({"aeron_dir": directory, **SMALL, **settings})


@pytest.mark.usefixtures("umask")
def test_other_users_have_no_access_to_the_files_of_a_driver(tmp_path):
    directory = tmp_path / "outer" / "driver"
    log = tmp_path / "outer" / "events.log"
    with run(directory, event_log="all", event_log_filename=log), connect(directory) as aeron:
        aeron.add_publication("aeron:ipc", 1001)
        modes = modes_of(tmp_path / "outer")
        files = {path.name for path in directory.rglob("*") if path.is_file()}

    assert modes == {"folders": {0o700}, "files": {0o600}}
    assert files > {"cnc.dat", "loss-report.dat"}
    assert any(name.endswith(".logbuffer") for name in files)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("storage", ["file", "posix"])
def test_files_of_a_driver_have_the_mode_that_is_set(tmp_path, storage):
    directory = tmp_path / "driver"
    with run(directory, dir_mode="0750", storage=storage), connect(directory) as aeron:
        aeron.add_publication("aeron:ipc", 1001)
        modes = modes_of(directory)

    assert modes == {"folders": {0o750}, "files": {0o640}}


@needs_root
@pytest.mark.parametrize("storage", ["file", "posix"])
def test_files_semaphores_and_shared_memory_have_the_group(tmp_path, storage):
    before = {path.name for path in os.scandir("/dev/shm")}
    directory = tmp_path / "driver"
    settings = {"threading_mode": "SHARED", "shared_idle_strategy": "signal"}
    with run(directory, dir_group="daemon", storage=storage, **settings), connect(directory) as aeron:
        aeron.add_publication("aeron:ipc", 1001)
        shared = [Path(path) for path in os.scandir("/dev/shm") if path.name not in before]
        # Of the driver, not of other tests, whose files come and go; the lock is the driver's alone.
        shared = [path for path in shared if "-lock" not in path.name and path.stat().st_gid == 1]
        found = [*directory.rglob("*"), *shared]
        groups = {each.stat().st_gid for each in found}
        modes = {stat.S_IMODE(each.stat().st_mode) for each in found}

    assert any(path.name.startswith("sem.aeron-core-") for path in shared)
    assert any(path.name.endswith(".logbuffer") for path in found)
    assert groups == {1}
    assert modes == {0o770, 0o660}


def test_a_driver_with_a_group_that_does_not_exist_leaves_the_directory_as_it_was(tmp_path):
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "cnc.dat").write_bytes(b"")

    with pytest.raises(ConfigurationError, match="dir_group=no-such-group: no such group"):
        run(tmp_path / "driver", dir_group="no-such-group")

    assert os.listdir(tmp_path / "driver") == ["cnc.dat"]


def test_the_saved_errors_of_a_dead_driver_are_private(tmp_path):
    with run(tmp_path / "driver") as driver:
        driver.record_error(ValueError("of the first"))
    # The files stay, with a heartbeat that ended.
    assert DriverFiles.open(tmp_path / "driver") is not None

    run(tmp_path / "driver").close()

    (saved,) = tmp_path.glob("driver-*-error.log")
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600

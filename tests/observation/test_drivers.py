import os
import subprocess
import sys
from pathlib import Path

import pytest

import aeron_core
from aeron_core import observation
from aeron_core.observation import DriverObserver, find_drivers, mapped_directories
from aeron_core.observation import drivers as module

SMALL = {"counters_buffer_length": "1m", "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without processes whose shared memory and temporary files are in `tmp_path`."""
    shared, temporary = tmp_path / "shm", tmp_path / "tmp"
    shared.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(module, "_SHARED_MEMORY", str(shared))
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(temporary))
    monkeypatch.setattr(module, "default_aeron_dir", lambda: shared / "aeron-me")
    monkeypatch.setattr(mapped_directories, "_PROC", str(tmp_path / "proc"))
    monkeypatch.setenv("AERON_DIR", str(tmp_path / "mine"))
    return tmp_path


def dead_driver(directory: Path) -> Path:
    with aeron_core.MediaDriver({"aeron_dir": directory, **SMALL}, invoker=True) as driver:
        driver.do_work()
    return directory


def test_drivers_are_found_in_all_default_folders_once(machine):
    expected = [
        dead_driver(machine / name) for name in ("mine", "shm/aeron-me", "shm/aeron-other", "tmp/aeron-x")
    ]
    (machine / "shm" / "aeron-link").symlink_to(machine / "mine")
    (machine / "shm" / "aeron-file").write_text("no driver")
    (machine / "shm" / "aeron-empty").mkdir()

    assert [driver.aeron_dir for driver in find_drivers()] == expected


def test_a_driver_shows_its_process_version_start_and_heartbeat(machine):
    settings = {"aeron_dir": machine / "mine", **SMALL}
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        driver.do_work()
        (found,) = find_drivers()

    assert (found.is_alive, found.pid, found.cnc_version, found.problem) == (True, os.getpid(), "0.2.0", "")
    assert found.software.startswith(f"version={aeron_core.__version__} ")
    assert found.start_timestamp_ms > 0
    assert 0 <= found.heartbeat_age_ms < 60_000


def test_a_driver_that_has_shut_down_is_not_alive(machine):
    dead_driver(machine / "mine")

    (found,) = find_drivers()

    assert (found.is_alive, found.heartbeat_age_ms) == (False, None)


def test_a_directory_that_is_named_is_reported_even_without_a_driver(machine):
    (found,) = find_drivers([machine / "nowhere"], defaults=False)

    assert "no media driver is accessible" in found.problem
    assert (found.is_alive, found.pid) == (False, None)


def test_a_damaged_driver_is_reported_as_a_problem(machine):
    (machine / "shm" / "aeron-bad").mkdir()
    (machine / "shm" / "aeron-bad" / "cnc.dat").write_bytes(b"\xff" * 4096)

    (found,) = find_drivers()

    assert "version" in found.problem


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_a_driver_of_another_user_is_reported_as_a_problem(machine):
    dead_driver(machine / "shm" / "aeron-closed").chmod(0o700)
    for folder in (machine, *machine.parents):
        # The folders of pytest are for their owner only.
        if "pytest-of-" in str(folder):
            folder.chmod(0o755)
    os.seteuid(65534)
    try:
        (found,) = find_drivers()
    finally:
        os.seteuid(0)

    assert "Permission denied: run as the owner of that path, or change its permissions, or" in found.problem
    assert "start its driver with dir_group=GROUP" in found.problem


@pytest.mark.parametrize("storage", ["file", "posix"])
def test_an_embedded_driver_with_any_storage_is_found_with_its_logs(storage):
    settings = {"storage": storage, **SMALL}
    with (
        aeron_core.MediaDriver.launch_embedded(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_publication("aeron:ipc", 8),
    ):
        assert driver.aeron_dir in [found.aeron_dir for found in find_drivers()]
        (log,) = DriverObserver(driver.aeron_dir).snapshot().logs.values()

    assert (log.term_length, log.publisher_window, log.is_connected) == (65536, 32768, False)


@pytest.mark.system
def test_observation_imports_no_package_that_is_slow_to_import():
    program = (
        "import sys; from aeron_core.observation import *\n"
        "find_drivers(); print({'numpy', 'pydantic', 'pyarrow', 'rich', 'textual', 'matplotlib'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


def test_an_unknown_name_of_observation_raises_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = observation.nothing

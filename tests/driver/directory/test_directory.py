"""Directory of a driver: its creation and deletion; foreign files and links in it are never touched."""

import os
import re
import resource

import pytest
from left_directories import leave_behind

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.driver.directory import delete_dead_directory
from aeron_core.errors import PluginError, StorageError
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.testing import Simulation


def test_a_driver_creates_its_directory_and_its_parents(directory, tmp_path, start):
    driver = start(aeron_dir=tmp_path / "some" / "where")

    assert sorted(os.listdir(driver.aeron_dir)) == ["cnc.dat", "images", "loss-report.dat", "publications"]
    assert not directory.exists()


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

"""Directories of embedded drivers, each with one of its own: left ones are swept."""

import os
import subprocess
import sys
import time

import pytest
from left_directories import SMALL, leave_behind

from aeron_core.driver import media_driver
from aeron_core.driver.directory import lock_directory
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.driver.private_directory import sweep_private_directories
from aeron_core.errors import PluginError
from aeron_core.settings.aeron_dir import default_aeron_dir

#: A timeout of drivers that no pause of the machine comes near.
HOUR_MS = 3_600_000


def test_an_embedded_driver_that_cannot_start_leaves_no_directory():
    before = set(default_aeron_dir().parent.glob(f"{default_aeron_dir().name}-{os.getpid()}-*"))

    for wrong in ({"name_resolver": "csw"}, {"sender_idle_strategy": "sleepy"}):
        with pytest.raises(PluginError):
            MediaDriver.launch_embedded({**SMALL, **wrong})

    assert set(default_aeron_dir().parent.glob(f"{default_aeron_dir().name}-{os.getpid()}-*")) == before


@pytest.mark.parametrize(
    ("name", "age_ms", "is_swept"),
    [
        ("aeron-{gone}-0123abcd", HOUR_MS + 600_000, True),
        ("aeron-{gone}-0123abcd", HOUR_MS - 600_000, False),
        ("aeron-{mine}-0123abcd", HOUR_MS + 600_000, False),
        ("aeron-{gone}", HOUR_MS + 600_000, False),
        ("aeron-{gone}-orders", HOUR_MS + 600_000, False),
        ("aeron-99999999999999999999-0123abcd", HOUR_MS + 600_000, False),
        ("aeron", HOUR_MS + 600_000, False),
        ("other-{gone}-0123abcd", HOUR_MS + 600_000, False),
    ],
)
def test_the_directory_of_an_embedded_driver_is_swept_once_its_process_ended_and_its_heartbeat_is_old(
    tmp_path, gone_pid, name, age_ms, is_swept
):
    left = tmp_path / name.format(gone=gone_pid, mine=os.getpid())
    leave_behind(left, age_ms=age_ms, pid=gone_pid)

    assert sweep_private_directories(tmp_path / "aeron", HOUR_MS) == [left] * is_swept
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


def test_sweeping_does_not_wait_for_directories_in_doubt(tmp_path, gone_pid):
    locked, ahead = (tmp_path / f"aeron-{gone_pid}-0123abc{digit}" for digit in "de")
    leave_behind(locked, age_ms=60_000)
    leave_behind(ahead, age_ms=-60_000)
    begin = time.monotonic()

    with lock_directory(locked):
        assert sweep_private_directories(tmp_path / "aeron", 30_000) == []

    assert time.monotonic() - begin < 10
    assert locked.exists()
    assert ahead.exists()
    assert sweep_private_directories(tmp_path / "aeron", 30_000) == [locked]


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

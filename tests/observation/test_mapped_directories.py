"""Directories that are found because processes map their `cnc.dat`."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import aeron_core
from aeron_core.observation import find_drivers
from aeron_core.observation import mapped_directories as module
from aeron_core.observation.mapped_directories import MappedDirectories, mapped_directories

SMALL = {"counters_buffer_length": "1m", "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}
MAPPER = (
    "import mmap, sys; file = open(sys.argv[1], 'rb'); mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); "
    "print(flush=True); sys.stdin.read()"
)


@pytest.fixture
def shared():
    """A folder in shared memory: other file systems, such as btrfs, may show mappings with another device number."""
    with tempfile.TemporaryDirectory(prefix="tutorial-", dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A folder in place of /proc; returns a function that adds a process with these lines of mappings."""
    monkeypatch.setattr(module, "_PROC", str(tmp_path / "proc"))

    def add(pid, *lines):
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "maps").write_bytes(b"".join(each + b"\n" for each in lines))

    return add


def directory(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "cnc.dat").write_bytes(bytes(64))
    return path


def line(path: Path, *, device: int | None = None, inode: int | None = None, end: bytes = b"") -> bytes:
    """Return the line of a mapping of the `cnc.dat` of a directory."""
    status = (path / "cnc.dat").stat()
    device = status.st_dev if device is None else device
    inode = status.st_ino if inode is None else inode
    numbers = f"7f0000000000-7f0000001000 r--s 00000000 {os.major(device):02x}:{os.minor(device):02x} {inode}"
    return numbers.encode().ljust(72) + b" " + os.fsencode(path / "cnc.dat") + end


def test_a_driver_in_a_directory_of_any_name_is_found_while_it_runs(shared):
    settings = {"aeron_dir": shared / "any", **SMALL}
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        driver.do_work()
        found = [each for each in find_drivers() if each.aeron_dir == shared / "any"]

    assert [(each.is_alive, each.pid) for each in found] == [(True, os.getpid())]


@pytest.mark.system
def test_a_file_that_another_process_maps_is_found_until_it_is_deleted(shared):
    path = directory(shared / "other process")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", MAPPER, path / "cnc.dat"], stdin=pipe, stdout=pipe
    ) as process:
        process.stdout.readline()
        before = mapped_directories()
        shutil.rmtree(path)
        after = mapped_directories()
        process.stdin.close()

    assert path in before
    assert not [each for each in after if shared in each.parents]


def test_a_named_directory_that_a_process_maps_is_one_driver(tmp_path, proc):
    path = directory(tmp_path / "driver")
    (tmp_path / "link").symlink_to(path)
    proc(7, line(path))

    found = [each.aeron_dir for each in find_drivers([tmp_path / "link"])]

    assert found[0] == tmp_path / "link"
    assert path not in found


def test_a_path_that_is_another_file_here_is_not_found(tmp_path, proc):
    path = directory(tmp_path / "driver")
    device, inode = (path / "cnc.dat").stat().st_dev, (path / "cnc.dat").stat().st_ino
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "cnc.dat").symlink_to(path / "cnc.dat")
    proc(7, line(path, device=device + 1), line(path, inode=inode + 1), line(path, end=b" (deleted)"))
    proc(8, line(tmp_path / "link"), line(path).replace(b"/driver/", b"/nowhere/"))

    assert mapped_directories() == []
    proc(9, line(path))
    assert mapped_directories() == [path]


@pytest.mark.parametrize(
    "text",
    [
        b"/cnc.dat",
        b"7f00-7f01 r--s 00000000 00:1b 12 cnc.dat",
        b"7f00-7f01 r--s 00000000 zz:1b 12 /x/cnc.dat",
        b"7f00-7f01 r--s 00000000 001b 12 /x/cnc.dat",
        b"7f00-7f01 r--s 00000000 ffffffffffffffffff:1b 12 /x/cnc.dat",
        b"7f00-7f01 r--s 00000000 00:1b 12 /x\0/cnc.dat",
        b"\xff\xfe/cnc.dat",
    ],
)
def test_a_line_that_is_no_mapping_is_skipped(tmp_path, proc, text):
    path = directory(tmp_path / "driver")
    proc(7, text, line(path))

    assert mapped_directories() == [path]


def test_a_name_without_a_folder_is_no_path(tmp_path, proc, monkeypatch):
    path = directory(tmp_path / "driver")
    monkeypatch.chdir(tmp_path)
    proc(7, line(path).replace(os.fsencode(tmp_path) + b"/", b""))

    assert mapped_directories() == []


def test_a_process_that_cannot_be_read_is_skipped(tmp_path, proc):
    path = directory(tmp_path / "driver")
    proc("self", line(directory(tmp_path / "no number")))
    proc(9, line(path))
    (tmp_path / "proc" / "7").mkdir()
    (tmp_path / "proc" / "8" / "maps").mkdir(parents=True)

    assert mapped_directories() == [path]


def test_a_system_without_proc_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PROC", str(tmp_path / "nowhere"))

    assert mapped_directories() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_processes_of_another_user_are_skipped(shared):
    shared.chmod(0o755)
    settings = {"aeron_dir": shared / "root", **SMALL}
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        driver.do_work()
        os.seteuid(65534)
        try:
            found = mapped_directories()
        finally:
            os.seteuid(0)

    assert shared / "root" not in found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which may read the mappings of all processes")
def test_root_does_not_look_at_paths_that_another_user_chose(tmp_path, proc):
    proc(7, line(directory(tmp_path / "own")))
    proc(8, line(directory(tmp_path / "other")))
    os.chown(tmp_path / "proc" / "8", 65534, 65534)

    assert mapped_directories() == [tmp_path / "own"]


def test_what_one_look_reads_and_finds_is_bounded(tmp_path, proc, monkeypatch):
    monkeypatch.setattr(module, "_MAX_OF_PROCESS", 2)
    monkeypatch.setattr(module, "_MAX_DIRECTORIES", 3)
    paths = [directory(tmp_path / str(number)) for number in range(9)]
    for pid in range(3):
        proc(pid + 1, *(line(each) for each in paths[3 * pid : 3 * pid + 3]))

    assert len(mapped_directories()) == 3
    monkeypatch.setattr(module, "_MAX_PROCESSES", 1)
    assert len(mapped_directories()) == 2
    monkeypatch.setattr(module, "_MAX_LENGTH", 10)
    monkeypatch.setattr(module, "_READ_LENGTH", 10)
    assert mapped_directories() == []


def test_what_all_processes_show_is_bounded(tmp_path, proc, monkeypatch):
    for pid in range(9):
        proc(pid + 1, line(directory(tmp_path / str(pid))))
    monkeypatch.setattr(module, "_MAX_TOTAL_LENGTH", 1)

    assert len(mapped_directories()) == 1


def test_processes_are_looked_at_every_five_seconds(tmp_path, proc):
    first, second = directory(tmp_path / "1"), directory(tmp_path / "2")
    now_s = [100.0]
    found = MappedDirectories(lambda: now_s[0])
    proc(7, line(first))
    assert found.find() == [first]

    proc(8, line(second))
    now_s[0] += 4.9

    assert found.find() == [first]
    now_s[0] += 1.0
    assert found.find() == [first, second]


def test_a_look_that_takes_long_is_rare(tmp_path, proc, monkeypatch):
    now_s, processor_s = [100.0], iter(range(100))
    monkeypatch.setattr(module.time, "thread_time", lambda: next(processor_s))
    found = MappedDirectories(lambda: now_s[0])
    assert found.find() == []
    proc(7, line(directory(tmp_path / "driver")))

    now_s[0] += 99

    assert found.find() == []
    now_s[0] += 2
    assert found.find() == [tmp_path / "driver"]


def test_a_directory_that_was_found_is_known_until_its_file_is_deleted(tmp_path, proc):
    path = directory(tmp_path / "driver")
    now_s = [100.0]
    found = MappedDirectories(lambda: now_s[0])
    proc(7, line(path))
    found.find()

    proc(7)
    now_s[0] += 60

    assert found.find() == [path]
    shutil.rmtree(path)
    now_s[0] += 60
    assert found.find() == []

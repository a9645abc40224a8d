import errno
import os
from pathlib import Path

import pytest

from aeron_core.concurrent.mapped_file import (
    ObservedFile,
    create_mapped_file,
    free_space,
    map_new_file,
    open_mapped_file,
)
from aeron_core.errors import ConfigurationError, StorageError

SHM = Path("/dev/shm")


@pytest.mark.parametrize("sparse", [False, True])
def test_a_new_file_has_the_requested_length_and_only_zeros(tmp_path, sparse):
    path = tmp_path / "file"

    buffer = create_mapped_file(path, 5000, sparse=sparse)

    assert (buffer.capacity, buffer.get_bytes(0, 5000)) == (5000, bytes(5000))
    assert path.stat().st_size == 5000


def test_a_file_that_is_not_sparse_has_its_space_allocated(tmp_path):
    create_mapped_file(tmp_path / "filled", 1 << 20, sparse=False)
    create_mapped_file(tmp_path / "sparse", 1 << 20, sparse=True)

    assert (tmp_path / "filled").stat().st_blocks * 512 >= 1 << 20
    assert (tmp_path / "sparse").stat().st_blocks * 512 < 1 << 20


def resident_bytes(path):
    """Return how much of the mapping of a file is resident in this process."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        if line.endswith(str(path)):
            return next(int(text.split()[1]) * 1024 for text in lines if text.startswith("Rss:"))
    raise AssertionError(f"{path} is not mapped")


@pytest.mark.parametrize(("populate", "resident"), [(True, 1 << 20), (False, 0)])
def test_pages_of_a_file_are_resident_at_once_only_if_asked(tmp_path, populate, resident):
    path = tmp_path / "filled"

    buffer = create_mapped_file(path, 1 << 20, sparse=False, populate=populate)

    assert resident_bytes(path) == resident
    assert buffer.capacity == 1 << 20


def test_a_store_is_visible_through_another_mapping(tmp_path):
    writer = create_mapped_file(tmp_path / "file", 4096, sparse=True)
    reader = open_mapped_file(tmp_path / "file", read_only=True)

    writer.put_i64_release(8, 42)

    assert reader.get_i64_acquire(8) == 42
    assert (reader.read_only, open_mapped_file(tmp_path / "file").read_only) == (True, False)


def test_an_existing_file_is_not_changed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"precious")

    with pytest.raises(StorageError, match=f"cannot create {path}") as error:
        create_mapped_file(path, 4096, sparse=True)

    assert error.value.errno == errno.EEXIST
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_that_is_not_positive_is_rejected(tmp_path, length):
    with pytest.raises(ConfigurationError, match=f"length={length}"):
        create_mapped_file(tmp_path / "file", length, sparse=True)

    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not SHM.is_dir(), reason="no /dev/shm")
def test_the_error_for_too_little_shared_memory_names_the_size_needed_and_the_command():
    path = SHM / f"aeron-core-test-{os.getpid()}"
    length = 1 << 50

    with pytest.raises(StorageError) as error:
        create_mapped_file(path, length, sparse=False)

    assert error.value.errno == errno.ENOSPC
    assert f"{length} bytes are needed" in str(error.value)
    assert "mount -o remount,size=" in str(error.value)
    assert not path.exists()


def test_the_error_for_a_full_disk_suggests_no_mount(tmp_path):
    with pytest.raises(StorageError) as error:
        create_mapped_file(tmp_path / "file", 1 << 60, sparse=False)

    assert f"{1 << 60} bytes are needed" in str(error.value)
    assert "/dev/shm" not in str(error.value) or tmp_path.is_relative_to(SHM)
    assert not list(tmp_path.iterdir())


def test_a_truncated_file_is_detected_also_after_it_was_renamed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(8192))
    observed = ObservedFile(path)
    observed.check()

    path = path.rename(tmp_path / "other")
    os.truncate(path, 8191)

    with pytest.raises(StorageError, match="was truncated from 8192 to 8191 bytes") as error:
        observed.check()
    assert error.value.errno == errno.EIO


def test_a_file_that_grew_is_not_truncated(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(4096))
    observed = ObservedFile(path)

    os.truncate(path, 8192)

    observed.check()
    assert observed.buffer.capacity == 4096


def test_an_observed_file_closes_its_descriptor_but_keeps_its_mapping(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345678")
    before = os.listdir("/proc/self/fd")

    buffer = ObservedFile(path).buffer

    assert os.listdir("/proc/self/fd") == before
    assert buffer.get_bytes(0, 8) == b"12345678"


@pytest.mark.parametrize("kind", ["missing", "empty", "folder"])
def test_an_observed_file_must_be_a_regular_file_with_content(tmp_path, kind):
    path = tmp_path / kind
    if kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    before = os.listdir("/proc/self/fd")

    with pytest.raises(StorageError, match=str(path)):
        ObservedFile(path)

    assert os.listdir("/proc/self/fd") == before


def test_a_missing_file_cannot_be_opened(tmp_path):
    with pytest.raises(
        StorageError, match=r"cannot open .* that the process that creates the file has"
    ) as error:
        open_mapped_file(tmp_path / "file")

    assert error.value.errno == errno.ENOENT


def test_a_file_cannot_be_created_in_a_missing_folder(tmp_path):
    with pytest.raises(
        StorageError, match=r"cannot create .*: [a-zA-Z ]*: check that its folder exists$"
    ) as error:
        create_mapped_file(tmp_path / "missing" / "file", 4096, sparse=True)

    assert error.value.errno == errno.ENOENT


def test_an_empty_file_has_an_errno_of_its_own(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StorageError, match="is empty") as error:
        open_mapped_file(tmp_path / "file")

    assert error.value.errno == errno.ENODATA


def test_a_pipe_or_a_folder_cannot_be_mapped(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(StorageError, match="not a regular file"):
            open_mapped_file(path, read_only=True)


def test_free_space_is_a_number_of_bytes(tmp_path):
    assert free_space(tmp_path) > 0


def test_a_descriptor_without_write_access_is_a_storage_error(tmp_path):
    path = tmp_path / "read-only"
    path.touch()

    with path.open("rb") as file, pytest.raises(StorageError, match=f"cannot create {path}"):
        map_new_file(file.fileno(), path, 4096, sparse=True)

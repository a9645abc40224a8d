"""Stores of `pyarrow.fs`, and errors of folders that cannot be used."""

import errno
import os
import resource
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from aeron_core.errors import ConfigurationError, RecordingError, RecordingNotFoundError
from aeron_core.recording import Archive
from aeron_core.recording.storage.arrow_store import ArrowStore
from aeron_core.recording.storage.file_store import LocalStore, write_failure

HOUR_S = 3600
NOBODY = 65534


@pytest.fixture
def store(tmp_path):
    pytest.importorskip("pyarrow.fs")
    return ArrowStore(tmp_path.as_uri())


def write(tmp_path, data, time_s):
    (tmp_path / "x").write_bytes(data)
    os.utime(tmp_path / "x", (time_s, time_s))


def test_a_file_replaced_within_a_second_by_one_of_equal_size_has_another_version(store, tmp_path):
    now_s = int(time.time())
    write(tmp_path, b"one", now_s)
    before = store.version("x")

    write(tmp_path, b"two", now_s)

    assert store.version("x") != before


def test_the_version_of_an_old_file_needs_no_read(store, tmp_path, monkeypatch):
    write(tmp_path, b"one", int(time.time()) - HOUR_S)
    monkeypatch.setattr(store, "read", None)

    assert store.version("x") == store.version("x") is not None


def test_a_missing_file_has_no_version(store):
    assert store.version("x") is None


@contextmanager
def as_unprivileged_user():
    """Drop the permissions of root from this process."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield os.geteuid()
    finally:
        if user == 0:
            os.seteuid(0)


@pytest.fixture
def folder():
    """Return a folder that every user may enter."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
        Path(name).chmod(0o700)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, rf"Permission denied; let user {os.geteuid()} write there, or choose another folder"),
        (errno.EROFS, rf"Read-only file system; let user {os.geteuid()} write there, or choose another"),
        (
            errno.ENOSPC,
            r"No space left on device; \d+ bytes are free .* free disk space, or purge recordings",
        ),
        (errno.EIO, r"Input/output error; remove the cause, or choose another folder"),
        (errno.EMFILE, r"Too many open files; raise the limit of open files of this process: ulimit -n"),
        (
            errno.ENFILE,
            r"Too many open files in system; raise the limit of open files of the system: sysctl fs",
        ),
    ],
)
def test_a_write_failure_names_a_remedy(tmp_path, number, advice):
    failure = write_failure("write", tmp_path / "x", OSError(number, os.strerror(number)))

    with pytest.raises(RecordingError, match=rf"cannot write .*/x: {advice}"):
        raise failure


def test_an_archive_without_write_permission_raises_with_a_remedy(folder):
    archive = Archive.create(folder)
    folder.chmod(0o555)
    (folder / "archive.lock").chmod(0o444)

    with (
        as_unprivileged_user() as user,
        pytest.raises(
            RecordingError, match=rf"archive\.lock: Permission denied; let user {user} write there"
        ),
    ):
        archive.next_recording_id()


def test_creating_an_archive_without_permission_raises_with_a_remedy(folder):
    folder.chmod(0o555)

    with (
        as_unprivileged_user(),
        pytest.raises(RecordingError, match=r"made/archive\.lock: Permission denied; let user"),
    ):
        Archive.create(folder / "made")


def test_an_archive_without_read_permission_raises_with_a_remedy(folder):
    Archive.create(folder)
    folder.chmod(0)

    with (
        as_unprivileged_user() as user,
        pytest.raises(RecordingError, match=rf"archive\.json: Permission denied; let user {user} read it"),
    ):
        Archive.open(folder)


def test_opening_a_file_as_an_archive_raises(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(RecordingNotFoundError, match="file: there is no archive of recordings"):
        Archive.open(tmp_path / "file")


@pytest.mark.parametrize("read", ["names", "read", "delete"])
def test_a_fault_of_the_disk_raises_with_the_file_and_a_remedy(tmp_path, monkeypatch, read):
    def fail(*arguments, **options):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for broken in ((os, "listdir"), (os, "open"), (Path, "open"), (Path, "unlink")):
        monkeypatch.setattr(*broken, fail)

    with pytest.raises(RecordingError, match=r"cannot .*/x: Input/output error; remove the cause, or "):
        getattr(LocalStore(tmp_path), read)("x")


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("", "must name a folder"),
        ("file://", "must name a folder"),
        ("file:///%00", "must name a folder, without a NUL"),
        ("file://[", "must be a URI such as file:///var/recordings: Invalid IPv6 URL"),
        ("~nosuchuser/x", "'~nosuchuser/x': the home directory of this user is unknown"),
        ("s3://", "s3://: must name a bucket"),
    ],
)
def test_a_location_without_a_folder_is_refused(where, fault):
    if where.startswith("s3"):
        pytest.importorskip("pyarrow.fs")

    with pytest.raises(ConfigurationError, match=fault):
        Archive.open(where)


@contextmanager
def without_free_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "call",
    [lambda store: store.read("x"), lambda store: store.read_into("x", 0, bytearray(1)), LocalStore.names],
)
def test_a_folder_that_cannot_be_read_for_lack_of_descriptors_is_an_error_of_the_archive(tmp_path, call):
    (tmp_path / "x").write_bytes(b"x")
    store = LocalStore(tmp_path)

    with without_free_descriptors(), pytest.raises(RecordingError) as caught:
        call(store)

    assert "Too many open files; raise the limit of open files of this process: ulimit -n" in str(
        caught.value
    )


def test_a_failed_copy_leaves_no_part_of_it(tmp_path):
    piece = tmp_path / "piece"
    piece.write_bytes(bytes(65536))
    target = tmp_path / "archive"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)

    # The kernel refuses to write more, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            LocalStore(target).upload(piece, "1/piece")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)

    assert list(target.rglob("*")) == [target / "1"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.read("x"),
        lambda store: store.read("x", 0, 32),
        lambda store: store.read_into("x", 0, memoryview(bytearray(32))),
    ],
    ids=["whole", "range", "into memory"],
)
def test_a_pipe_or_a_device_in_place_of_a_file_is_an_error(tmp_path, read):
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "x").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "x")

    for folder in (tmp_path, tmp_path / "devices"):
        with pytest.raises(RecordingError, match="not a regular file"):
            read(LocalStore(folder))

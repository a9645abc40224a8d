"""Files of tasks that wait for their commit: of this user alone, and unchanged."""

import os
import pwd
import stat
import tempfile
from pathlib import Path

import pytest
from pyspark_aeron.writing.delivering import staging_folder
from pyspark_aeron.writing.sink_options import SinkOptions
from pyspark_aeron.writing.staged_file import columns_of
from sink_query import Query

from aeron_core.errors import RecordingError


def test_a_user_without_a_name_can_publish(monkeypatch):
    def no_such_user(_uid):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", no_such_user)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    folder = staging_folder(SinkOptions(channel="aeron:ipc"), "query")

    assert folder.parts[-2:] == ("staging", "query")


@pytest.fixture
def published_staging(tmp_path, monkeypatch):
    """Return a query that stages in the temporary folder, and that folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return Query(channel="aeron:ipc"), tmp_path / f"aeron-core-{os.getuid()}"


def test_a_task_without_rows_leaves_no_file(archived, out):
    staged = archived.stage(0, 0)

    assert (staged.path, staged.rows) == ("", 0)
    assert list(out.rglob("*.rows")) == []


def test_staged_files_are_of_this_user_alone(published_staging, archived):
    query, folder = published_staging

    staged = query.stage(0, 0, b"a")
    other = archived.stage(0, 0, b"a")

    path = Path(staged.path)
    assert path.parent == folder / "staging" / "query-1"
    modes = [stat.S_IMODE(entry.stat().st_mode) for entry in (path, *path.parents[:3])]
    assert modes == [0o600, 0o700, 0o700, 0o700]
    private = [Path(other.path), Path(other.path).parent]
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in private] == [0o600, 0o700]


@pytest.mark.parametrize("part", ["", "staging", "staging/query-1"])
def test_a_staging_folder_that_others_can_write_is_made_private(published_staging, part):
    query, folder = published_staging
    (folder / part).mkdir(parents=True)
    for entry in (folder, folder / "staging"):
        if entry.exists():
            entry.chmod(0o700)
    (folder / part).chmod(0o777)

    query.stage(0, 0, b"a")

    assert stat.S_IMODE((folder / part).stat().st_mode) == 0o700


def test_a_staging_folder_of_another_user_is_refused(published_staging, monkeypatch):
    query, _folder = published_staging
    staged = query.stage(0, 0, b"a")
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)

    with pytest.raises(RecordingError, match=f"belongs to user {uid}.* must belong to user {uid + 1}"):
        query.stage(0, 1, b"b")
    with pytest.raises(RecordingError, match=f"belongs to user {uid}.* must belong to user {uid + 1}"):
        next(columns_of([staged]))


def test_a_commit_maps_few_files_at_a_time(published_staging):
    query, _ = published_staging
    staged = [query.stage(0, partition, b"%d" % partition) for partition in range(20)]

    def mapped():
        return sum(".rows" in line for line in Path("/proc/self/maps").read_text().splitlines())

    found = [(bytes(column.data.view(0, len(column.data))), mapped()) for _, column in columns_of(staged)]

    assert [data for data, _ in found] == [b"%d" % partition for partition in range(20)]
    assert max(count for _, count in found) <= 3


def test_a_staging_folder_that_is_a_link_is_refused(published_staging, tmp_path):
    query, folder = published_staging
    (tmp_path / "elsewhere").mkdir(0o700)
    folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(RecordingError, match="cannot write"):
        query.stage(0, 0, b"a")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_readable_folder_of_an_earlier_version_becomes_private(published_staging):
    query, folder = published_staging
    folder.mkdir(0o755)

    query.stage(0, 0, b"a")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def overwrite(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def replace_by_a_link(path):
    path.rename(path.with_suffix(".copy"))
    path.symlink_to(path.with_suffix(".copy"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (overwrite, "is not what its task wrote"),
        (lambda path: path.write_bytes(b""), "cannot read"),
        (lambda path: path.unlink(), "cannot read"),
        (lambda path: path.chmod(0o666), "must be a regular file of user"),
        (replace_by_a_link, "cannot read"),
    ],
    ids=["changed", "empty", "missing", "writable", "a link"],
)
def test_a_staged_file_that_its_task_did_not_write_is_not_committed(archived, payloads, out, change, message):
    archived.commit(0, archived.stage(0, 0, b"a"))
    staged = archived.stage(1, 0, b"b")
    change(Path(staged.path))

    with pytest.raises(RecordingError, match=message):
        archived.commit(1, staged)
    archived.commit(1, archived.stage(1, 0, b"c"))

    assert payloads(out) == [b"a", b"c"]


def test_files_with_strange_names_in_a_staging_folder_are_left_alone(archived, out):
    staged = archived.stage(0, 0, b"a")
    strange = Path(staged.path).with_name("x-y-z.rows")
    strange.touch()

    archived.commit(1, archived.stage(1, 0, b"b"))

    assert strange.exists()
    assert not Path(staged.path).exists()

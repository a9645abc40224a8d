"""Modes and groups of new files and folders."""

from __future__ import annotations

import grp
import os
import stat
import tempfile
from pathlib import Path

import pytest

from aeron_core.concurrent.mapped_file import create_mapped_file
from aeron_core.errors import ConfigurationError
from aeron_core.file_access import PRIVATE, FileAccess

#: A group that the processes of this test are no member of, unless they are root's.
OTHER_GROUP = next(
    group for group in grp.getgrall() if group.gr_gid not in {0, os.getegid(), *os.getgroups()}
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to any group")


@pytest.fixture(params=[0, 0o022, 0o077, 0o177], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_folder():
    """A folder that other users may enter; those of pytest are private, and each process of it makes them so again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def as_user(user, groups, action):
    """Run an action in a child process of another user; return the text of its error, empty without one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(user)
            os.setuid(user)
            action()
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mode", [0o700, 0o750, 0o770, 0o755, 0o777], ids=oct)
def test_files_and_folders_have_the_mode_whatever_the_umask_is(tmp_path, mode):
    access = FileAccess(mode)

    access.make_folders(tmp_path / "outer" / "inner")
    with open(tmp_path / "outer" / "inner" / "file", "xb", opener=access.open):
        pass

    assert mode_of(tmp_path / "outer") == mode_of(tmp_path / "outer" / "inner") == mode
    assert mode_of(tmp_path / "outer" / "inner" / "file") == mode & 0o666


def test_no_other_user_can_open_what_has_not_got_its_mode_yet(tmp_path, monkeypatch):
    before = os.umask(0)
    seen = []
    monkeypatch.setattr(
        os, "fchmod", lambda fd, mode: seen.append((stat.S_IMODE(os.fstat(fd).st_mode), mode))
    )
    access = FileAccess(0o777)
    try:
        access.make_folder(tmp_path / "folder")
        os.close(access.open(tmp_path / "file", os.O_WRONLY))
    finally:
        os.umask(before)

    assert seen == [(0o700, 0o777), (0o600, 0o666)]


def test_a_mapped_file_is_private_without_an_access(tmp_path):
    create_mapped_file(tmp_path / "file", 4096, sparse=True)

    assert mode_of(tmp_path / "file") == 0o600


def test_a_file_that_exists_is_opened_and_keeps_its_mode(tmp_path):
    file = tmp_path / "file"
    file.write_text("before", encoding="utf-8")
    file.chmod(0o640)

    with open(file, "a", encoding="utf-8", opener=PRIVATE.open) as opened:
        opened.write(" and after")

    assert file.read_text(encoding="utf-8") == "before and after"
    assert mode_of(file) == 0o640


def test_a_file_that_must_be_new_is_not_opened_if_it_exists(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(FileExistsError):
        PRIVATE.open(tmp_path / "file", os.O_WRONLY | os.O_EXCL)


def test_a_link_to_a_missing_file_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "missing")

    with pytest.raises(FileNotFoundError):
        PRIVATE.open(tmp_path / "link", os.O_WRONLY)


def test_a_folder_that_exists_keeps_its_mode(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o755)

    PRIVATE.make_folders(tmp_path / "folder" / "inner")

    assert mode_of(tmp_path / "folder") == 0o755
    assert mode_of(tmp_path / "folder" / "inner") == 0o700


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(FileExistsError):
        PRIVATE.make_folders(tmp_path / "file")


@pytest.mark.parametrize(
    ("mode", "expected"), [(0o700, 0o700), (0o750, 0o750), (0o640, 0o750), (0o666, 0o777)]
)
def test_what_is_added_has_the_access_of_what_exists(tmp_path, mode, expected):
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(mode)

    assert FileAccess.like(tmp_path / "file").folder_mode == expected


@needs_root
def test_files_and_folders_have_the_group(tmp_path):
    access = FileAccess.of(None, OTHER_GROUP.gr_name)

    access.make_folder(tmp_path / "folder")
    os.close(access.open(tmp_path / "folder" / "file", os.O_WRONLY))

    for path, mode in ((tmp_path / "folder", 0o770), (tmp_path / "folder" / "file", 0o660)):
        assert (path.stat().st_gid, mode_of(path)) == (OTHER_GROUP.gr_gid, mode)


@needs_root
def test_a_group_may_be_a_number_and_a_mode_may_restrict_it():
    assert FileAccess.of(0o750, str(OTHER_GROUP.gr_gid)) == FileAccess(0o750, OTHER_GROUP.gr_gid)


@needs_root
def test_a_member_of_the_group_may_give_files_to_it(open_folder):
    open_folder.chmod(0o777)

    def create():
        os.close(FileAccess.of(None, OTHER_GROUP.gr_name).open(open_folder / "file", os.O_WRONLY))

    assert as_user(65534, [OTHER_GROUP.gr_gid], create) == ""
    made = (open_folder / "file").stat()
    assert (made.st_uid, made.st_gid) == (65534, OTHER_GROUP.gr_gid)
    assert mode_of(open_folder / "file") == 0o660


@needs_root
def test_a_group_without_this_user_is_refused():
    error = as_user(65534, [], lambda: FileAccess.of(None, OTHER_GROUP.gr_name))

    assert error == (
        f"ConfigurationError: dir_group={OTHER_GROUP.gr_name}: user 65534 is not a member: must be a group of this "
        f"process, see `id`; add the user with `usermod -a -G {OTHER_GROUP.gr_name}`, and log in again"
    )


@needs_root
def test_a_derived_group_without_this_user_leaves_the_file_to_its_owner(open_folder):
    folder = open_folder / "folder"
    FileAccess(0o777, OTHER_GROUP.gr_gid).make_folder(folder)

    assert (
        as_user(65534, [], lambda: os.close(FileAccess.like(folder).open(folder / "file", os.O_WRONLY))) == ""
    )
    assert mode_of(folder / "file") == 0o606


@pytest.mark.parametrize("group", ["no-such-group", "4294967294", "99999999999999999999", "²"])
def test_a_group_that_does_not_exist_is_refused(group):
    with pytest.raises(
        ConfigurationError, match=f"dir_group={group}: no such group: must be the name or number"
    ):
        FileAccess.of(None, group)


def test_a_group_without_access_is_refused():
    with pytest.raises(ConfigurationError, match="dir_mode=0700 gives the group dir_group=0 no access"):
        FileAccess.of(0o700, "0")


def test_without_a_group_the_mode_is_private():
    assert FileAccess.of(None, "") == PRIVATE
    assert FileAccess.of(0o755, "").folder_mode == 0o755

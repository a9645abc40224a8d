"""Connections in the default directory: only in one that another user cannot have put there."""

import os
import re
import shutil

import pytest

from aeron_core import connect
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import DriverTimeoutError, StorageError
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.settings.models import ClientSettings

STRANGER = 54321

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")


@pytest.fixture
def default_dir(monkeypatch):
    """The default directory of a user that does not exist; it is missing."""
    monkeypatch.delenv("AERON_DIR", raising=False)
    monkeypatch.setenv("USER", f"test-{os.getpid()}")
    path = default_aeron_dir()
    yield path
    if path.is_symlink():
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def test_a_client_connects_in_the_default_directory_of_its_own_user(default_dir):
    with MediaDriver.launch() as driver, connect() as aeron:
        assert driver.aeron_dir == default_dir
        assert aeron.add_subscription("aeron:ipc", 1).registration_id > 0


@as_root
@pytest.mark.parametrize("is_link", [False, True], ids=["folder", "link"])
def test_a_default_directory_that_another_user_has_made_is_refused(default_dir, tmp_path, is_link):
    if is_link:
        default_dir.symlink_to(tmp_path)
    else:
        default_dir.mkdir()
    os.chown(default_dir, STRANGER, -1, follow_symlinks=False)

    text = f"{default_dir} belongs to another user, with the id {STRANGER}, who could read and change what is sent"
    with pytest.raises(StorageError, match=re.escape(text)):
        connect()


@as_root
def test_a_directory_of_another_user_in_aeron_dir_is_trusted(default_dir, monkeypatch):
    default_dir.mkdir()
    os.chown(default_dir, STRANGER, -1)
    monkeypatch.setenv("AERON_DIR", str(default_dir))

    with pytest.raises(DriverTimeoutError):
        connect(settings=ClientSettings(aeron_dir=default_dir, driver_timeout_ms=100))

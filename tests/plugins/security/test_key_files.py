"""Key files: written for their owner only, and refused if others can read them."""

import os

import pytest
from aeron_security.key_files import fingerprint_of, read_secret, write_secret

from aeron_core.errors import ConfigurationError

SECRET = bytes(range(32))


def test_a_secret_that_was_written_can_be_read(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    write_secret(one)
    write_secret(other)

    assert len(read_secret(one)) == 32
    assert read_secret(one) == read_secret(one) != read_secret(other)
    assert one.stat().st_mode & 0o777 == 0o600


def test_a_secret_is_not_overwritten(tmp_path):
    write_secret(tmp_path / "one")
    before = read_secret(tmp_path / "one")

    with pytest.raises(ConfigurationError, match=r"one' exists: it is not overwritten"):
        write_secret(tmp_path / "one")
    assert read_secret(tmp_path / "one") == before


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"key file '.*nothing/one': cannot be written: No such file"
    ):
        write_secret(tmp_path / "nothing" / "one")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666])
def test_a_file_that_others_can_use_is_refused(key_file, mode):
    with pytest.raises(ConfigurationError, match=rf"mode {mode:04o} lets other users read or change it"):
        read_secret(key_file(mode=mode))


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_file_of_its_owner_is_read(key_file, mode):
    assert read_secret(key_file(mode=mode)) == SECRET


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o775, 0o777, 0o2775])
def test_a_file_in_a_folder_that_others_can_write_is_refused(key_file, tmp_path, mode):
    (tmp_path / "keys").mkdir()
    path, link = key_file(name="keys/orders.key"), tmp_path / "link"
    link.symlink_to(path)
    (tmp_path / "keys").chmod(mode)

    text = rf"mode {mode:04o} of its folder lets other users replace it: .*chmod go-w {tmp_path}/keys$"
    for each in (path, link):
        with pytest.raises(ConfigurationError, match=text):
            read_secret(each)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777])
def test_a_file_in_a_folder_in_which_others_cannot_replace_it_is_read(key_file, tmp_path, mode):
    tmp_path.chmod(mode)

    assert read_secret(key_file()) == SECRET


@pytest.mark.skipif(os.geteuid() != 0, reason="changes the owner of a file")
def test_a_file_of_another_user_is_refused(key_file):
    path = key_file()
    os.chown(path, 12345, -1)

    with pytest.raises(
        ConfigurationError, match="belongs to user 12345: must belong to the user of the driver, 0"
    ):
        read_secret(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"00" * 31,
        b"00" * 33,
        b"0" * 63,
        b"0" * 63 + b"g",
        b"0" * 63 + b" ",
        b" " * 64,
        b"00" * 32 + b"\n\n",
        b"00" * 32 + b" ",
        bytes(32),
        b"\xff" * 64,
        b"00" * 10_000,
    ],
)
def test_another_content_is_refused_and_not_shown(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(ConfigurationError, match="must have 64 hexadecimal digits in one line") as caught:
        read_secret(path)
    assert "0000" not in str(caught.value)


def test_other_kinds_of_files_are_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    tmp_path.chmod(0o700)

    for path in (pipe, tmp_path, "/dev/null"):
        with pytest.raises(ConfigurationError, match="must be a regular file"):
            read_secret(path)


@pytest.mark.parametrize("path", ["nothing", "a\0b"])
def test_a_file_that_cannot_be_read_is_named(path):
    with pytest.raises(
        ConfigurationError,
        match=r"cannot be read: .*: copy the secret of the group to it, or make it with `aeron-core keys",
    ):
        read_secret(path)


def test_fingerprints_differ_and_have_nothing_of_the_secret():
    one, other = fingerprint_of(SECRET), fingerprint_of(bytes(32))

    assert one != other
    assert len(one) == 16
    assert one not in SECRET.hex()

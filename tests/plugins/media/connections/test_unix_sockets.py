"""Unix sockets with paths and abstract names."""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import time

import pytest
from aeron_media.connections import unix_sockets
from aeron_media.connections.unix_sockets import UnixConnections

from aeron_core._native.address import SocketAddress
from aeron_core.spi.media import ListenOptions
from aeron_core.testing.connection_probe import ConnectionProbe, accept


def wait_for(condition, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not (result := condition()):
        assert time.monotonic() < deadline, "timed out"
        select.select([], [], [], 0.001)
    return result


def listen(path, permissions=None):
    return UnixConnections(permissions).listen(ListenOptions(SocketAddress.unix(path)))


@pytest.fixture
def path(tmp_path):
    return os.fsencode(tmp_path / "socket")


@pytest.mark.parametrize("is_abstract", [False, True])
def test_bytes_are_exchanged_in_both_directions(path, is_abstract):
    address = b"\0" + path if is_abstract else path
    listener = listen(address)
    caller = ConnectionProbe(UnixConnections().new_connection())
    caller.connect(listener.local_address())
    taker, _ = wait_for(lambda: accept(listener))
    wait_for(caller.is_connected)
    assert caller.send(b"there") == 5
    assert wait_for(taker.receive) == b"there"
    assert taker.send(b"back") == 4
    assert wait_for(caller.receive) == b"back"
    assert listener.local_address() == SocketAddress.unix(address)
    for end in (caller, taker, listener):
        end.close()


def test_a_path_is_removed_with_its_listener(path):
    listener = listen(path)
    assert stat.S_ISSOCK(os.lstat(path).st_mode)
    listener.close()
    assert not os.path.lexists(path)


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_other_users_cannot_connect_to_a_path_without_permissions(path, umask):
    before = os.umask(umask)
    try:
        listener = listen(path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    listener.close()


def test_a_path_that_another_listener_has_replaced_stays(path):
    first = listen(path)
    os.unlink(path)
    second = listen(path)
    first.close()
    assert os.path.lexists(path)
    second.close()


def test_a_path_without_a_listener_is_replaced(path):
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(path)
    dead.close()

    listener = listen(path)

    assert os.path.lexists(path)
    listener.close()
    assert not os.path.lexists(path)


def test_a_path_with_a_listener_is_left_alone(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as alive:
        alive.bind(path)
        alive.listen()
        with pytest.raises(OSError, match=f"cannot listen at {os.fsdecode(path)}: Address already in use"):
            listen(path)
    assert os.path.lexists(path)


def test_a_file_that_is_not_a_socket_is_left_alone(path, tmp_path):
    (tmp_path / "socket").write_text("precious", encoding="utf-8")
    with pytest.raises(OSError, match="cannot listen at"):
        listen(path)
    assert (tmp_path / "socket").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_path_of_another_kind_is_left_alone(path, make):
    make(path)
    before = os.lstat(path)

    with pytest.raises(OSError, match=f"cannot listen at {os.fsdecode(path)}: Address already in use"):
        listen(path)

    assert os.lstat(path).st_ino == before.st_ino


def test_a_path_with_a_full_listener_is_left_alone(path):
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as alive,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as first,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as second,
    ):
        alive.bind(path)
        alive.listen(0)
        for caller in (first, second):
            caller.setblocking(False)
            caller.connect_ex(path)
        with pytest.raises(OSError, match="Address already in use"):
            listen(path)
    assert os.path.lexists(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a socket another owner")
def test_a_listening_socket_of_another_user_is_left_alone(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as alive:
        alive.bind(path)
        alive.listen()
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o600)
        with pytest.raises(OSError, match="Address already in use"):
            listen(path)
        assert os.lstat(path).st_uid == 65534


def test_a_path_below_a_file_or_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "file").touch()
    os.symlink("loop", tmp_path / "loop")
    for folder in ("file", "loop"):
        with pytest.raises(OSError, match=f"cannot listen at {tmp_path}/{folder}/socket: "):
            listen(os.fsencode(tmp_path / folder / "socket"))


@pytest.mark.parametrize("kind", ["nothing", "folder", "file", "pipe", "link", "dead socket"])
def test_a_connection_to_a_path_without_a_listener_fails_and_leaves_it_alone(path, kind):
    if kind == "folder":
        os.mkdir(path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        os.symlink(path, path)
    elif kind == "file":
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    elif kind == "dead socket":
        dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        dead.bind(path)
        dead.close()
    caller = ConnectionProbe(UnixConnections().new_connection())

    def connect():
        caller.connect(SocketAddress.unix(path))
        wait_for(caller.is_connected)

    with pytest.raises(OSError) as failure:  # noqa: PT011 - the number is looked at below
        connect()

    assert failure.value.errno in (errno.ECONNREFUSED, errno.ENOENT, errno.ELOOP)
    assert os.path.lexists(path) is (kind != "nothing")


def test_permissions_are_set_as_requested(path):
    listener = listen(path, 0o600)
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    listener.close()


def test_permissions_are_not_set_on_a_file_that_has_replaced_the_socket(path, tmp_path, monkeypatch):
    """Replace the path after it was bound, as another user can do in a shared folder."""
    precious = tmp_path / "precious"
    precious.write_text("ours", encoding="utf-8")
    precious.chmod(0o600)

    class Replaced(unix_sockets._PathSocket):
        def bind(self, address):
            super().bind(address)
            os.unlink(address)
            os.symlink(precious, address)

    monkeypatch.setattr(unix_sockets, "_PathSocket", Replaced)
    text = f"cannot listen at {os.fsdecode(path)}: it was replaced .* folder that only the driver can change$"
    with pytest.raises(OSError, match=text):
        listen(path, 0o666)

    assert stat.S_IMODE(precious.stat().st_mode) == 0o600
    assert os.path.islink(path)


@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_is_left_alone_wherever_it_leads(path, tmp_path, is_dangling):
    target = tmp_path / "target"
    if not is_dangling:
        dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        dead.bind(os.fsencode(target))
        dead.close()
    os.symlink(target, path)
    with pytest.raises(OSError, match="Address already in use"):
        listen(path)
    assert os.path.islink(path)
    assert target.exists() is not is_dangling


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        listen(os.fsencode(tmp_path / "nowhere" / "socket"))


def test_a_lack_of_descriptors_names_the_path(path, no_descriptors):
    with pytest.raises(
        OSError, match=f"cannot listen at {os.fsdecode(path)}: Too many open files: raise the limit"
    ):
        listen(path)

""""""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from aeron_core.errors import RegistrationError

pytestmark = pytest.mark.interop


def test_our_listener_replaces_the_socket_file_of_a_killed_peer(ours, peer, tmp_path):
    path = tmp_path / "pair"
    killed = peer("pynng")
    killed.listen(f"ipc://{path}")
    killed.kill()
    assert path.exists()

    our = ours("listen", f"ipc://{path}")
    their = peer("pynng")
    their.dial(our.url)
    our.await_peers()
    our.send("hello")

    assert their.texts() == ["hello"]


def test_our_listener_does_not_replace_the_socket_of_a_live_peer(ours, peer, tmp_path):
    path = tmp_path / "pair"
    their, other = peer("pynng"), peer("pynng")
    their.listen(f"ipc://{path}")

    with pytest.raises(RegistrationError, match=str(path)):
        ours("listen", f"ipc://{path}")

    other.dial(f"ipc://{path}")
    their.await_event("joined")


def test_our_listener_does_not_replace_another_kind_of_file(ours, tmp_path):
    path: Path = tmp_path / "pair"
    path.write_text("precious", encoding="utf-8")

    with pytest.raises(RegistrationError, match=str(path)):
        ours("listen", f"ipc://{path}")

    assert path.read_text(encoding="utf-8") == "precious"


def test_our_listener_removes_its_socket_file(ours, tmp_path):
    path = tmp_path / "pair"
    our = ours("listen", f"ipc://{path}")
    assert path.is_socket()

    our.close()

    assert not path.exists()


def test_a_path_that_is_too_long_is_refused_with_a_message(ours, tmp_path):
    path = tmp_path / ("p" * 108)

    with pytest.raises(Exception, match=r"10[78]"):
        ours("listen", f"ipc://{path}")


def test_dialing_a_socket_that_is_not_sp_is_reported(ours, tmp_path):
    path = str(tmp_path / "pair")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        our = ours("dial", f"ipc://{path}")
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1")
            our.until(lambda: any("not a greeting of SP" in text for text in our.errors()))

    assert our.counted("malformed") >= 1

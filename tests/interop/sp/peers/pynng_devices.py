"""A chain of nng devices; each forwards between two raw PAIR1 sockets.

    pynng_devices.py COUNT

Commands: {"do": "start", "listen": URL, "dial": URL}, answered with `listening`; see `sp_peers.py`.
"""

from __future__ import annotations

import json
import sys
import threading

import pynng
from command_loop import emit


def raw_socket() -> object:
    made = pynng.ffi.new("nng_socket *")
    pynng.check_err(pynng.lib.nng_pair1_open_raw(made))
    return made[0]


def listen(socket: object, url: str) -> str:
    listener = pynng.ffi.new("nng_listener *")
    pynng.check_err(pynng.lib.nng_listen(socket, url.encode(), listener, 0))
    if not url.startswith("tcp"):
        return url
    port = pynng.ffi.new("int *")
    pynng.check_err(pynng.lib.nng_listener_get_int(listener[0], b"tcp-bound-port", port))
    return f"{url.rpartition(':')[0]}:{port[0]}"


def dial(socket: object, url: str) -> None:
    pynng.check_err(pynng.lib.nng_dial(socket, url.encode(), pynng.ffi.NULL, pynng.lib.NNG_FLAG_NONBLOCK))


def start(count: int, listened: str, dialed: str) -> str:
    """Start a chain of `count` devices; return the address of the first."""
    address = ""
    for number in range(count):
        near, far = raw_socket(), raw_socket()
        bound = listen(near, f"inproc://{number}" if number else listened)
        address = address or bound
        dial(far, f"inproc://{number + 1}" if number + 1 < count else dialed)
        threading.Thread(target=pynng.lib.nng_device, args=(near, far), daemon=True).start()
    return address


if __name__ == "__main__":
    emit("ready")
    for line in sys.stdin:
        command = json.loads(line)
        emit("listening", url=start(int(sys.argv[1]), command["listen"], command["dial"]))

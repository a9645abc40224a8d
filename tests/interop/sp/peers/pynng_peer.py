"""pynng, the binding of nng 1.

    pynng_peer.py pair0|pair1|poly [serve=FILE] [trust=FILE]

With `serve`, it listens with the certificate and key in a file; with `trust`, it verifies peers by the authorities in a
file.
"""

from __future__ import annotations

import sys

import pynng
from command_loop import emit, run

SEND_TIMEOUT_MS = 20_000


class PynngSocket:
    """One socket; `poly` is a PAIR1 socket of several peers."""

    def __init__(self, kind: str, options: list[str]) -> None:
        made = pynng.Pair0() if kind == "pair0" else pynng.Pair1(polyamorous=kind == "poly")
        made.send_timeout = SEND_TIMEOUT_MS
        # A refused or disconnected dialer reconnects soon enough for a test.
        made.reconnect_time_min = 50
        made.reconnect_time_max = 200
        for option in options:
            made.tls_config = _tls(*option.split("="))
        made.add_post_pipe_connect_cb(lambda pipe: emit("joined", pipe=pipe.id))
        made.add_post_pipe_remove_cb(lambda pipe: emit("left", pipe=pipe.id))
        self._socket = made
        self._is_poly = kind == "poly"

    def listen(self, url: str) -> str:
        listener = self._socket.listen(url)
        return url.replace(":0", f":{_port_of(listener)}") if ":0" in url else url

    def dial(self, url: str) -> None:
        self._socket.dial(url, block=False)

    def send(self, data: bytes, pipe: int | None) -> None:
        if pipe is None:
            self._socket.send(data)
            return
        (named,) = [each for each in self._socket.pipes if each.id == pipe]
        named.send(data)

    def receive(self, timeout: float) -> tuple[bytes, int]:
        self._socket.recv_timeout = int(timeout * 1000)
        message = self._socket.recv_msg()
        return message.bytes, message.pipe.id if message.pipe is not None else 0

    def close(self) -> None:
        self._socket.close()


def _tls(role: str, file: str) -> pynng.TLSConfig:
    if role == "serve":
        return pynng.TLSConfig(pynng.TLSConfig.MODE_SERVER, cert_key_file=file)
    return pynng.TLSConfig(
        pynng.TLSConfig.MODE_CLIENT,
        ca_files=[file],
        server_name="localhost",
        auth_mode=pynng.TLSConfig.AUTH_MODE_REQUIRED,
    )


def _port_of(listener: pynng.Listener) -> int:
    address = listener.local_address
    # In network byte order.
    return int.from_bytes(address.port.to_bytes(2, sys.byteorder), "big")


if __name__ == "__main__":
    run(PynngSocket(sys.argv[1], sys.argv[2:]))

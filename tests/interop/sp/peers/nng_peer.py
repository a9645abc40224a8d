"""The package `nng` from PyPI, a binding of nng 2.

nng_peer.py pair0|pair1
"""

from __future__ import annotations

import sys

import nng
from command_loop import emit, run

SEND_TIMEOUT_MS = 20_000


class NngSocket:
    """One socket; the package does not support polyamorous ones."""

    def __init__(self, kind: str) -> None:
        self._socket = nng.PairSocket(v0=kind == "pair0")
        self._socket.send_timeout = SEND_TIMEOUT_MS
        self._socket.on_new_pipe = self._on_new_pipe

    def _on_new_pipe(self, pipe: nng.Pipe) -> None:
        def on_status_change() -> None:
            emit("left", pipe=pipe.id)

        pipe.on_status_change = on_status_change
        # Called on a separate thread: the pipe may already be active or closed.
        emit("joined", pipe=pipe.id)
        if pipe.status == nng.PipeStatus.REMOVED:
            emit("left", pipe=pipe.id)

    def listen(self, url: str) -> str:
        listener = self._socket.add_listener(url)
        listener.start()
        return url.replace(":0", f":{listener.port}") if "://127.0.0.1:0" in url else url

    def dial(self, url: str) -> None:
        self._socket.add_dialer(url, reconnect_min_ms=50, reconnect_max_ms=200).start(block=False)

    def send(self, data: bytes, pipe: int | None) -> None:
        assert pipe is None
        self._socket.send(data)

    def receive(self, timeout: float) -> tuple[bytes, int]:
        self._socket.recv_timeout = int(timeout * 1000)
        message = self._socket.recv()
        return message.to_bytes(), message.pipe_id

    def close(self) -> None:
        self._socket.close()


if __name__ == "__main__":
    run(NngSocket(sys.argv[1]))

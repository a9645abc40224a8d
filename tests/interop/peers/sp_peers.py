"""Foreign SP PAIR programs, built if they are missing, and the test's interface to them.

Each reads commands and prints results as JSON, one object per line:

    {"do": "listen", "url": URL}                     listening: url, with the assigned port
    {"do": "dial", "url": URL}                       dialing; it keeps trying
    {"do": "send", "text": TEXT, "pipe": ID}         sent: count, checksum; or failed: error
    {"do": "send", "first": N, "count": N, "length": N}
                                                     the same, for messages of `body`
    {"do": "receive", "count": N, "timeout": S}      received: count, checksum, and the messages if they are few
    {"do": "close"}                                  closed

Events without a command: `ready` at start, and `joined` and `left` with the id of a pipe.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

from forked import start_program
from peer_programs import make_environment, make_go_program

ROOT = Path(__file__).parents[3]
PEERS = ROOT / "tests" / "interop" / "sp" / "peers"
KEPT = ROOT / ".venv-sp"
FROM_PYPI = ["nng==0.2.0", "pynng==0.9.0"]
DEADLINE_S = 60
#: A loopback address that only this process uses, for peers that do not report their port.
HOST = f"127.12.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
PORT = 5557
#: Each library with its transports; the package `nng` is built without TLS.
MEETINGS = [
    (library, transport)
    for library in ("pynng", "nng", "mangos")
    for transport in ("tcp", "ipc", "abstract", "tls", "ws", "wss")
    if library != "nng" or transport not in ("tls", "wss")
]


def make_python() -> Path:
    """Return a Python with the peers from PyPI."""
    return make_environment(KEPT / "python", FROM_PYPI)


def make_mangos() -> Path | None:
    """Return the program around mangos, None without Go."""
    return make_go_program(PEERS / "mangos", KEPT / "mangos")


class SpPeer:
    """A process that reads commands, and all its events."""

    def __init__(self, *command: object) -> None:
        self.process = start_program(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=1,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.events: list[dict[str, object]] = []
        self._unread: list[dict[str, object]] = []
        self._is_at_end = False
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            with self._grown:
                self.events.append(json.loads(line))
                self._unread.append(self.events[-1])
                self._grown.notify_all()
        with self._grown:
            self._is_at_end = True
            self._grown.notify_all()

    def command(self, do: str, **arguments: object) -> None:
        """Send a command without waiting."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self.process.stdin.flush()

    def await_event(self, *names: str, timeout: float = DEADLINE_S) -> dict[str, object]:
        """Wait for the next event with one of these names and return it."""
        deadline = time.monotonic() + timeout
        with self._grown:
            while True:
                for event in self._unread:
                    if event["event"] in names:
                        self._unread.remove(event)
                        return event
                left = deadline - time.monotonic()
                assert left > 0, f"no {' or '.join(names)} within {timeout} s, only {self.events}"
                assert not self._is_at_end, f"no {' or '.join(names)} before the end, only {self.events}"
                self._grown.wait(left)

    def listen(self, url: str) -> str:
        """Listen and return the address with the assigned port."""
        self.command("listen", url=url)
        return str(self.await_event("listening")["url"])

    def dial(self, url: str) -> None:
        """Start to dial."""
        self.command("dial", url=url)
        self.await_event("dialing")

    def send(self, text: str | None = None, **arguments: object) -> dict[str, object]:
        """Send and return the result: `sent` or `failed`."""
        self.command("send", **({} if text is None else {"text": text}), **arguments)
        return self.await_event("sent", "failed")

    def receive(self, count: int = 1, timeout: float = DEADLINE_S / 2) -> dict[str, object]:
        """Wait for that many messages and return `received`, with fewer after a timeout."""
        self.command("receive", count=count, timeout=timeout)
        return self.await_event("received", timeout=timeout + 10)

    def texts(self, count: int = 1, timeout: float = DEADLINE_S / 2) -> list[str]:
        """Wait for that many short messages and return them."""
        messages = self.receive(count, timeout)["messages"]
        assert isinstance(messages, list)
        return [message["text"] for message in messages]

    def stop(self) -> None:
        """Terminate the process, then kill it if it does not exit."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait()


def dialed(where: str, library: str) -> str:
    """Return the address at which a peer of a library dials the listener `where`."""
    if library == "mangos":
        # Go's notation of abstract addresses.
        return where.replace("abstract://", "ipc://@")
    # By name, because certificates are issued for names.
    return where.replace("127.0.0.1", "localhost") if where.startswith(("tls", "wss")) else where


def listening(their: SpPeer, library: str, where: str) -> str:
    """Make a peer of a library listen and return its address."""
    if library == "mangos" and where.startswith("ws"):
        where = of_this_process(where)
    if where.startswith("wss:"):
        # nng accepts only the host name that it listens by, and peers dial it by name.
        where = where.replace("127.0.0.1", "localhost")
    address = their.listen(dialed(where, "mangos") if library == "mangos" else where)
    return where if where.startswith("abstract") else address


def of_this_process(where: str) -> str:
    """Return an address with a port that is known in advance."""
    return where.replace("127.0.0.1:0", f"{HOST}:{PORT}")


def channel_keys(url: str) -> str:
    """Return the keys of a channel for an address of nng."""
    scheme, _, rest = url.partition("://")
    if scheme in ("ipc", "abstract"):
        return f"transport={scheme}|path={rest}"
    host, slash, path = rest.partition("/")
    transport = scheme.removesuffix("+tcp")
    return f"endpoint={host}|transport={transport}" + (f"|path={slash}{path}" if slash else "")

"""Programs of others that speak SP PAIR, made where they are missing, and how a test talks to them.

Each takes commands and tells what has come of them as JSON, one object a line:

    {"do": "listen", "url": URL}                     listening: url, with the port that it got
    {"do": "dial", "url": URL}                       dialing; it goes on trying
    {"do": "send", "text": TEXT, "pipe": ID}         sent: count, checksum; or failed: error
    {"do": "send", "first": N, "count": N, "length": N}
                                                     the same, for bodies as `body` makes them
    {"do": "receive", "count": N, "timeout": S}      received: count, checksum, the messages where they are few
    {"do": "close"}                                  closed

What it is not asked for, it tells too: `ready` at first, and `joined` and `left` with the id of a pipe.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

from peer_programs import make_environment, make_go_program

ROOT = Path(__file__).parents[3]
PEERS = ROOT / "tests" / "interop" / "sp" / "peers"
KEPT = ROOT / ".venv-sp"
FROM_PYPI = ["nng==0.2.0", "pynng==0.9.0"]
DEADLINE_S = 60
#: An address of this process alone, for those who do not tell which port they got: nothing else has ports there.
HOST = f"127.12.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
PORT = 5557
#: Each library with each transport that it has; the package `nng` is built without an engine for TLS.
MEETINGS = [
    (library, transport)
    for library in ("pynng", "nng", "mangos")
    for transport in ("tcp", "ipc", "abstract", "tls", "ws", "wss")
    if library != "nng" or transport not in ("tls", "wss")
]


def make_python() -> Path:
    """Return a Python that has the peers of PyPI."""
    return make_environment(KEPT / "python", FROM_PYPI)


def make_mangos() -> Path | None:
    """Return the program around mangos, None without Go."""
    return make_go_program(PEERS / "mangos", KEPT / "mangos")


class SpPeer:
    """A process that takes commands, with all that it has told."""

    def __init__(self, *command: object) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
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

    def tell(self, do: str, **arguments: object) -> None:
        """Give a command, and wait for nothing."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self.process.stdin.flush()

    def await_event(self, *names: str, timeout: float = DEADLINE_S) -> dict[str, object]:
        """Return the first event of one of these names that was not returned before, once it is there."""
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
        """Listen, and return the address with the port that was given."""
        self.tell("listen", url=url)
        return str(self.await_event("listening")["url"])

    def dial(self, url: str) -> None:
        """Begin to dial."""
        self.tell("dial", url=url)
        self.await_event("dialing")

    def send(self, text: str | None = None, **arguments: object) -> dict[str, object]:
        """Send, and return what came of it: `sent` or `failed`."""
        self.tell("send", **({} if text is None else {"text": text}), **arguments)
        return self.await_event("sent", "failed")

    def receive(self, count: int = 1, timeout: float = DEADLINE_S / 2) -> dict[str, object]:
        """Wait for so many messages, and return what came: `received`, with fewer where time ran out."""
        self.tell("receive", count=count, timeout=timeout)
        return self.await_event("received", timeout=timeout + 10)

    def texts(self, count: int = 1, timeout: float = DEADLINE_S / 2) -> list[str]:
        """Wait for so many short messages and return them as they are."""
        messages = self.receive(count, timeout)["messages"]
        assert isinstance(messages, list)
        return [message["text"] for message in messages]

    def stop(self) -> None:
        """End the process as an operator would, and then for certain."""
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
        """End the process without giving it a chance."""
        self.process.kill()
        self.process.wait()


def dialed(where: str, library: str) -> str:
    """Return where a peer of a library dials what listens at `where`."""
    if library == "mangos":
        # As Go writes abstract addresses.
        return where.replace("abstract://", "ipc://@")
    # By a name, for which certificates are good.
    return where.replace("127.0.0.1", "localhost") if where.startswith(("tls", "wss")) else where


def listening(their: SpPeer, library: str, where: str) -> str:
    """Have a peer of a library listen, and return where it does."""
    if library == "mangos" and where.startswith("ws"):
        where = of_this_process(where)
    if where.startswith("wss:"):
        # nng answers to that name alone by which it listens, and peers are to dial it by one.
        where = where.replace("127.0.0.1", "localhost")
    told = their.listen(dialed(where, "mangos") if library == "mangos" else where)
    return where if where.startswith("abstract") else told


def of_this_process(where: str) -> str:
    """Return an address whose port nobody has to tell."""
    return where.replace("127.0.0.1:0", f"{HOST}:{PORT}")


def channel_keys(url: str) -> str:
    """Return the keys of a channel for an address of nng."""
    scheme, _, rest = url.partition("://")
    if scheme in ("ipc", "abstract"):
        return f"transport={scheme}|path={rest}"
    host, slash, path = rest.partition("/")
    transport = scheme.removesuffix("+tcp")
    return f"endpoint={host}|transport={transport}" + (f"|path={slash}{path}" if slash else "")

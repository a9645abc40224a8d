"""Command loop of the peers in Python: commands in, events out (see `sp_peers.py`)."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

sys.path.insert(0, str(Path(__file__).parents[2] / "peers"))
from sp_messages import body, checksum

#: Maximum number of messages that an event lists, and maximum bytes of their text.
FEW, SHORT = 64, 64


class Library(Protocol):
    """One socket of a library."""

    def listen(self, url: str) -> str: ...

    def dial(self, url: str) -> None: ...

    def send(self, data: bytes, pipe: int | None) -> None: ...

    def receive(self, timeout: float) -> tuple[bytes, int]:
        """Return a message and the id of its pipe; raise TimeoutError."""
        ...

    def close(self) -> None: ...


_output_lock = threading.Lock()


def emit(event: str, **facts: object) -> None:
    """Print an event atomically from any thread."""
    with _output_lock:
        sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
        sys.stdout.flush()


def run(library: Library) -> None:
    """Execute commands until the end of input."""
    receives: queue.Queue[dict[str, object]] = queue.Queue()
    threading.Thread(target=_receive_all, args=(library, receives), daemon=True).start()
    actions: dict[str, Callable[[dict[str, object]], None]] = {
        "listen": lambda command: emit("listening", url=library.listen(str(command["url"]))),
        "dial": lambda command: (library.dial(str(command["url"])), emit("dialing"))[-1],
        "send": lambda command: _send(library, command),
        "receive": receives.put,
        "close": lambda command: (library.close(), emit("closed"))[-1],
    }
    emit("ready")
    for line in sys.stdin:
        command = json.loads(line)
        try:
            actions[command["do"]](command)
        except Exception as error:
            emit("failed", error=f"{type(error).__name__}: {error}")


def _send(library: Library, command: dict[str, object]) -> None:
    pipe = command.get("pipe")
    if "text" in command:
        bodies = [str(command["text"]).encode("latin-1")]
    else:
        first, count, length = (int(command.get(key, 0)) for key in ("first", "count", "length"))
        bodies = [body(index, length) for index in range(first, first + count)]
    for each in bodies:
        library.send(each, pipe)
    emit("sent", count=len(bodies), checksum=checksum(bodies))


def _receive_all(library: Library, commands: queue.Queue[dict[str, object]]) -> None:
    while True:
        command = commands.get()
        came: list[tuple[bytes, int]] = []
        why = ""
        try:
            while len(came) < int(command["count"]):
                came.append(library.receive(float(command["timeout"])))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        messages = [
            {"length": len(data), "text": data.decode("latin-1") if len(data) <= SHORT else "", "pipe": pipe}
            for data, pipe in came[:FEW]
        ]
        digest = checksum(data for data, _ in came)
        emit("received", count=len(came), checksum=digest, messages=messages, error=why)

"""Start of the second process of a benchmark, and requests to it."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from aeron_core.errors import ClientError

#: Time to end after stdin was closed, in seconds. Invented: a driver closes within milliseconds.
_END_TIMEOUT_S: Final = 10.0


class PeerProcess:
    """A process that answers the requests of `aeron_core.cli.bench.peer`; ends with the `with` block."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "aeron_core.cli.bench.peer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, do: str, **request: object) -> dict[str, Any]:
        """Send a request, wait for the answer and return it; raise ClientError if the process reports a failure."""
        self.send(do, **request)
        return self.answer()

    def send(self, do: str, **request: object) -> None:
        """Send a request; `answer` returns what the process answers."""
        assert self._process.stdin is not None
        line = json.dumps({"do": do, **request}, default=str)
        # If the process has ended, `answer` reports it.
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def answer(self, while_waiting: Callable[[], object] | None = None) -> dict[str, Any]:
        """Return the next answer, with calls of `while_waiting` each millisecond until it arrives."""
        assert self._process.stdout is not None
        while while_waiting is not None and not select.select([self._process.stdout], [], [], 0.001)[0]:
            while_waiting()
        line = self._process.stdout.readline()
        if not line:
            raise ClientError(
                f"the second process of the benchmark ended with code {self._process.wait()}: run it again"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ClientError(f"the second process of the benchmark failed: {answer['error']}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        if kind is not None:
            # It may be waiting for messages.
            self._process.terminate()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

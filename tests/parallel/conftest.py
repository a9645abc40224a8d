"""Threads that run compiled agents in parallel, and stop together."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aeron_core._native.buffer import AtomicBuffer


@pytest.fixture(scope="session")
def agents(compile_module: Callable[[Path], ModuleType]) -> ModuleType:
    """Return `agents.pyx`, compiled like a module of another distribution."""
    return compile_module(Path(__file__).with_name("agents.pyx"))


class Threads:
    """Threads with one loop each, which end when the first of them fails."""

    def __init__(self, *states: AtomicBuffer) -> None:
        self._states = states
        self._errors: list[BaseException] = []
        self._running: list[threading.Thread] = []
        self.results: dict[str, Any] = {}

    def start(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a thread; its result is `results[name]`."""

        def run() -> None:
            try:
                self.results[name] = function(*arguments)
            except BaseException as error:
                self._errors.append(error)
                self.stop()

        self._running.append(threading.Thread(target=run, name=name))
        self._running[-1].start()

    def stop(self) -> None:
        """Stop the loops of all threads."""
        for state in self._states:
            state.put_i64_release(0, 1)

    def join(self, *names: str) -> None:
        """Wait for threads, by default all; raise the first error of any thread."""
        for thread in self._running:
            if not names or thread.name in names:
                thread.join()
        if self._errors:
            for thread in self._running:
                thread.join()
            raise self._errors[0]

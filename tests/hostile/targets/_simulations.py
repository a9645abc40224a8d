"""Simulations that several inputs share: the start of a driver takes longer than all of an input."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from aeron_core.testing.pair import SimulatedDriver, Simulation

SHARED_MEMORY = Path("/dev/shm")
#: Inputs until a simulation is replaced: static counters and other resources that last are used up by then.
INPUTS = 200
#: The name of an exception, with which an error begins if it is neither of aeron-core nor of the operating system.
UNEXPECTED = re.compile(
    r"[:)] (Assertion|Attribute|Index|Key|Overflow|Recursion|Runtime|Type|Unicode\w*|Value)Error: "
)
#: Part of the error log that texts of peers may take.
ERRORS_PART = 4


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Make a folder in TMPDIR if it is set, else in memory; the files of a driver are too large for a disk."""
    parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() and "TMPDIR" not in os.environ else None
    with tempfile.TemporaryDirectory(
        prefix="aeron-hostile-", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


S = TypeVar("S", bound=Simulation)
_at_close: list[Callable[[], None]] = []


def check_errors(driver: SimulatedDriver) -> None:
    """Assert that the error log has space left, and that no text of it is of an exception that nothing handles."""
    texts = [error.text for error in driver.errors()]
    assert sum(map(len, texts)) <= driver.cnc.error_log.capacity // ERRORS_PART
    assert [text for text in texts if UNEXPECTED.search(text)] == []


class Shared(Generic[S]):
    """A simulation that `make` starts in an empty folder; replaced after some inputs, and after one that failed."""

    def __init__(self, make: Callable[[Path], S]) -> None:
        self._make = make
        self._resources = ExitStack()
        self._simulation: S | None = None
        self._used = 0
        self._counter_ids: dict[str, list[int]] = {}
        at_close(self.close)

    @contextmanager
    def use(self) -> Iterator[S]:
        if self._used >= INPUTS:
            self.close()
        if self._simulation is None:
            folder = self._resources.enter_context(folder_in_memory())
            with contextlib.redirect_stdout(io.StringIO()):
                self._simulation = self._resources.enter_context(self._make(folder))
            self._used = 0
        self._used += 1
        try:
            yield self._simulation
            for driver in self._simulation.drivers:
                check_errors(driver)
                assert driver.client_errors == [], driver.client_errors
        except BaseException:
            self.close()
            raise

    def counted(self, prefix: str) -> int:
        """Return the largest value of the counters of the first driver whose labels start with `prefix`.

        They must exist until the driver closes.
        """
        assert self._simulation is not None
        driver = self._simulation.drivers[0]
        if prefix not in self._counter_ids:
            self._counter_ids[prefix] = [record.id for record in driver.find_counters(prefix)]
        return max(map(driver.counters.value, self._counter_ids[prefix]))

    def close(self) -> None:
        self._simulation, self._used = None, 0
        self._counter_ids.clear()
        self._resources.close()


def at_close(close: Callable[[], None]) -> None:
    """Call `close` in each `close_all`."""
    _at_close.append(close)


def close_all() -> None:
    """Close what the targets keep between inputs; they make it again when they need it."""
    for close in _at_close:
        close()

"""A media driver in a process of its own: settings, signals, and the lines that it prints.

Not here: options of the command line (driver). Imports no typer, so that a driver without options starts early.
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final, Self

from aeron_core.cli.importing import kill_by_interrupt
from aeron_core.cli.outcome import is_tty, is_writable, print_stderr
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.driver.startup_settings import problem_of_profile
from aeron_core.frozen import frozen
from aeron_core.registry import Registry
from aeron_core.settings import ThreadingMode
from aeron_core.settings.driver import DriverFields
from aeron_core.settings.loader import is_section_set, load_driver_fields, load_section

if TYPE_CHECKING:
    from aeron_core.settings.model import SettingsModel

#: Pause between two duty cycles without work in INVOKER mode. Invented: the longest park of `backoff`.
_IDLE_S: Final = 0.001


@frozen(slots=True)
class MonitoringOptions:
    """How metrics are served and exported: address HOST:PORT, file with a token, URL of a collector."""

    metrics: str | None = None
    token_file: Path | None = None
    is_open: bool = False
    otlp: str | None = None


@frozen(slots=True)
class DriverArguments:
    """Arguments of `aeron-core driver`."""

    files: Sequence[Path] = ()
    defines: Sequence[str] = ()
    aeron_dir: Path | None = None
    monitoring: MonitoringOptions = MonitoringOptions()


@kill_by_interrupt()
def run_driver(arguments: DriverArguments) -> int:
    """Run a driver until a signal or a client stops it; return 0, or the number of the signal.

    Call on the main thread. A signal before the driver is created kills the process. Raises PluginError for a broken
    plugin, ConfigurationError for wrong settings, StorageError if the address of the metrics cannot be bound, and the
    errors of the driver's start.
    """
    registry = Registry.load()
    defines, paths, names = arguments.defines, arguments.files, registry.section_names()
    loaded = load_driver_fields(
        arguments={"aeron_dir": arguments.aeron_dir}, defines=defines, files=paths, sections=names
    )
    sections = {
        name: load_section(name, registry.section_model(name), defines=defines, files=paths)
        for name in names
        if is_section_set(name, defines=defines, files=paths)
    }
    for warning in (*loaded.printed, *(text for section in sections.values() for text in section.printed)):
        print_stderr(f"warning: {warning}")
    for profile in loaded.settings.security_profiles:
        if problem := problem_of_profile(registry, profile):
            print_stderr(f"warning: security profile {profile.name!r}: {problem}: its channels are refused")
    if loaded.settings.print_configuration:
        from aeron_core.cli.driver.configuration import lines_of  # noqa: PLC0415 - lazy: only this setting needs it

        # As with aeronmd, a full disk or a closed pipe does not prevent the start.
        with suppress(OSError):
            print(*lines_of(loaded.settings), sep="\n", flush=True)
    program = _Program(
        loaded.settings, registry, {name: section.settings for name, section in sections.items()}
    )
    with EndBySignal() as end:
        if loaded.settings.threading_mode is ThreadingMode.INVOKER:
            _run_here(program, end, arguments)
        else:
            _run_threads(program, end, arguments)
    return end.signal


class EndBySignal:
    """Context manager in which SIGINT and SIGTERM shut the driver down in order, even while it is starting.

    Enter it on the main thread, before the driver is created.
    """

    def __init__(self) -> None:
        self.signal = 0  # number of the last signal, 0 for none
        self._running: MediaDriver | None = None
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def of(self, running: MediaDriver) -> None:
        """Set the driver that a signal shuts down; shut it down now if a signal has already arrived."""
        # The order matters: a signal between the two statements must find the driver.
        self._running = running
        if self.signal:
            running.terminate()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number
        if self._running is not None:
            self._running.terminate()

    def __enter__(self) -> Self:
        for number in self._before:
            signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


@frozen(slots=True)
class _Program:
    """Arguments of `MediaDriver`: its settings, its plugins, and the settings of plugins by section."""

    settings: DriverFields
    registry: Registry
    sections: Mapping[str, SettingsModel]


def _run_threads(program: _Program, end: EndBySignal, arguments: DriverArguments) -> None:
    with (
        _monitored(arguments) as set_driver,
        MediaDriver.launch(program.settings, registry=program.registry, sections=program.sections) as running,
    ):
        set_driver(running)
        end.of(running)
        _collect_garbage_again()
        _announce(running)
        running.await_termination()
        _announce_end()


def _run_here(program: _Program, end: EndBySignal, arguments: DriverArguments) -> None:
    with (
        _monitored(arguments) as set_driver,
        MediaDriver(
            program.settings, invoker=True, registry=program.registry, sections=program.sections
        ) as running,
    ):
        set_driver(running)
        end.of(running)
        _collect_garbage_again()
        _announce(running)
        while not running.await_termination(0):
            if running.do_work() == 0:
                time.sleep(_IDLE_S)
        _announce_end()


@contextmanager
def _monitored(arguments: DriverArguments) -> Iterator[Callable[[MediaDriver], None]]:
    """Serve and export metrics as the arguments say; yield a function that sets the driver to read them from."""
    if arguments.monitoring == MonitoringOptions():
        yield lambda _: None
        return
    from aeron_core.cli.driver.monitoring import monitored  # noqa: PLC0415 - lazy: only these arguments need it

    with monitored(arguments.monitoring) as set_driver:
        yield set_driver


def _collect_garbage_again() -> None:
    """Enable the collector if the command line has disabled it for the start; leave out what the start created."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _announce(running: MediaDriver) -> None:
    # aeronmd prints nothing here, and supervisors take any output on stderr for an error: print at a terminal only.
    if is_tty(sys.stderr):
        print(f"aeron-core driver serves {running.aeron_dir}", file=sys.stderr, flush=True)


def _announce_end() -> None:
    # aeronmd prints this line too, and scripts wait for it. A closed or full pipe must not disturb the shutdown.
    with suppress(OSError):
        if is_writable(sys.stdout):
            print("Shutting down driver...", flush=True)

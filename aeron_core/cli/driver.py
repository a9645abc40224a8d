"""`aeron-core driver`: a media driver alone in its process, that stands in for `aeronmd`."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType
from typing import Annotated, Final

import typer

from aeron_core.cli.options import Defines, SettingsFiles
from aeron_core.cli.outcome import EXIT_OK, ended, say
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.settings import DriverSettings, LoadedSettings, ThreadingMode, load_driver_settings
from aeron_core.version import SOFTWARE_VERSION

#: Between two duty cycles without work in INVOKER mode. An invented number: as the longest park of `backoff`.
_IDLE_S: Final = 0.001


def driver(
    files: SettingsFiles = None,
    define: Defines = None,
    version: Annotated[bool, typer.Option("-v", help="Show the version and end.")] = False,
) -> None:
    """Run a media driver until SIGINT, SIGTERM, or a client's request where the settings allow it.

    Settings come from AERON_... environment variables, -Dname=value and files, as those of aeronmd do.
    """
    if version:
        print(f"aeron-core driver {SOFTWARE_VERSION}")
        raise ended(EXIT_OK)
    loaded = load_driver_settings(defines=define or [], files=files or [])
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    if loaded.settings.print_configuration:
        _print_configuration(loaded)
    if loaded.settings.threading_mode is ThreadingMode.INVOKER:
        _run_here(loaded.settings)
    else:
        _run_threads(loaded.settings)


def _run_threads(settings: DriverSettings) -> None:
    with MediaDriver.launch(settings) as running:
        _end_on_signals(running)
        _announce(running)
        running.await_termination()


def _run_here(settings: DriverSettings) -> None:
    with MediaDriver(settings, invoker=True) as running:
        _end_on_signals(running)
        _announce(running)
        while not running.await_termination(0):
            if running.do_work() == 0:
                time.sleep(_IDLE_S)


def _end_on_signals(running: MediaDriver) -> None:
    def end(_number: int, _frame: FrameType | None) -> None:
        running.terminate()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)


def _announce(running: MediaDriver) -> None:
    # At once: who starts a driver waits for this line, often through a pipe.
    print(f"aeron-core driver serves {running.aeron_dir}", flush=True)


def _print_configuration(loaded: LoadedSettings[DriverSettings]) -> None:
    for name in DriverSettings.model_fields:
        print(f"{name}={loaded.settings.formatted(name)}  # {loaded.sources[name]}")
    sys.stdout.flush()

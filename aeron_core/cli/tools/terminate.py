"""`aeron-core terminate`: asks a driver to shut down."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.options import AeronDir, command_line, directory_of, positive
from aeron_core.cli.outcome import failed, print_stderr
from aeron_core.cli.quantities import wait_s
from aeron_core.client.conductor.driver_proxy import DriverProxy
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import CncNotReadyError, ConfigurationError
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.protocol import commands
from aeron_core.protocol.cnc import CNC_FILE, CncFile

_CHECK_INTERVAL_S: Final = 0.02


def terminate(
    aeron_dir: AeronDir = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            help="Token for the driver's termination validator; visible to other users in the process list.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="File with the token; a line end after it is ignored.",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(metavar="DURATION", parser=wait_s, help="Time to wait until the driver has shut down."),
    ] = 10.0,
) -> None:
    """Ask a driver to shut down, and wait until it has.

    A driver refuses unless AERON_DRIVER_TERMINATION_VALIDATOR allows the request.
    """
    positive("--timeout", timeout)
    secret = _token(token, token_file)
    directory = directory_of(aeron_dir)
    files = DriverFiles.open(directory)
    if not files.is_alive:
        raise failed(
            f"the media driver of {directory} is already dead; delete its files with {command_line('clean', aeron_dir)}"
        )
    pid = files.cnc.pid
    ring = ManyToOneRingBuffer(CncFile.open(directory / CNC_FILE).to_driver)
    driver = DriverProxy(ring, directory)
    driver.send(commands.TerminateDriver, secret)
    deadline_s = time.monotonic() + timeout
    while not _has_ended(directory, pid):
        if time.monotonic() >= deadline_s:
            raise failed(
                f"the media driver of {directory}, pid {pid}, has not shut down within {timeout:g} s: start the "
                "driver with AERON_DRIVER_TERMINATION_VALIDATOR=allow, raise --timeout, or send SIGTERM"
            )
        time.sleep(_CHECK_INTERVAL_S)
    print_stderr(f"the media driver of {directory}, pid {pid}, has shut down")


def _token(token: str | None, file: Path | None) -> bytes:
    if file is None:
        return (token or "").encode()
    if token is not None:
        raise ConfigurationError("--token and --token-file: only one of them is allowed")
    return file.read_bytes().removesuffix(b"\n").removesuffix(b"\r")


def _has_ended(directory: Path, pid: int) -> bool:
    try:
        files = DriverFiles.open(directory)
    except CncNotReadyError:
        return True
    return files.cnc.pid != pid or files.heartbeat_age_ms is None

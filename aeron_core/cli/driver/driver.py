"""`aeron-core driver`: a media driver in a process of its own, a drop-in replacement for `aeronmd`."""

from __future__ import annotations

from typing import Annotated

import typer

from aeron_core.cli.driver.process import DriverArguments, MonitoringOptions, run_driver
from aeron_core.cli.options import AeronDir, Defines, MetricsOpen, MetricsTokenFile, Otlp, SettingsFiles
from aeron_core.cli.outcome import EXIT_OK, ended
from aeron_core.version import COMMIT, SOFTWARE_VERSION, VERSION


def driver(  # noqa: PLR0913 - the options of the command
    files: SettingsFiles = None,
    define: Defines = None,
    aeron_dir: AeronDir = None,
    version: Annotated[bool, typer.Option("-v", help="Show the version and exit.")] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve the counters to Prometheus at this address, path /metrics."
        ),
    ] = None,
    metrics_token_file: MetricsTokenFile = None,
    metrics_open: MetricsOpen = False,
    otlp: Otlp = None,
) -> None:
    """Run a media driver until a signal or a client stops it.

    Settings come from AERON_... environment variables, -Dname=value and files, as with aeronmd. SIGINT and SIGTERM shut
    the driver down in order, and the exit code is the number of the signal, as with aeronmd. SIGHUP ends it at once and
    leaves its directory behind, as with aeronmd: use nohup or setsid if the terminal may be closed. A client's request
    stops the driver if the settings allow it. Settings that are clamped or have no effect are accepted silently:
    `aeron-core settings show` reports them.
    """
    if version:
        major, minor, patch = VERSION.split(".")
        # The format is that of `aeronmd -v`.
        print(
            f"aeron-core driver <aeron {SOFTWARE_VERSION}> major {major} minor {minor} patch {patch} git {COMMIT}"
        )
        raise ended(EXIT_OK)
    monitoring = MonitoringOptions(metrics, metrics_token_file, metrics_open, otlp)
    code = run_driver(DriverArguments(files or (), define or (), aeron_dir, monitoring))
    if code:
        raise ended(code)

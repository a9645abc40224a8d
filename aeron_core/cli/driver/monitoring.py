"""Metrics of a driver in a process of its own, while it runs: served to Prometheus, and exported to OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from aeron_core.cli.outcome import print_stderr
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.metrics.access import checked_access
from aeron_core.metrics.samples import Sample, driver_samples
from aeron_core.observation.driver_files import DriverFiles

if TYPE_CHECKING:
    from aeron_core.cli.driver.process import MonitoringOptions


@contextmanager
def monitored(options: MonitoringOptions) -> Iterator[Callable[[MediaDriver], None]]:
    """Serve metrics at the address `options.metrics`, HOST:PORT, and export them to the URL `options.otlp`.

    Enter it before the driver starts, so that an address in use fails first; yield a function that sets the driver to
    read from, and prints where its metrics are. Raises ConfigurationError for a wrong address or URL, for one that
    other hosts reach without a token, and if the extra `otel` is not installed; StorageError for an address that cannot
    be bound.
    """
    files: list[DriverFiles] = []
    places: list[str] = []

    def samples() -> Iterable[Sample]:
        return driver_samples(files[0]) if files else ()

    def set_driver(running: MediaDriver) -> None:
        files.append(DriverFiles.open(running.aeron_dir))
        for place in places:
            print_stderr(place)

    with ExitStack() as stack:
        access = checked_access(options.metrics, options.token_file, is_open=options.is_open)
        if access is not None:
            from aeron_core.metrics.prometheus import registry_of  # noqa: PLC0415 - lazy: only --metrics needs it
            from aeron_core.metrics.server import MetricsServer  # noqa: PLC0415 - lazy: only --metrics needs it

            server = stack.enter_context(MetricsServer(access, registry_of(samples)))
            places.append(f"metrics at {server.url}")
        if options.otlp is not None:
            from aeron_core.metrics.export import export_to  # noqa: PLC0415 - lazy: only --otlp needs it

            stack.callback(export_to(options.otlp, samples).close)
        yield set_driver

"""Metrics of a recorder: the space for its archive, and the positions of its recordings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.records.recorded_streams import RecordedStreams
from aeron_core.metrics.access import MetricsAccess
from aeron_core.metrics.samples import Metric, Sample

_FREE: Final = Metric(
    "archive_free_bytes",
    "Free space in the file system of the archive, or of its spool.",
    grows=False,
    labels=("archive",),
    unit="By",
)
_SIZE: Final = Metric(
    "archive_size_bytes",
    "Size of the file system of the archive, or of its spool.",
    grows=False,
    labels=("archive",),
    unit="By",
)
_POSITION: Final = Metric(
    "recorded_position_bytes",
    "Position up to which a stream is recorded.",
    grows=True,
    labels=("archive", "recording_id", "channel", "stream_id", "session_id"),
    unit="By",
)
METRICS: Final = (_FREE, _SIZE, _POSITION)


def recorder_samples(folder: Path, streams: RecordedStreams) -> Iterator[Sample]:
    """Yield the samples of a recorder into `folder`, on any thread; those of the space only if it can be read."""
    archive = str(folder)
    try:
        space = os.statvfs(folder)
    except OSError:
        pass
    else:
        yield Sample(_FREE, (archive,), space.f_bavail * space.f_frsize)
        yield Sample(_SIZE, (archive,), space.f_blocks * space.f_frsize)
    for descriptor, position in streams.positions():
        ids = (descriptor.recording_id, descriptor.channel, descriptor.stream_id, descriptor.session_id)
        yield Sample(_POSITION, (archive, *map(str, ids)), position)


@contextmanager
def monitored(
    access: MetricsAccess | None, otlp: str | None, folder: Path, streams: RecordedStreams
) -> Iterator[None]:
    """Within the context, serve the samples and print the URL, and export them to the collector `otlp`.

    `access`: the address, and the token that requests must have; None: serve nothing. Raises StorageError for an
    address that cannot be bound, and the errors of `export_to`.
    """

    def samples() -> Iterable[Sample]:
        return recorder_samples(folder, streams)

    with ExitStack() as stack:
        if access is not None:
            from aeron_core.metrics.prometheus import registry_of  # noqa: PLC0415 - lazy: only --metrics needs it
            from aeron_core.metrics.server import MetricsServer  # noqa: PLC0415 - lazy: only --metrics needs it

            server = stack.enter_context(MetricsServer(access, registry_of(samples)))
            print_stderr(f"metrics at {server.url}")
        if otlp is not None:
            from aeron_core.metrics.export import export_to  # noqa: PLC0415 - lazy: only --otlp needs it

            stack.callback(export_to(otlp, samples, METRICS).close)
        yield

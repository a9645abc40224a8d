"""`aeron-core record`: records streams into an archive."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import (
    AeronDir,
    Channel,
    Json,
    MetricsOpen,
    MetricsTokenFile,
    Otlp,
    directory_of,
    int32,
    positive,
    print_json,
)
from aeron_core.cli.outcome import failed, print_stderr
from aeron_core.cli.quantities import age_ns_of, duration_ns_of, size_of, wait_s
from aeron_core.cli.records.access import DirGroup, DirMode, access_of
from aeron_core.cli.records.recorded_streams import RecordedStreams
from aeron_core.cli.records.recording_run import RecordingRun, WantedStreams
from aeron_core.errors import ConfigurationError
from aeron_core.recording.retention.retention import RetentionPolicy
from aeron_core.recording.storage.descriptor import MAX_SEGMENT_LENGTH, MIN_SEGMENT_LENGTH
from aeron_core.recording.target import recording_target
from aeron_core.recording.writing.durability import DEFAULT_INTERVAL_NS, Durability, DurabilityPolicy
from aeron_core.recording.writing.recorder import RecorderParams
from aeron_core.uri.values import format_duration_ns

if TYPE_CHECKING:
    from aeron_core.metrics.access import MetricsAccess

_DEFAULT_INTERVAL: Final = format_duration_ns(DEFAULT_INTERVAL_NS)

StreamIds = Annotated[
    list[int], typer.Argument(metavar="STREAM_ID", parser=int32, help="Stream ids within the channel.")
]
To = Annotated[
    str,
    typer.Option(
        metavar="ARCHIVE", help="Archive: a directory, or with --spool a URI; created if it does not exist."
    ),
]
Spool = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Directory to record into first; finished segments are moved from it to --to."
    ),
]
DurabilityOption = Annotated[
    DurabilityPolicy,
    typer.Option(
        metavar="POLICY",
        help="When written data counts as recorded: block (each block is on disk), interval (everything is on disk "
        "after an interval) or never (at once).",
    ),
]
SyncInterval = Annotated[str, typer.Option(metavar="DURATION", help="Interval of --durability interval.")]
SegmentLength = Annotated[
    str,
    typer.Option(
        metavar="BYTES",
        help="Length of a segment file: a power of two from 64k to 1g, raised to the term length of the stream.",
    ),
]
RetainBytes = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="Delete the oldest segments beyond this size; default: never."),
]
RetainAge = Annotated[
    str | None,
    typer.Option(metavar="AGE", help="Delete segments older than this, such as 12h or 7d; default: never."),
]
NoVerify = Annotated[
    bool,
    typer.Option(
        "--no-verify",
        help="With --spool, move segments to the archive without a comparison with their checksums.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="DURATION", parser=wait_s, help="Exit after this time without a message; default: never."
    ),
]
Release = Annotated[
    bool,
    typer.Option("--release", help="Also close the subscriptions, so that no other recorder can take over."),
]
EndWithDriver = Annotated[
    bool,
    typer.Option(
        "--end-with-driver", help="Fail when the driver shuts down, instead of waiting for the next one."
    ),
]

Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Serve the space for the archive and the positions of recordings to Prometheus at this address, path "
        "/metrics.",
    ),
]


def record(  # noqa: PLR0913 - the options of the command
    channel: Channel,
    stream_ids: StreamIds,
    to: To,
    spool: Spool = None,
    durability: DurabilityOption = DurabilityPolicy.INTERVAL,
    interval: SyncInterval = _DEFAULT_INTERVAL,
    segment_length: SegmentLength = "128m",
    retain_bytes: RetainBytes = None,
    retain_age: RetainAge = None,
    no_verify: NoVerify = False,
    dir_mode: DirMode = None,
    dir_group: DirGroup = None,
    timeout: Timeout = None,
    release: Release = False,
    ends_with_driver: EndWithDriver = False,
    metrics: Metrics = None,
    metrics_token_file: MetricsTokenFile = None,
    metrics_open: MetricsOpen = False,
    otlp: Otlp = None,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Record streams of a channel into an archive.

    Each publication becomes a recording. Runs until a signal or --timeout. Streams that are still active stay open: the
    next recorder continues their recordings, without a gap if it starts within the driver's client liveness timeout.
    When the driver shuts down, everything that it delivered is recorded, and the command continues with the next driver
    in the directory. Segments beyond --retain-bytes or --retain-age are deleted, oldest first, unless the lease of a
    consumer needs them. Fails if --timeout expires before the first message.
    """
    positive("--timeout", timeout)
    access = access_of(dir_mode, dir_group)
    metrics_access = _metrics_access_of(metrics, metrics_token_file, is_open=metrics_open)
    streams = RecordedStreams()
    synced = Durability(durability, duration_ns_of("--interval", interval))
    params = _params_of(streams, segment_length, synced)
    retention = _retention_of(retain_bytes, retain_age)
    with Interrupt() as interrupt, ExitStack() as stack:
        target = stack.enter_context(
            recording_target(to, spool, retention, params, verify=not no_verify, access=access)
        )
        # None only for an archive that is not on this machine, which `recording_target` refuses.
        folder = target.archive.store.local_path("") or Path(to)
        if metrics_access is not None or otlp is not None:
            stack.enter_context(_monitored(metrics_access, otlp, folder, streams))
        wanted = WantedStreams(directory_of(aeron_dir), channel, list(dict.fromkeys(stream_ids)))
        run = RecordingRun(wanted, target, streams, interrupt, timeout)
        with streams:
            in_time = run.run(releases=release, ends_with_driver=ends_with_driver)
        documents = streams.documents(to)
    if json:
        print_json(documents)
    else:
        print_stderr(streams.sentence())
    if not in_time and run.recorded_length == 0:
        raise failed(
            f"no message received from {channel} for {timeout:g} s: check the channel and the stream ids, and that "
            "their publisher runs, or raise --timeout"
        )


def _params_of(streams: RecordedStreams, segment_length: str, durability: Durability) -> RecorderParams:
    return RecorderParams(
        on_error=lambda error: print_stderr(f"error: {error}"),
        on_notice=lambda text: print_stderr(f"notice: {text}"),
        on_recording=streams.add,
        segment_length=_segment_length_of(segment_length),
        durability=durability,
    )


def _retention_of(max_bytes: str | None, max_age: str | None) -> RetentionPolicy:
    return RetentionPolicy(
        max_bytes=None if max_bytes is None else size_of("--retain-bytes", max_bytes),
        max_age_ns=None if max_age is None else age_ns_of("--retain-age", max_age),
    )


def _monitored(
    access: MetricsAccess | None, otlp: str | None, folder: Path, streams: RecordedStreams
) -> AbstractContextManager[None]:
    from aeron_core.cli.records.recorder_metrics import monitored  # noqa: PLC0415 - lazy: only --metrics and --otlp

    return monitored(access, otlp, folder, streams)


def _metrics_access_of(
    metrics: str | None, token_file: Path | None, *, is_open: bool
) -> MetricsAccess | None:
    from aeron_core.metrics.access import checked_access  # noqa: PLC0415 - lazy: only --metrics needs it

    if metrics is None and token_file is None and not is_open:
        return None
    return checked_access(metrics, token_file, is_open=is_open)


def _segment_length_of(text: str) -> int:
    length = size_of("--segment-length", text)
    if length & (length - 1) or not MIN_SEGMENT_LENGTH <= length <= MAX_SEGMENT_LENGTH:
        raise ConfigurationError(f"--segment-length={text}: must be a power of two from 64k to 1g")
    return length

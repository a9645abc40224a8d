"""`aeron-core record`: streams into an archive of recordings."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import AeronDir, Channel, Json, directory_of, positive, print_json
from aeron_core.cli.outcome import failed, say
from aeron_core.cli.quantities import duration_ns_of, size_of
from aeron_core.cli.records.recorded_streams import RecordedStreams
from aeron_core.cli.records.recording_run import RecordingRun, WantedStreams
from aeron_core.recording.durability import DEFAULT_INTERVAL_NS, Durability, DurabilityPolicy
from aeron_core.recording.place import recording_place
from aeron_core.recording.recorder import RecorderParams
from aeron_core.recording.retention import RetentionPolicy
from aeron_core.uri.values import format_duration_ns


def record(  # noqa: PLR0913 - the options of the command
    channel: Channel,
    stream_ids: Annotated[list[int], typer.Argument(metavar="STREAM_ID...", help="Streams of the channel.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="DIR|URI",
            help="Archive to record into, a folder or with --spool a URI; made if it is not there.",
        ),
    ],
    spool: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Folder to record into first: finished segments move from there to --to."
        ),
    ] = None,
    durability: Annotated[
        DurabilityPolicy,
        typer.Option(
            help="When what was written counts as recorded: with every block that is on the disk, with all that "
            "is there after an interval, or at once, before the disk has it."
        ),
    ] = DurabilityPolicy.INTERVAL,
    interval: Annotated[
        str, typer.Option(metavar="TIME", help="Of --durability interval.")
    ] = format_duration_ns(DEFAULT_INTERVAL_NS),
    segment_length: Annotated[
        str, typer.Option(metavar="BYTES", help="Length of a segment file: a power of two of terms.")
    ] = "128m",
    retain_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES", help="Keep the archive to that, by whole segments; for ever where unset."
        ),
    ] = None,
    retain_age: Annotated[
        str | None, typer.Option(metavar="TIME", help="Keep segments so long, such as 12h or 7d.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds without a message after which to end; never where unset.")
    ] = None,
    release: Annotated[
        bool,
        typer.Option("--release", help="End the subscriptions too: no other recorder is to take over."),
    ] = False,
    ends_with_driver: Annotated[
        bool,
        typer.Option(
            "--end-with-driver", help="Fail when the driver is gone, instead of waiting for the next one."
        ),
    ] = False,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Record streams of a channel, each publication as a recording, until a signal or --timeout.

    Streams that go on are left as they are: the next recorder continues their recordings, with nothing lost if it
    starts within the driver's client liveness timeout. Where the driver is gone, what it had delivered is recorded,
    and the streams of the next driver in its directory are recorded on. Of what is beyond --retain-bytes or
    --retain-age, the oldest segments are deleted, but none that the lease of a consumer needs. Fails where
    --timeout ends it before the first message.
    """
    positive("--timeout", timeout)
    streams = RecordedStreams()
    params = RecorderParams(
        on_error=lambda error: say(f"error: {error}"),
        on_recording=streams.add,
        segment_length=size_of("--segment-length", segment_length),
        durability=Durability(durability, duration_ns_of("--interval", interval)),
    )
    retention = RetentionPolicy(
        max_bytes=None if retain_bytes is None else size_of("--retain-bytes", retain_bytes),
        max_age_ns=None if retain_age is None else duration_ns_of("--retain-age", retain_age),
    )
    with Interrupt() as interrupt, ExitStack() as stack:
        place = stack.enter_context(recording_place(to, spool, retention, params))
        wanted = WantedStreams(directory_of(aeron_dir), channel, list(dict.fromkeys(stream_ids)))
        run = RecordingRun(wanted, place, streams, interrupt, timeout)
        with streams:
            in_time = run.run(releases=release, ends_with_driver=ends_with_driver)
        documents = streams.documents(to)
    if json:
        print_json(documents)
    else:
        say(streams.sentence())
    if not in_time and run.recorded_length == 0:
        raise failed(f"no message from {channel}, and none more within {timeout:g} s")

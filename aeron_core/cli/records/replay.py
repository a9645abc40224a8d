"""`aeron-core replay`: publishes a recording again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from aeron_core._native import wire
from aeron_core.archive.reading.opening import open_archive
from aeron_core.cli.connecting import ConnectTimeout, await_other_side, checked_channels, connect_to_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import AeronDir, Json, int32, positive, print_json
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.progress import byte_bar
from aeron_core.cli.quantities import size_of
from aeron_core.cli.records.export import Begin, End, range_of
from aeron_core.cli.records.selection import Checksum, NoVerify, RecordingId, check_verifies
from aeron_core.cli.text_table import counted
from aeron_core.errors import ClientError, ClosedError, NotConnectedError
from aeron_core.recording.reading.replay import Replay, replay_channel

_PAUSE_S: Final = 0.0002
_MEGABYTE: Final = 1_000_000


ReplayStreamId = Annotated[
    int | None,
    typer.Option(
        metavar="STREAM_ID", parser=int32, help="Stream to publish; default: that of the recording."
    ),
]
KeepSession = Annotated[
    bool, typer.Option("--keep-session", help="Publish under the session id of the recording.")
]
Rate = Annotated[
    str | None,
    typer.Option(metavar="BYTES_PER_SECOND", help="Bytes per second, such as 10m; default: no limit."),
]


def replay(  # noqa: PLR0913 - the options of the command
    recording_id: RecordingId,
    uri: Annotated[str, typer.Option("--from", metavar="ARCHIVE", help="Archive: a directory, or a URI.")],
    to: Annotated[str, typer.Option(metavar="CHANNEL", help="Channel to publish to.")],
    stream_id: ReplayStreamId = None,
    keep_session: KeepSession = False,
    begin: Begin = None,
    end: End = None,
    rate: Rate = None,
    timeout: ConnectTimeout = None,
    no_verify: NoVerify = False,
    checksum: Checksum = None,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Publish the frames of a recording at their original positions.

    Terms have their original length. With --keep-session and the original stream id, subscribers receive
    identical frames. Data recorded after the replay started is not replayed. Fails at data that does not have
    the checksum of the index, unless --no-verify.
    """
    positive("--timeout", timeout)
    bytes_per_s = None if rate is None else size_of("--rate", rate)
    positive("--rate", bytes_per_s)
    check_verifies(checksum, no_verify=no_verify)
    recording = open_archive(uri, checksum=checksum).recording(recording_id)
    descriptor = recording.descriptor
    first, last = range_of(recording, begin, end, None, None)
    channel = replay_channel(to, descriptor, first, keeps_session=keep_session)
    with Interrupt() as interrupt, ExitStack() as stack:
        aeron = stack.enter_context(connect_to_driver("replay", aeron_dir, publications=[to]))
        stream = descriptor.stream_id if stream_id is None else stream_id
        with checked_channels(publications=[to]):
            publication = stack.enter_context(closing(aeron.add_exclusive_publication(str(channel), stream)))
        running = Replay(recording, publication, first, last, verify=not no_verify)
        await_other_side(publication, timeout)
        started_s = time.monotonic()
        with byte_bar("replayed", last - first) as advance:
            _Player(running, bytes_per_s, timeout, interrupt, advance).play()
        seconds = time.monotonic() - started_s
        session_id = publication.session_id
    length = running.position - first
    if json:
        print_json(
            {
                "recording_id": recording_id,
                "channel": str(channel),
                "stream_id": stream,
                "session_id": session_id,
                "begin": first,
                "end": running.position,
                "seconds": round(seconds, 6),
            }
        )
    else:
        speed = length / _MEGABYTE / max(seconds, 1e-9)
        print_stderr(
            f"replayed {counted(length, 'byte')} up to position {running.position} in {seconds:.3f} s: "
            f"{speed:,.1f} MB/s"
        )


@dataclass
class _Player:
    replay: Replay
    bytes_per_s: int | None
    timeout: float | None
    interrupt: Interrupt
    advance: Callable[[int], object]

    def play(self) -> None:
        begin, start_s = self.replay.position, time.monotonic()
        last_received_s = start_s
        while not self.replay.is_done and not self.interrupt:
            if self.bytes_per_s is not None:
                due_s = start_s + (self.replay.position - begin) / self.bytes_per_s
                if due_s > time.monotonic() and self.interrupt.wait(due_s - time.monotonic()):
                    return
            result = self.replay.do_work()
            if result >= 0:
                self.advance(result)
            elif result == wire.RESULT_CLOSED:
                raise ClosedError(
                    f"disconnected from the media driver at position {self.replay.position}: a warning names the "
                    f"cause; start the driver if it has shut down, then continue with --begin={self.replay.position}"
                )
            elif result == wire.RESULT_MAX_POSITION_EXCEEDED:
                raise ClientError(
                    f"the stream has no positions left after {self.replay.position}: end there with "
                    f"--end={self.replay.position}"
                )
            elif result != wire.RESULT_ADMIN_ACTION:
                time.sleep(_PAUSE_S)
            if result != wire.RESULT_NOT_CONNECTED:
                last_received_s = time.monotonic()
            elif self.timeout is not None and time.monotonic() - last_received_s >= self.timeout:
                raise NotConnectedError(
                    f"the publication was not connected for {self.timeout:g} s at position {self.replay.position}: "
                    "start its peer for the same channel and stream, or as many receivers as its flow control "
                    "requires, or raise --timeout"
                )

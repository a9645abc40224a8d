"""`aeron-core archive`: serves the Archive protocol over a folder with the files of Aeron Archive."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.archive.server.archive_server import ArchiveServer
from aeron_core.archive.server.authentication import (
    Authenticator,
    Authorisation,
    Users,
    admit_all,
    shared_secret,
    users_of,
)
from aeron_core.archive.server.params import LOCAL_CONTROL_CHANNEL, ArchiveServerParams
from aeron_core.cli.connecting import checked_channels, connect_as, connect_to_driver
from aeron_core.cli.conversion import integer_between
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import AeronDir, directory_of, int32, is_terminal
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.quantities import size_of
from aeron_core.cli.records.access import DirGroup, DirMode, access_of
from aeron_core.client.aeron import Aeron
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import AeronError, ClosedError, ConfigurationError
from aeron_core.recording.pace import Pace
from aeron_core.recording.storage.archive import FrameChecksum
from aeron_core.recording.storage.descriptor import MAX_SEGMENT_LENGTH, MIN_SEGMENT_LENGTH
from aeron_core.registry import Registry
from aeron_core.settings.loader import load_driver_fields

#: Invented numbers: enough for an operator, and no log fills a disk.
_MAX_WARNINGS: Final = 60
_WARNING_INTERVAL_S: Final = 60
#: Longest credentials. An invented number: they fit into a message.
_MAX_CREDENTIALS_LENGTH: Final = 4096
#: Longest file of users. An invented number: thousands of them.
_MAX_USERS_LENGTH: Final = 1024 * 1024


def _positive(text: str) -> int:
    return integer_between(text, 1, 1_000_000)


Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the archive; created if it does not exist.")
]
Embedded = Annotated[
    bool,
    typer.Option("--embedded", help="Also run a driver, in --aeron-dir, with the settings of AERON_...."),
]
ControlChannel = Annotated[
    str | None,
    typer.Option(
        metavar="CHANNEL",
        help="Channel of requests over the network, such as aeron:udp?endpoint=localhost:8010; default: none.",
    ),
]
ControlStream = Annotated[
    int, typer.Option(metavar="STREAM_ID", parser=int32, help="Stream id of --control-channel.")
]
LocalControlChannel = Annotated[
    str, typer.Option(metavar="CHANNEL", help="Channel of requests from clients of the same driver.")
]
LocalControlStream = Annotated[
    int, typer.Option(metavar="STREAM_ID", parser=int32, help="Stream id of --local-control-channel.")
]
EventsChannel = Annotated[
    str | None,
    typer.Option(metavar="CHANNEL", help="Channel of recording events, on stream 30; default: none."),
]
ReplicationChannel = Annotated[
    str,
    typer.Option(metavar="CHANNEL", help="Channel on which this archive receives from others; port 0: any."),
]
ArchiveSegmentLength = Annotated[
    str,
    typer.Option(metavar="BYTES", help="Length of a segment file: a power of two from 64k to 1g."),
]
ArchiveId = Annotated[
    int | None,
    typer.Option(
        metavar="ID",
        parser=lambda text: integer_between(text, 0, 2**63 - 1),
        help="Id of the archive; default: the id of its client in the driver.",
    ),
]
CredentialsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with the credentials that clients must send, which no other user may be able to read; default: "
        "clients need none.",
    ),
]
UsersFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML file with users, their secrets and what each may do, in place of --credentials-file; no other user "
        "of the machine may be able to read it.",
    ),
]
MaxSessions = Annotated[
    int,
    typer.Option(metavar="COUNT", parser=_positive, help="Sessions of admitted clients at the same time."),
]
MaxRequests = Annotated[
    int,
    typer.Option(metavar="COUNT", parser=_positive, help="Requests in a second of one host; others wait."),
]
MaxRecordings = Annotated[
    int, typer.Option(metavar="COUNT", parser=_positive, help="Images that are recorded at the same time.")
]
MaxReplays = Annotated[int, typer.Option(metavar="COUNT", parser=_positive, help="Replays at the same time.")]
RecordChecksum = Annotated[
    FrameChecksum | None,
    typer.Option(
        metavar="CHECKSUM",
        help="Write a checksum into each frame: crc32 or crc32c, as Aeron Archive's Crc32 and Crc32c.",
    ),
]
ReplayChecksum = Annotated[
    FrameChecksum | None,
    typer.Option(
        metavar="CHECKSUM", help="Compare the checksum of each frame that is replayed: crc32 or crc32c."
    ),
]
Sync = Annotated[bool, typer.Option("--sync", help="Data counts as recorded only when it is on disk.")]


def archive(  # noqa: PLR0913 - the options of the command
    folder: Folder,
    control_channel: ControlChannel = None,
    control_stream: ControlStream = 10,
    local_control_channel: LocalControlChannel = LOCAL_CONTROL_CHANNEL,
    local_control_stream: LocalControlStream = 10,
    events_channel: EventsChannel = None,
    replication_channel: ReplicationChannel = "aeron:udp?endpoint=localhost:0",
    segment_length: ArchiveSegmentLength = "128m",
    archive_id: ArchiveId = None,
    credentials_file: CredentialsFile = None,
    users_file: UsersFile = None,
    max_sessions: MaxSessions = 500,
    max_requests: MaxRequests = 1000,
    max_recordings: MaxRecordings = 20,
    max_replays: MaxReplays = 20,
    record_checksum: RecordChecksum = None,
    replay_checksum: ReplayChecksum = None,
    sync: Sync = False,
    dir_mode: DirMode = None,
    dir_group: DirGroup = None,
    embedded: Embedded = False,
    aeron_dir: AeronDir = None,
) -> None:
    """Serve the Archive protocol: clients of Aeron Archive record and replay streams.

    The folder has the files of Aeron Archive: either program can continue with the folder of the other one, after that
    has ended. Runs until a signal, or until the driver shuts down; then the recordings stop, and the folder is free.
    """
    authenticator, authorisation = _authentication_of(credentials_file, users_file)
    params = ArchiveServerParams(
        control_channel=control_channel,
        control_stream_id=control_stream,
        local_control_channel=local_control_channel,
        local_control_stream_id=local_control_stream,
        events_channel=events_channel,
        replication_channel=replication_channel,
        segment_length=_segment_length_of(segment_length),
        sync_level=int(sync),
        access=access_of(dir_mode, dir_group),
        archive_id=archive_id,
        authenticator=authenticator,
        authorisation=authorisation,
        max_sessions=max_sessions,
        max_requests=max_requests,
        max_recordings=max_recordings,
        max_replays=max_replays,
        record_checksum=record_checksum,
        replay_checksum=replay_checksum,
        on_error=_Warnings().print,
    )
    _serve(folder, params, aeron_dir, embedded=embedded)


def _serve(folder: Path, params: ArchiveServerParams, aeron_dir: Path | None, *, embedded: bool) -> None:
    channels = params.control_channel, params.local_control_channel
    subscribed = [channel for channel in channels if channel is not None]
    published = [] if params.events_channel is None else [params.events_channel]
    with Interrupt() as interrupt, ExitStack() as stack:
        if embedded:
            aeron = _embedded(aeron_dir, stack)
        else:
            aeron = connect_to_driver("archive", aeron_dir, publications=published, subscriptions=subscribed)
        stack.enter_context(aeron)
        with checked_channels(publications=published, subscriptions=subscribed):
            server = stack.enter_context(ArchiveServer(aeron, folder, params))
        if is_terminal():
            where = ", ".join([*server.control_addresses(), params.local_control_channel])
            print_stderr(f"archive {server.archive_id} serves {folder} at {where}")
        _run(server, interrupt)


class _Warnings:
    """Prints warnings, not more than `_MAX_WARNINGS` in `_WARNING_INTERVAL_S`: clients cause some of them."""

    def __init__(self) -> None:
        self._end_s = 0.0
        self._count = 0

    def print(self, error: AeronError) -> None:
        """Print an error, unless too many were printed."""
        now_s = time.monotonic()
        if now_s >= self._end_s:
            self._end_s, self._count = now_s + _WARNING_INTERVAL_S, 0
        self._count += 1
        if self._count < _MAX_WARNINGS:
            print_stderr(f"warning: {error}")
        elif self._count == _MAX_WARNINGS:
            print_stderr(f"warning: {error}; further warnings are dropped for up to {_WARNING_INTERVAL_S} s")


def _run(server: ArchiveServer, interrupt: Interrupt) -> None:
    pace = Pace()
    while not interrupt:
        try:
            pause_s = pace.pause_after(server.do_work())
        except ClosedError:
            if interrupt:
                return
            raise ClosedError(
                "disconnected from the media driver: a warning names the cause; all that it delivered is recorded; "
                "start the driver if it has shut down, then the archive again"
            ) from None
        if pause_s:
            interrupt.wait(pause_s)


def _embedded(aeron_dir: Path | None, stack: ExitStack) -> Aeron:
    """Return a client of a driver of this process, which local clients of the archive find in the same directory."""
    loaded = load_driver_fields(arguments={"aeron_dir": directory_of(aeron_dir)})
    driver = stack.enter_context(MediaDriver.launch(loaded.settings, registry=Registry.load()))
    return connect_as("archive", driver.aeron_dir)


def _segment_length_of(text: str) -> int:
    length = size_of("--segment-length", text)
    if length & (length - 1) or not MIN_SEGMENT_LENGTH <= length <= MAX_SEGMENT_LENGTH:
        raise ConfigurationError(f"--segment-length={text}: must be a power of two from 64k to 1g")
    return length


def _authentication_of(
    credentials_file: Path | None, users_file: Path | None
) -> tuple[Authenticator, Authorisation | None]:
    if credentials_file is not None and users_file is not None:
        raise ConfigurationError(
            f"--users-file={users_file}: must not be given with --credentials-file={credentials_file}"
        )
    if users_file is not None:
        users = _users_in(users_file)
        return users.authenticate, users.authorise
    return (admit_all if credentials_file is None else shared_secret(_credentials_of(credentials_file))), None


def _users_in(path: Path) -> Users:
    import tomllib  # noqa: PLC0415 - lazy: only --users-file needs it

    from aeron_core.metrics.access import read_private  # noqa: PLC0415 - likewise

    where = f"--users-file={path}"
    data = read_private(path, "--users-file", _MAX_USERS_LENGTH + 1, "change the secrets")
    if len(data) > _MAX_USERS_LENGTH:
        raise ConfigurationError(f"{where}: its length must be at most 1 MiB")
    try:
        document = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Not the text of an error of decoding, which has bytes of the file.
        at = str(error) if isinstance(error, tomllib.TOMLDecodeError) else f"byte {error.start} is not UTF-8"
        raise ConfigurationError(f"{where}: must be TOML: {at}") from None
    return users_of(document, where)


def _credentials_of(path: Path) -> bytes:
    from aeron_core.metrics.access import read_private  # noqa: PLC0415 - lazy: only --credentials-file needs it

    # One byte more for the line end, and one by which a longer file is detected.
    data = read_private(path, "--credentials-file", _MAX_CREDENTIALS_LENGTH + 2, "change the credentials")
    data = data.removesuffix(b"\n")
    if not 0 < len(data) <= _MAX_CREDENTIALS_LENGTH:
        raise ConfigurationError(
            f"--credentials-file={path}: must have a length from 1 to {_MAX_CREDENTIALS_LENGTH} in bytes"
        )
    return data

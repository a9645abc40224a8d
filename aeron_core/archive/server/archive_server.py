"""Archive server: serves a folder with the files of Aeron Archive over the Archive protocol.

    with aeron_core.connect() as aeron, ArchiveServer(aeron, "archive", ArchiveServerParams(...)) as server:
        while True:
            server.do_work()

One thread runs it: it receives requests, records, replays, replicates and deletes in turn. Not here: what a request
does (requests), and the pauses between duty cycles.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aeron_core.archive.server.event_stream import EventStream
from aeron_core.archive.server.files.catalog import Catalog
from aeron_core.archive.server.files.running_mark import MarkContents, RunningMark
from aeron_core.archive.server.limit_counters import LimitCounters
from aeron_core.archive.server.requests.control_streams import Requests
from aeron_core.archive.server.served_archive import ServedArchive, Worker
from aeron_core.archive.server.served_session import ServedSession, SessionState
from aeron_core.errors import AeronError, ClosedError, ConfigurationError, ProtocolError
from aeron_core.file_locks import fault_of_child
from aeron_core.recording.storage import names
from aeron_core.recording.storage.file_store import make_folder, write_failure
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from types import TracebackType
    from typing import TypeVar

    from aeron_core.archive.server.params import ArchiveServerParams
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.subscriptions.image import Image

    K = TypeVar("K")
    W = TypeVar("W", bound=Worker)


class ArchiveServer:
    """The agent that serves one archive; one thread runs it.

    The constructor creates a folder that does not exist. Raises ArchiveInUseError if another archive runs there,
    ConfigurationError for a folder of our own recordings, CorruptRecordingError for a damaged catalogue, RecordingError
    if the disk fails, and the errors of `Aeron.add_subscription`.
    """

    role_name = "archive"

    def __init__(self, aeron: Aeron, folder: str | Path, params: ArchiveServerParams) -> None:
        folder = Path(folder)
        if (folder / names.ARCHIVE).exists():
            raise ConfigurationError(
                f"{folder}: has recordings of aeron-core, not of Aeron Archive; choose another folder"
            )
        self._process_id = os.getpid()
        self._params = params
        self._aeron = aeron
        self._stack = ExitStack()
        with ExitStack() as opened:
            try:
                make_folder(folder, params.access)
            except OSError as error:
                raise write_failure("create", folder, error) from error
            now_ms = params.clock_ms()
            archive_id = aeron.client_id if params.archive_id is None else params.archive_id
            mark = RunningMark(folder, _mark_of(aeron, params, archive_id), now_ms)
            opened.callback(mark.close)
            catalog = Catalog(folder, now_ms, sync=params.sync_level > 0)
            opened.callback(catalog.close)
            events = None
            if params.events_channel is not None:
                publication = aeron.add_exclusive_publication(params.events_channel, params.events_stream_id)
                opened.callback(publication.close)
                events = EventStream(publication)
            limits = LimitCounters(aeron, archive_id)
            opened.callback(limits.close)
            self._mark = mark
            self._archive = ServedArchive(
                aeron, params, folder, archive_id, catalog, events, limits, now_ms=now_ms
            )
            self._gone: deque[Image] = deque()  # images of requests; the client's conductor appends
            subscriptions = []
            for channel, stream_id in (
                (params.control_channel, params.control_stream_id),
                (params.local_control_channel, params.local_control_stream_id),
            ):
                if channel is None:
                    continue
                uri = ChannelUri.parse(channel)
                sparse = {} if "sparse" in uri else {"sparse": True}
                subscription = aeron.add_subscription(
                    str(uri.with_params(sparse)),
                    stream_id,
                    on_unavailable_image=self._gone.append,
                )
                opened.callback(subscription.close)
                subscriptions.append(subscription)
            self._subscriptions = subscriptions
            self._requests = Requests(self._archive, subscriptions)
            self._stack = opened.pop_all()

    @property
    def archive_id(self) -> int:
        """The id of the archive."""
        return self._archive.archive_id

    @property
    def is_closed(self) -> bool:
        """Whether its client is closed, as when the driver has shut down."""
        return self._aeron.is_closed

    def control_addresses(self) -> list[str]:
        """Return `address:port` of the sockets on which requests arrive; empty without a control channel."""
        return [address for subscription in self._subscriptions for address in subscription.local_addresses()]

    def do_work(self) -> int:
        """Run one duty cycle; return the work count. Errors of recordings, replays and sessions are reported.

        Raises ClosedError once the client is closed, ConfigurationError in a forked child.
        """
        archive = self._archive
        if fault := fault_of_child(self._process_id, str(archive.folder)):
            raise ConfigurationError(fault)
        if self._aeron.is_closed:
            raise ClosedError(
                "the client of the archive is closed: the driver has shut down, or it was closed"
            )
        now_ms = archive.now_ms = self._params.clock_ms()
        self._mark.do_work(now_ms)
        work = self._requests.poll()
        while self._gone:
            self._requests.on_unavailable_image(self._gone.popleft())
        self._requests.replays.do_work(now_ms)
        work += self._work_of(archive.streams, now_ms)
        for stream in list(archive.detached_streams):
            work += stream.do_work(now_ms)
            if not stream.recordings:
                archive.detached_streams.remove(stream)
                stream.close()
        work += self._work_of(archive.replays, now_ms)
        work += self._work_of(archive.replications, now_ms)
        work += self._work_of(archive.deletions, now_ms)
        return work + self._work_of_sessions(now_ms)

    def close(self) -> None:
        """Stop all recordings at their current positions and release the folder; closing twice does nothing."""
        archive = self._archive
        workers: list[Worker | ServedSession] = [
            *archive.replications.values(),
            *archive.replays.values(),
            *archive.streams.values(),
            *archive.detached_streams,
            *archive.deletions.values(),
            *archive.sessions.values(),
        ]
        for worker in workers:
            with suppress(AeronError):
                worker.close()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _work_of(self, workers: MutableMapping[K, W], now_ms: int) -> int:
        work = 0
        for key, worker in list(workers.items()):
            work += worker.do_work(now_ms)
            if worker.is_done and workers.get(key) is worker:
                del workers[key]
        return work

    def _work_of_sessions(self, now_ms: int) -> int:
        archive = self._archive
        work = 0
        for session in list(archive.sessions.values()):
            try:
                work += session.do_work(self._aeron, self._params, now_ms)
            except (AeronError, ValueError) as error:
                # A ValueError: a channel that no command can hold.
                archive.raise_if_closed(error)
                archive.report(error if isinstance(error, AeronError) else ProtocolError(str(error)))
                session.end(str(error))
            if session.state is SessionState.DONE:
                del archive.sessions[session.session_id]
                session.close()
                work += 1
        return work


def _mark_of(aeron: Aeron, params: ArchiveServerParams, archive_id: int) -> MarkContents:
    return MarkContents(
        archive_id,
        params.control_stream_id,
        params.local_control_stream_id,
        params.events_stream_id,
        params.control_channel or "",
        params.local_control_channel,
        params.events_channel or "",
        str(aeron.aeron_dir),
    )

"""The asyncio interface of an archive's client: a session whose requests wait without blocking the event loop.

    archive = await AsyncAeronArchive.connect(aeron, control_request_channel=…, control_response_channel=…)
    async with archive:
        subscription = await archive.replay(recording_id, "aeron:ipc", 1001)
        async for message in aio.messages(subscription): ...

A client without a conductor thread needs `aeron_core.aio.run_conductor` beside it. Not here: the requests (operations).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, Self, TypeVar, Unpack

from aeron_core.aio import Backoff
from aeron_core.archive.connecting import connecting
from aeron_core.archive.operations import ArchiveOperations
from aeron_core.archive.params import ConnectOptions, ControlParams
from aeron_core.archive.procedures import Procedure
from aeron_core.archive.recording_events import RecordingEvent, RecordingEvents
from aeron_core.protocol.archive.codes import SourceLocation
from aeron_core.uri.values import INT32_MAX

if TYPE_CHECKING:
    from aeron_core.archive.descriptors import ArchivedRecording, RecordingSubscription
    from aeron_core.archive.params import ReplayParams, ReplicationParams
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.protocol.archive.responses import RecordingSignalEvent

T = TypeVar("T")

# Invented: signals are rare.
_MAX_SLEEP_S: Final = 0.05


class AsyncAeronArchive:
    """A session with an archive, for the tasks of one event loop; they wait for one another's requests.

    Methods have the arguments, results and errors of `AeronArchive`. Between requests, iterate over `signals`, or call
    `poll_for_recording_signals` at least once a minute. A request that is cancelled may still be done.
    """

    def __init__(self, session: ArchiveOperations) -> None:
        self._session = session
        self._lock = asyncio.Lock()

    @classmethod
    async def connect(cls, aeron: Aeron, **options: Unpack[ConnectOptions]) -> Self:
        """Open a session, as `AeronArchive.connect`."""
        params = ControlParams(**options)
        return cls(await _result(connecting(aeron, params, ArchiveOperations)))

    @property
    def archive_id(self) -> int | None:
        """The id of the archive, None if it has none."""
        return self._session.archive_id

    @property
    def control_session_id(self) -> int:
        """The id of the session in the archive."""
        return self._session.control_session_id

    @property
    def is_connected(self) -> bool:
        """Whether the session is open."""
        return self._session.is_connected

    @property
    def is_closed(self) -> bool:
        """Whether the program closed the session."""
        return self._session.is_closed

    async def add_recorded_publication(self, channel: str, stream_id: int) -> Publication:
        """See `AeronArchive.add_recorded_publication`."""
        return await self._run(self._session.add_recorded_publication(channel, stream_id))

    async def add_recorded_exclusive_publication(self, channel: str, stream_id: int) -> ExclusivePublication:
        """See `AeronArchive.add_recorded_exclusive_publication`."""
        return await self._run(self._session.add_recorded_exclusive_publication(channel, stream_id))

    async def start_recording(
        self,
        channel: str,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool = False,
    ) -> int:
        """See `AeronArchive.start_recording`."""
        return await self._run(
            self._session.start_recording(channel, stream_id, source_location, auto_stop=auto_stop)
        )

    async def extend_recording(
        self,
        recording_id: int,
        channel: str,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool = False,
    ) -> int:
        """See `AeronArchive.extend_recording`."""
        return await self._run(
            self._session.extend_recording(
                recording_id, channel, stream_id, source_location, auto_stop=auto_stop
            )
        )

    async def stop_recording(self, channel: str, stream_id: int) -> bool:
        """See `AeronArchive.stop_recording`."""
        return await self._run(self._session.stop_recording(channel, stream_id))

    async def stop_recorded_publication(self, publication: Publication | ExclusivePublication) -> bool:
        """See `AeronArchive.stop_recorded_publication`."""
        return await self._run(self._session.stop_recorded_publication(publication))

    async def stop_recording_subscription(self, subscription_id: int) -> bool:
        """See `AeronArchive.stop_recording_subscription`."""
        return await self._run(self._session.stop_recording_subscription(subscription_id))

    async def stop_recording_by_identity(self, recording_id: int) -> bool:
        """See `AeronArchive.stop_recording_by_identity`."""
        return await self._run(self._session.stop_recording_by_identity(recording_id))

    async def list_recordings(
        self, from_recording_id: int = 0, record_count: int = INT32_MAX
    ) -> list[ArchivedRecording]:
        """See `AeronArchive.list_recordings`."""
        return await self._run(self._session.list_recordings(from_recording_id, record_count))

    async def list_recordings_for_uri(
        self,
        channel_fragment: str,
        stream_id: int,
        from_recording_id: int = 0,
        record_count: int = INT32_MAX,
    ) -> list[ArchivedRecording]:
        """See `AeronArchive.list_recordings_for_uri`."""
        return await self._run(
            self._session.list_recordings_for_uri(
                channel_fragment, stream_id, from_recording_id, record_count
            )
        )

    async def list_recording(self, recording_id: int) -> ArchivedRecording | None:
        """See `AeronArchive.list_recording`."""
        return await self._run(self._session.list_recording(recording_id))

    async def list_recording_subscriptions(
        self,
        channel_fragment: str = "",
        stream_id: int | None = None,
        pseudo_index: int = 0,
        subscription_count: int = INT32_MAX,
    ) -> list[RecordingSubscription]:
        """See `AeronArchive.list_recording_subscriptions`."""
        return await self._run(
            self._session.list_recording_subscriptions(
                channel_fragment, stream_id, pseudo_index, subscription_count
            )
        )

    async def find_last_matching_recording(
        self, min_recording_id: int, channel_fragment: str, stream_id: int, session_id: int
    ) -> int | None:
        """See `AeronArchive.find_last_matching_recording`."""
        return await self._run(
            self._session.find_last_matching_recording(
                min_recording_id, channel_fragment, stream_id, session_id
            )
        )

    async def start_position(self, recording_id: int) -> int:
        """See `AeronArchive.start_position`."""
        return await self._run(self._session.start_position(recording_id))

    async def recording_position(self, recording_id: int) -> int | None:
        """See `AeronArchive.recording_position`."""
        return await self._run(self._session.recording_position(recording_id))

    async def stop_position(self, recording_id: int) -> int | None:
        """See `AeronArchive.stop_position`."""
        return await self._run(self._session.stop_position(recording_id))

    async def max_recorded_position(self, recording_id: int) -> int:
        """See `AeronArchive.max_recorded_position`."""
        return await self._run(self._session.max_recorded_position(recording_id))

    async def start_replay(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams | None = None
    ) -> int:
        """See `AeronArchive.start_replay`."""
        return await self._run(self._session.start_replay(recording_id, channel, stream_id, params))

    async def replay(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams | None = None
    ) -> Subscription:
        """See `AeronArchive.replay`."""
        return await self._run(self._session.replay(recording_id, channel, stream_id, params))

    async def stop_replay(self, replay_id: int) -> None:
        """See `AeronArchive.stop_replay`."""
        await self._run(self._session.stop_replay(replay_id))

    async def stop_all_replays(self, recording_id: int | None = None) -> None:
        """See `AeronArchive.stop_all_replays`."""
        await self._run(self._session.stop_all_replays(recording_id))

    async def truncate_recording(self, recording_id: int, position: int) -> int:
        """See `AeronArchive.truncate_recording`."""
        return await self._run(self._session.truncate_recording(recording_id, position))

    async def purge_recording(self, recording_id: int) -> int:
        """See `AeronArchive.purge_recording`."""
        return await self._run(self._session.purge_recording(recording_id))

    async def detach_segments(self, recording_id: int, new_start_position: int) -> None:
        """See `AeronArchive.detach_segments`."""
        await self._run(self._session.detach_segments(recording_id, new_start_position))

    async def delete_detached_segments(self, recording_id: int) -> int:
        """See `AeronArchive.delete_detached_segments`."""
        return await self._run(self._session.delete_detached_segments(recording_id))

    async def purge_segments(self, recording_id: int, new_start_position: int) -> int:
        """See `AeronArchive.purge_segments`."""
        return await self._run(self._session.purge_segments(recording_id, new_start_position))

    async def attach_segments(self, recording_id: int) -> int:
        """See `AeronArchive.attach_segments`."""
        return await self._run(self._session.attach_segments(recording_id))

    async def migrate_segments(self, src_recording_id: int, dst_recording_id: int) -> int:
        """See `AeronArchive.migrate_segments`."""
        return await self._run(self._session.migrate_segments(src_recording_id, dst_recording_id))

    async def update_channel(self, recording_id: int, channel: str) -> None:
        """See `AeronArchive.update_channel`."""
        await self._run(self._session.update_channel(recording_id, channel))

    async def replicate(
        self,
        src_recording_id: int,
        src_control_channel: str,
        src_control_stream_id: int = 10,
        params: ReplicationParams | None = None,
    ) -> int:
        """See `AeronArchive.replicate`."""
        return await self._run(
            self._session.replicate(src_recording_id, src_control_channel, src_control_stream_id, params)
        )

    async def stop_replication(self, replication_id: int) -> bool:
        """See `AeronArchive.stop_replication`."""
        return await self._run(self._session.stop_replication(replication_id))

    async def keep_alive(self) -> None:
        """See `AeronArchive.keep_alive`."""
        await self._run(self._session.keep_alive())

    async def poll_for_recording_signals(self) -> int:
        """See `AeronArchive.poll_for_recording_signals`; waits for the request of another task."""
        async with self._lock:
            return self._session.poll()

    async def check_for_error_response(self) -> None:
        """See `AeronArchive.check_for_error_response`; waits for the request of another task."""
        await self.poll_for_recording_signals()
        error = self._session.take_error()
        if error is not None:
            raise error

    async def signals(self, *, max_sleep_s: float = _MAX_SLEEP_S) -> AsyncIterator[RecordingSignalEvent]:
        """Yield the signals that arrive from the first step on, until the session is closed.

        Raises ArchiveDisconnectedError if the archive ends the session.
        """
        arrived: deque[RecordingSignalEvent] = deque()
        handlers, append = self._session.signal_handlers, arrived.append
        handlers.append(append)
        backoff = Backoff(max_sleep_s)
        try:
            while not self.is_closed:
                # While a request waits, it reads what arrives.
                if not self._lock.locked() and self._session.poll():
                    backoff.reset()
                while arrived:
                    yield arrived.popleft()
                await backoff.idle()
        finally:
            handlers.remove(append)

    async def close(self) -> None:
        """See `AeronArchive.close`."""
        async with self._lock:
            self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, procedure: Procedure[T]) -> T:
        async with self._lock:
            return await _result(procedure)


async def recording_events(
    subscription: Subscription, *, max_sleep_s: float = _MAX_SLEEP_S
) -> AsyncIterator[RecordingEvent]:
    """Yield the events of a subscription, see `RecordingEvents`, until it is closed."""
    arrived: deque[RecordingEvent] = deque()
    events = RecordingEvents(subscription, arrived.append)
    backoff = Backoff(max_sleep_s)
    while not subscription.is_closed:
        if events.poll():
            backoff.reset()
        while arrived:
            yield arrived.popleft()
        await backoff.idle()


async def _result(procedure: Procedure[T]) -> T:
    """Run a procedure to its end and return the result; a cancelled wait closes what it has opened."""
    backoff = Backoff()
    try:
        while True:
            next(procedure)
            await backoff.idle()
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        procedure.close()

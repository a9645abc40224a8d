"""Client of an archive for programs that block: see `AsyncAeronArchive` for those with an event loop.

Not here: the requests (operations), and the messages of a session (control_session).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from aeron_core.archive.connecting import connecting
from aeron_core.archive.operations import ArchiveOperations
from aeron_core.archive.params import ConnectOptions, ControlParams
from aeron_core.archive.procedures import Procedure
from aeron_core.errors import ClientError
from aeron_core.protocol.archive.codes import SourceLocation
from aeron_core.uri.values import INT32_MAX

if TYPE_CHECKING:
    from aeron_core.archive.descriptors import ArchivedRecording, RecordingSubscription
    from aeron_core.archive.params import ReplayParams, ReplicationParams
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.subscriptions.subscription import Subscription

T = TypeVar("T")


class AeronArchive:
    """A session with an archive; any thread may use it, one request at a time.

    Requests wait at most `message_timeout` and raise ArchiveRefusedError if the archive refuses, which has its error
    code; ArchiveTimeoutError if it does not respond; ArchiveDisconnectedError once the session has ended: connect
    again; ClosedError once it or the client is closed; ProtocolError for a response that cannot be used; ValueError or
    TypeError for a wrong argument; and ClientError in a handler.

    The archive closes the session of a client that does not read for some minutes. Between requests, call
    `poll_for_recording_signals` or `check_for_error_response` at least once a minute.
    """

    def __init__(self, session: ArchiveOperations) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._is_busy = False

    @classmethod
    def connect(cls, aeron: Aeron, **options: Unpack[ConnectOptions]) -> Self:
        """Open a session with the archive at `control_request_channel`; `ControlParams` documents the options.

        Raises ArchiveTimeoutError if there is none within `message_timeout`, ArchiveAuthenticationError if it refuses
        the credentials, ArchiveRefusedError if its version is incompatible, ConfigurationError for a wrong option,
        and the errors of `Aeron.add_publication`.
        """
        params = ControlParams(**options)
        return cls(_run(aeron, connecting(aeron, params, ArchiveOperations)))

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

    def add_recorded_publication(self, channel: str, stream_id: int) -> Publication:
        """Add a publication of this client's driver that the archive of the same driver records."""
        return self._run(self._session.add_recorded_publication(channel, stream_id))

    def add_recorded_exclusive_publication(self, channel: str, stream_id: int) -> ExclusivePublication:
        """Add an exclusive publication of this client's driver that the archive of the same driver records."""
        return self._run(self._session.add_recorded_exclusive_publication(channel, stream_id))

    def start_recording(
        self,
        channel: str,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool = False,
    ) -> int:
        """Record each image of a stream and return the id of the archive's subscription.

        LOCAL records publications of the archive's driver, REMOTE subscribes to the channel. With `auto_stop` the
        subscription is removed when its first image ends.
        """
        return self._run(
            self._session.start_recording(channel, stream_id, source_location, auto_stop=auto_stop)
        )

    def extend_recording(
        self,
        recording_id: int,
        channel: str,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool = False,
    ) -> int:
        """Continue a stopped recording with a stream and return the id of the archive's subscription.

        The publication must begin at the stop position: add it with `ArchivedRecording.extension_channel`.
        """
        return self._run(
            self._session.extend_recording(
                recording_id, channel, stream_id, source_location, auto_stop=auto_stop
            )
        )

    def stop_recording(self, channel: str, stream_id: int) -> bool:
        """Stop what was started with this channel and stream; return False if nothing is."""
        return self._run(self._session.stop_recording(channel, stream_id))

    def stop_recorded_publication(self, publication: Publication | ExclusivePublication) -> bool:
        """Stop the recording of a publication of `add_recorded_publication`; return False if it has stopped."""
        return self._run(self._session.stop_recorded_publication(publication))

    def stop_recording_subscription(self, subscription_id: int) -> bool:
        """Stop what `start_recording` or `extend_recording` started; return False if it has stopped."""
        return self._run(self._session.stop_recording_subscription(subscription_id))

    def stop_recording_by_identity(self, recording_id: int) -> bool:
        """Stop one recording; return False if it is not active."""
        return self._run(self._session.stop_recording_by_identity(recording_id))

    def list_recordings(
        self, from_recording_id: int = 0, record_count: int = INT32_MAX
    ) -> list[ArchivedRecording]:
        """Return at most `record_count` recordings from an id on, in the order of their ids."""
        return self._run(self._session.list_recordings(from_recording_id, record_count))

    def list_recordings_for_uri(
        self,
        channel_fragment: str,
        stream_id: int,
        from_recording_id: int = 0,
        record_count: int = INT32_MAX,
    ) -> list[ArchivedRecording]:
        """Return recordings of a stream id whose channel contains `channel_fragment`, as `list_recordings`."""
        return self._run(
            self._session.list_recordings_for_uri(
                channel_fragment, stream_id, from_recording_id, record_count
            )
        )

    def list_recording(self, recording_id: int) -> ArchivedRecording | None:
        """Return a recording, None if there is none with this id."""
        return self._run(self._session.list_recording(recording_id))

    def list_recording_subscriptions(
        self,
        channel_fragment: str = "",
        stream_id: int | None = None,
        pseudo_index: int = 0,
        subscription_count: int = INT32_MAX,
    ) -> list[RecordingSubscription]:
        """Return the subscriptions that record, whose channel contains `channel_fragment`, from an index on.

        None: with any stream id.
        """
        return self._run(
            self._session.list_recording_subscriptions(
                channel_fragment, stream_id, pseudo_index, subscription_count
            )
        )

    def find_last_matching_recording(
        self, min_recording_id: int, channel_fragment: str, stream_id: int, session_id: int
    ) -> int | None:
        """Return the id of the newest recording of a session, at least `min_recording_id`; None if there is none."""
        return self._run(
            self._session.find_last_matching_recording(
                min_recording_id, channel_fragment, stream_id, session_id
            )
        )

    def start_position(self, recording_id: int) -> int:
        """Return the start position of a recording, in bytes."""
        return self._run(self._session.start_position(recording_id))

    def recording_position(self, recording_id: int) -> int | None:
        """Return the position up to which an active recording is stored; None if it is not active."""
        return self._run(self._session.recording_position(recording_id))

    def stop_position(self, recording_id: int) -> int | None:
        """Return the stop position of a recording; None while it is active."""
        return self._run(self._session.stop_position(recording_id))

    def max_recorded_position(self, recording_id: int) -> int:
        """Return the position up to which a recording is stored, whether it is active or not."""
        return self._run(self._session.max_recorded_position(recording_id))

    def start_replay(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams | None = None
    ) -> int:
        """Replay a recording to a channel and return the id of the replay; its lower 32 bits are the session id.

        The replay ends if no subscriber connects within the archive's connect timeout, 5 s by default.
        """
        return self._run(self._session.start_replay(recording_id, channel, stream_id, params))

    def replay(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams | None = None
    ) -> Subscription:
        """Replay a recording to a subscription of this client's driver, and return that; close it to end the replay.

        `channel` is one that the archive reaches; with `control-mode=response` the archive's control channel must be
        one of this mode, too.
        """
        return self._run(self._session.replay(recording_id, channel, stream_id, params))

    def stop_replay(self, replay_id: int) -> None:
        """Stop a replay of `start_replay`; does nothing if it has ended."""
        self._run(self._session.stop_replay(replay_id))

    def stop_all_replays(self, recording_id: int | None = None) -> None:
        """Stop all replays of a recording, or of all recordings."""
        self._run(self._session.stop_all_replays(recording_id))

    def truncate_recording(self, recording_id: int, position: int) -> int:
        """Delete what a stopped recording has after `position`, the begin of a frame.

        Returns the number of segment files that are deleted afterwards: the signal DELETE reports the end.
        """
        return self._run(self._session.truncate_recording(recording_id, position))

    def purge_recording(self, recording_id: int) -> int:
        """Delete a stopped recording; returns as `truncate_recording`."""
        return self._run(self._session.purge_recording(recording_id))

    def detach_segments(self, recording_id: int, new_start_position: int) -> None:
        """Move the start position to the begin of a segment; the files before it stay but are not replayed."""
        self._run(self._session.detach_segments(recording_id, new_start_position))

    def delete_detached_segments(self, recording_id: int) -> int:
        """Delete the segment files before the start position; returns as `truncate_recording`."""
        return self._run(self._session.delete_detached_segments(recording_id))

    def purge_segments(self, recording_id: int, new_start_position: int) -> int:
        """Move the start position and delete the segment files before it; returns as `truncate_recording`."""
        return self._run(self._session.purge_segments(recording_id, new_start_position))

    def attach_segments(self, recording_id: int) -> int:
        """Move the start position back to the first detached segment; return the number of attached files."""
        return self._run(self._session.attach_segments(recording_id))

    def migrate_segments(self, src_recording_id: int, dst_recording_id: int) -> int:
        """Move the segments of a recording before those of another one; return their number.

        Both must have the same lengths and initial term id, and the source must stop where the other one starts.
        """
        return self._run(self._session.migrate_segments(src_recording_id, dst_recording_id))

    def update_channel(self, recording_id: int, channel: str) -> None:
        """Change the channel that a recording is listed with."""
        self._run(self._session.update_channel(recording_id, channel))

    def replicate(
        self,
        src_recording_id: int,
        src_control_channel: str,
        src_control_stream_id: int = 10,
        params: ReplicationParams | None = None,
    ) -> int:
        """Copy a recording from the archive at `src_control_channel` to this one; return the id of the replication.

        Signals report its progress: REPLICATE, EXTEND, SYNC or MERGE, then REPLICATE_END.
        """
        return self._run(
            self._session.replicate(src_recording_id, src_control_channel, src_control_stream_id, params)
        )

    def stop_replication(self, replication_id: int) -> bool:
        """Stop a replication; return False if it has ended."""
        return self._run(self._session.stop_replication(replication_id))

    def keep_alive(self) -> None:
        """Send a keep-alive, to which there is no response."""
        self._run(self._session.keep_alive())

    def poll_for_recording_signals(self) -> int:
        """Call `on_recording_signal` for the signals that have arrived, without waiting; return how many."""
        with self._lock:
            self._check_not_busy()
            self._is_busy = True
            try:
                return self._session.poll()
            finally:
                self._is_busy = False

    def check_for_error_response(self) -> None:
        """Raise the oldest error that an earlier request has caused after its response, without waiting.

        There is none with `on_error`, which gets them.
        """
        self.poll_for_recording_signals()
        error = self._session.take_error()
        if error is not None:
            raise error

    def close(self) -> None:
        """Close the session; what it records continues. Closing twice does nothing."""
        with self._lock:
            self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "connected" if self.is_connected else "not connected"
        return f"{type(self).__name__}({self._session.params.control_request_channel!r}, {state})"

    def _run(self, procedure: Procedure[T]) -> T:
        with self._lock:
            self._check_not_busy()
            self._is_busy = True
            try:
                return _run(self._session.aeron, procedure)
            finally:
                self._is_busy = False

    def _check_not_busy(self) -> None:
        if self._is_busy:
            raise ClientError("a handler must not use the session that calls it: do so after it has returned")


def _run(aeron: Aeron, procedure: Procedure[T]) -> T:
    """Run a procedure to its end and return the result; the client's conductor runs meanwhile."""
    results: list[T] = []

    def is_done() -> bool:
        try:
            next(procedure)
        except StopIteration as end:
            results.append(end.value)
            return True
        return False

    try:
        aeron._operations.check_may_wait()
        aeron._conductor.await_until(is_done, None)
    finally:
        # Closes what it has opened if the wait was interrupted.
        procedure.close()
    return results[0]

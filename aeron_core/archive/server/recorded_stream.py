"""Recorded stream: a subscription that a request has added, each image of which becomes or continues a recording.

Source: ArchiveConductor.startRecording, startRecordingSession, extendRecording, extendRecordingSession.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from aeron_core.archive.server.active_recording import ActiveRecording
from aeron_core.archive.server.channels import StreamRequest, recorded, stripped
from aeron_core.archive.server.files.catalogued import Catalogued
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.served_session import text_of
from aeron_core.errors import AeronError, ArchiveErrorCode, ArchiveRefusedError
from aeron_core.protocol.archive.codes import NULL_VALUE, RecordingSignal

if TYPE_CHECKING:
    from aeron_core.archive.server.served_archive import RecordingInProgress, ServedArchive
    from aeron_core.archive.server.served_session import ServedSession
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.client.subscriptions.subscription import Subscription


class RecordedStream:
    """One subscription; the archive's thread uses it, and the client's conductor adds images."""

    def __init__(
        self, archive: ServedArchive, session: ServedSession, correlation_id: int, request: StreamRequest
    ) -> None:
        """Add the subscription; raises the errors of `Aeron.add_subscription_async`."""
        self.request = request
        self.session = session
        self.correlation_id = correlation_id
        self.is_done = False
        self.recordings: list[RecordingInProgress] = []
        self.channel = str(recorded(request.uri, is_local=request.is_local))
        self.subscription: Subscription | None = None
        self._archive = archive
        self._images: deque[Image] = deque()
        self._is_full = False  # whether the last image was not recorded because too many are
        self._registration = archive.aeron.add_subscription_async(
            self.channel,
            request.stream_id,
            on_available_image=self._images.append,
            on_unavailable_image=lambda _: None,
        )
        self.subscription_id = self._registration.registration_id

    def do_work(self, now_ms: int) -> int:
        """Begin recordings of new images, and write what has arrived; return the work count."""
        if self.subscription is None and not self._open():
            return 0
        work = 0
        while self._images and not self.is_done:
            work += 1
            self._record(self._images.popleft(), now_ms)
        for recording in list(self.recordings):
            work += recording.do_work(now_ms)
            if recording.is_done:
                self.recordings.remove(recording)
                if self.request.is_auto_stop:
                    self.close()  # and with it the other recordings
                    break
        return work

    def drop(self, recording: RecordingInProgress) -> None:
        """Forget a recording that was stopped."""
        self.recordings.remove(recording)

    def close(self) -> None:
        """Stop all recordings of the stream and remove the subscription."""
        if self.is_done:
            return
        self.is_done = True
        for recording in self.recordings:
            recording.stop(self._archive.now_ms)
        self.recordings.clear()
        if self.subscription is not None:
            self.subscription.close()
        else:
            self._registration.cancel()

    def _open(self) -> bool:
        """Return whether the driver has added the subscription; respond to the request when it has decided."""
        try:
            self.subscription = self._registration.poll()
        except AeronError as error:
            self._archive.raise_if_closed(error)
            self.is_done = True
            self.session.refuse(self.correlation_id, text_of(error))
            return False
        if self.subscription is None:
            return False
        if self.request.recording_id is None or self.correlation_id not in self._archive.replications:
            self.session.respond(self.correlation_id, self.subscription_id)
        return True

    def _record(self, image: Image, now_ms: int) -> None:
        """Begin or continue a recording; the client receives why that is not possible."""
        limit = self._archive.params.max_recordings
        if len(self._archive.recordings) >= limit:
            # Check before an entry is added to the catalogue: every sender on the channel can create images.
            self._refuse_image(limit)
            return
        self._is_full = False
        try:
            if self.request.recording_id is None:
                entry, signal = self._new(image, now_ms), RecordingSignal.START
            else:
                entry, signal = self._continued(self.request.recording_id, image), RecordingSignal.EXTEND
            recording = self._started(entry, image, signal, now_ms)
        except AeronError as error:
            self._archive.raise_if_closed(error)
            code = error.code if isinstance(error, ArchiveRefusedError) else ArchiveErrorCode.GENERIC
            self._archive.report(error)
            self.session.refuse(self.correlation_id, str(error), code)
            if self.request.is_auto_stop:
                self.close()
            return
        self._archive.recordings[entry.recording_id] = recording
        self.recordings.append(recording)
        if signal is RecordingSignal.EXTEND:
            try:
                self._archive.catalog.update(
                    entry.recording_id,
                    session=self.session.session_id,
                    correlation_id=self.correlation_id,
                    session_id=image.session_id,
                    stop_position=NULL_VALUE,
                    stop_time_ms=NULL_VALUE,
                )
            except AeronError as error:
                recording.fail(error, now_ms)

    def _refuse_image(self, limit: int) -> None:
        if self._is_full:
            return  # the client knows, and each image would be a message
        self._is_full = True
        error = refused(
            f"stream {self.request.stream_id} of {self.channel}: an image is not recorded, perhaps further ones: "
            f"{limit} recordings are active, the most",
            ArchiveErrorCode.MAX_RECORDINGS,
        )
        self._archive.report(error)
        self.session.refuse(self.correlation_id, str(error), error.code)
        if self.request.is_auto_stop and not self.recordings:
            self.close()

    def _started(
        self, entry: Catalogued, image: Image, signal: RecordingSignal, now_ms: int
    ) -> ActiveRecording:
        archive = self._archive
        if signal is RecordingSignal.EXTEND:
            # A write that failed, or a truncation that was interrupted, leaves frames behind the end: after a crash
            # they would be taken for frames of the extension.
            archive.files(entry).erase_after(entry.stop_position)
        try:
            return ActiveRecording(archive, self, entry, image, signal)
        except AeronError:
            if signal is RecordingSignal.START:
                # Without a stop position it would count as active until the archive starts again.
                archive.catalog.update(
                    entry.recording_id, stop_position=entry.start_position, stop_time_ms=now_ms
                )
            raise

    def _new(self, image: Image, now_ms: int) -> Catalogued:
        request = self.request
        return self._archive.catalog.add(
            Catalogued(
                recording_id=NULL_VALUE,
                start_time_ms=now_ms,
                stop_time_ms=NULL_VALUE,
                start_position=image.join_position,
                stop_position=NULL_VALUE,
                initial_term_id=image.initial_term_id,
                segment_length=max(self._archive.params.segment_length, image.term_length),
                term_length=image.term_length,
                mtu_length=image.mtu_length,
                session_id=image.session_id,
                stream_id=request.stream_id,
                stripped_channel=str(stripped(request.uri)),
                channel=request.channel,
                source_identity=image.source_identity,
            )
        )

    def _continued(self, recording_id: int, image: Image) -> Catalogued:
        archive = self._archive
        entry = archive.stopped(recording_id, "extend")
        check_not_deleted(archive, entry)
        for name, found, wanted in (
            ("join position", image.join_position, entry.stop_position),
            ("initial term id", image.initial_term_id, entry.initial_term_id),
            ("term length", image.term_length, entry.term_length),
            ("mtu", image.mtu_length, entry.mtu_length),
        ):
            if found != wanted:
                raise refused(
                    f"cannot extend recording {recording_id}: the image has {name} {found}, the recording {wanted}",
                    ArchiveErrorCode.INVALID_EXTENSION,
                )
        return entry


def check_not_deleted(archive: ServedArchive, entry: Catalogued) -> None:
    """Raise ArchiveRefusedError while files at the end of a recording are being deleted."""
    deletion = archive.deletions.get(entry.recording_id)
    if deletion is not None and deletion.last_base >= entry.stop_position != NULL_VALUE:
        raise refused(f"recording {entry.recording_id}: segments at its end are being deleted")

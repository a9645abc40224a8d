"""Stream of recording events: the progress of all recordings, for clients without a session.

Events are lost while there is no receiver, or a receiver is slow. Source: RecordingEventsProxy.java.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.protocol.archive.responses import RecordingProgress, RecordingStarted, RecordingStopped

if TYPE_CHECKING:
    from aeron_core.archive.server.files.catalogued import Catalogued
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.subscriptions.image import Image


class EventStream:
    """The publication of the events; the archive's thread uses it. Methods return whether the event was sent."""

    def __init__(self, publication: ExclusivePublication) -> None:
        self._publication = publication

    def started(self, entry: Catalogued, image: Image) -> bool:
        """Send that a recording has started, or continues, with an image."""
        event = RecordingStarted(
            entry.recording_id,
            image.join_position,
            image.session_id,
            entry.stream_id,
            entry.channel,
            image.source_identity,
        )
        return self._publication.offer(event.encode()) >= 0

    def progress(self, recording_id: int, start: int, position: int) -> bool:
        """Send the position of a recording."""
        return self._publication.offer(RecordingProgress(recording_id, start, position).encode()) >= 0

    def stopped(self, recording_id: int, start: int, position: int) -> bool:
        """Send that a recording has ended."""
        return self._publication.offer(RecordingStopped(recording_id, start, position).encode()) >= 0

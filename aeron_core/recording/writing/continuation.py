"""Finds the recording that an image continues, after its recorder was away.

A recording goes on under its id where not one frame is missing: the image begins where it ends, or the log of the
image still holds what lies between. A driver keeps a term of what was read, and more for a reader that died, until
its client's liveness timeout.
"""

from __future__ import annotations

from collections.abc import Collection

from aeron_core.client.subscriptions.image import Image
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import RecordingError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.catalogue import update_descriptor
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.mark import RecordingMark
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.recovery import Resumption, recover


def find_continuation(
    archive: Archive, subscription: Subscription, image: Image, now_ns: int, taken: Collection[int] = ()
) -> tuple[RecordingDescriptor, Resumption] | None:
    """Return the recording that `image` continues, and from where on, or None.

    Not one of those that are `taken`, by their ids: they are being written.
    """
    store = archive.store
    assert isinstance(store, LocalStore)
    for recording in reversed(archive.recordings()):
        if recording.recording_id in taken or not _is_same_stream(recording, subscription, image):
            continue
        resumption = recover(store, recording.recording_id, now_ns)
        if _reaches_back_to(image, resumption.position):
            live = recording.descriptor.model_copy(update={"stop_position": None, "stop_time_ns": None})
            return live, resumption
        if recording.is_live:  # its recorder has died, and nothing can follow now
            _end(store, recording, resumption, now_ns)
        return None
    return None


def end_what_was_taken_down(archive: Archive, now_ns: int, *, is_same_driver: bool) -> None:
    """Bring recordings to their end whose machine went down, or their driver.

    After a machine they hold what was flushed, which may be less than their mark says. After a driver they hold all
    that was written: their publishers may go on behind it, since nothing is added later unless the stream itself
    comes back. Such a recording may go on as any that was stopped. `is_same_driver`: whether the last recorder had
    the driver that there is now. For the one recorder of the archive; raises RecordingError where the disk fails.
    """
    store = archive.store
    assert isinstance(store, LocalStore)
    for recording in archive.recordings():
        if not recording.is_live:
            continue
        mark = RecordingMark.open(store.folder / str(recording.recording_id) / names.MARK)
        if not is_same_driver or mark is None or not mark.is_of_this_boot:
            _end(store, recording, recover(store, recording.recording_id, now_ns), now_ns)


def _end(store: LocalStore, recording: Recording, resumption: Resumption, now_ns: int) -> None:
    update_descriptor(
        store,
        recording.recording_id,
        stop_position=max(resumption.border_position, recording.start_position),
        stop_time_ns=recording.heartbeat_ms * 1_000_000 or now_ns,
    )


def _is_same_stream(recording: Recording, subscription: Subscription, image: Image) -> bool:
    try:
        descriptor = recording.descriptor
    except RecordingError:
        return False
    return (
        not descriptor.is_end_of_stream
        and descriptor.appender is None
        and descriptor.channel == subscription.channel
        and descriptor.stream_id == subscription.stream_id
        and descriptor.session_id == image.session_id
        and descriptor.initial_term_id == image.initial_term_id
        and descriptor.term_length == image.term_length
        and descriptor.mtu_length == image.mtu_length
    )


def _reaches_back_to(image: Image, position: int) -> bool:
    """Return whether all frames from `position` on are in the image, or are still to come."""
    if position > image.position:
        # The image is read anew from a position before: what was recorded is in it, or comes soon.
        return position - image.position <= image.term_length
    while position < image.position:
        if image.position - position > image.term_length:
            return False
        block = image.block_peek(position, image.position - position)
        if not len(block):
            return False
        position += len(block)
    return True

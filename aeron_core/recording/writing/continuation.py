"""Continuation: finds the recording that a new image continues, for example after a restart of the recorder.

A recording continues under its id if no frame is missing: the image begins at its end or up to a term before, or the
log of the image still holds the frames between its end and the position of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from aeron_core.client.subscriptions.image import Image
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import AeronError, CorruptRecordingError, RecordingError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.catalogue import update_descriptor
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.mark import RecordingMark
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.recovery import Resumption, recover

_NS_PER_MS: Final = 1_000_000

Report = Callable[[AeronError], object]
Notify = Callable[[str], object]


def find_continuation(  # noqa: PLR0913 - the last has a name
    archive: Archive,
    subscription: Subscription,
    image: Image,
    now_ns: int,
    taken: Collection[int] = (),
    *,
    report: Report,
    notify: Notify | None = None,
) -> tuple[RecordingDescriptor, Resumption] | None:
    """Return the descriptor of the recording that `image` continues, and its resumption; None if it continues none.

    Truncates an incomplete last frame of the last recording of the stream; stops that recording if it is live
    and cannot be continued. `taken`: ids of recordings that are being written, which are skipped. Damage is
    passed to `report`; files that it made unusable are left as they are, and the recording is not continued. `notify`
    is called with a sentence about what was truncated. `now_ns`: since the epoch. Raises RecordingError or StorageError
    if the disk fails.
    """
    store = archive.store
    assert isinstance(store, LocalStore)
    for recording in reversed(archive.recordings()):
        if recording.recording_id in taken or not _is_same_stream(recording, subscription, image):
            continue
        resumption = _recover(store, recording, now_ns, report)
        continues = resumption.can_continue and _reaches_back_to(image, resumption.position)
        _notify_of(resumption, notify, continues=continues)
        if continues:
            live = recording.descriptor.model_copy(update={"stop_position": None, "stop_time_ns": None})
            return live, resumption
        if recording.is_live:  # its recorder died, and it cannot continue
            _end(store, recording, resumption, now_ns)
        return None
    return None


def stop_interrupted_recordings(
    archive: Archive, now_ns: int, *, is_same_driver: bool, report: Report, notify: Notify | None = None
) -> None:
    """Stop live recordings that a crash of the machine, or the end of their driver, has interrupted.

    After a crash of the machine, a recording ends with the data that is on the disk, possibly before its mark. After
    the end of a driver, it ends with all written data. Both may continue later like any stopped recording.
    `is_same_driver`: whether the last recorder used the current driver. Call only with the recorder lock of the
    archive. Damage, and an error of one recording, is passed to `report`; `notify` is called with a sentence about what
    was truncated. `now_ns`: since the epoch.
    """
    store = archive.store
    assert isinstance(store, LocalStore)
    for recording in archive.recordings():
        try:
            if not recording.is_live:
                continue
            if not is_same_driver or not _has_mark_of_this_boot(store, recording):
                resumption = _recover(store, recording, now_ns, report)
                _notify_of(resumption, notify, continues=False)
                _end(store, recording, resumption, now_ns)
        except AeronError as error:
            report(error)  # the other recordings are stopped all the same


def _has_mark_of_this_boot(store: LocalStore, recording: Recording) -> bool:
    try:
        mark = RecordingMark.open(store.folder / str(recording.recording_id) / names.MARK)
    except CorruptRecordingError:
        return False
    return mark is not None and mark.is_of_this_boot


def _recover(store: LocalStore, recording: Recording, now_ns: int, report: Report) -> Resumption:
    resumption = recover(store, recording.recording_id, now_ns)
    for text in resumption.damage:
        report(CorruptRecordingError(text))
    return resumption


def _notify_of(resumption: Resumption, notify: Notify | None, *, continues: bool) -> None:
    if notify is not None and resumption.lost is not None:
        notify(resumption.lost.notice(continues=continues))


def _end(store: LocalStore, recording: Recording, resumption: Resumption, now_ns: int) -> None:
    heartbeat_ns = recording.heartbeat_ms * _NS_PER_MS
    update_descriptor(
        store,
        recording.recording_id,
        stop_position=max(resumption.border_position, recording.start_position),
        # A damaged mark may hold any number, and a descriptor with a time that is negative or too large is unreadable.
        stop_time_ns=heartbeat_ns if 0 < heartbeat_ns <= now_ns else now_ns,
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
    """Return whether the image holds, or will receive, all frames from `position` on."""
    if position > image.position:
        # The image joined before the end of the recording: the frames up to there are in its log or will arrive.
        return position - image.position <= image.term_length
    while position < image.position:
        if image.position - position > image.term_length:
            return False
        block = image.block_peek(position, image.position - position)
        if not len(block):
            return False
        position += len(block)
    return True

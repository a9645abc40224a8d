"""Purge: deletes the beginning of a recording, or all of it.

Not here: the choice of segments to delete (leases, retention).
Invariant: the catalogue is changed first, and files are deleted after that: a crash in between leaves
unreferenced files, which the next purge of the recording, or the next recorder of the archive, deletes. The folder of a
recording that is deleted is renamed first; a remote store has no such operation, so that a list of its files, a file
with the same prefix, precedes their deletion.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from aeron_core.errors import AeronError, RecordingError
from aeron_core.recording.retention.states import RECORDER_TIMEOUT_NS, RecordingState, state_of
from aeron_core.recording.storage import names
from aeron_core.recording.storage.catalogue import (
    has_recorder,
    keep_reserve,
    lock,
    read_descriptor,
    write_descriptor_on_full_disk,
)
from aeron_core.recording.storage.file_store import FileStore, write_failure
from aeron_core.recording.storage.recording import Recording

#: Prefix of the folder of a recording that is being deleted, or of the list of its files.
_PURGED: Final = ".purged-"


def purge_before(store: FileStore, recording_id: int, position: int, *, keeps_last: bool = True) -> int:
    """Delete all segments that end at or before `position`, except the last one; return their bytes.

    Pass `keeps_last=False` only if a later segment was begun that readers cannot see yet. Raises
    RecordingNotFoundError for an unknown id, and RecordingError if the catalogue cannot be read or written, or a local
    file cannot be deleted; OSError if a remote store fails.
    """
    recording = Recording(store, recording_id)
    with lock(store):
        descriptor = read_descriptor(store, recording_id)
        last_position = recording.position - 1 if keeps_last else recording.position
        last = recording.segment_base(max(last_position, descriptor.start_position))
        start = min(recording.segment_base(max(position, descriptor.start_position)), last)
        if start > descriptor.start_position:
            write_descriptor_on_full_disk(store, descriptor.model_copy(update={"start_position": start}))
        else:
            start = descriptor.start_position
        first_base = start - start % descriptor.term_length
    length = _delete_segments_before(recording, store, first_base)
    keep_reserve(store)
    return length


def purge_recording(store: FileStore, recording_id: int, now_ns: int) -> int:
    """Delete a recording and return the bytes of its segments; `now_ns`: since the epoch.

    Raises RecordingError if it is being recorded, or its local files cannot be renamed, RecordingNotFoundError for an
    unknown id, OSError if a remote store fails.
    """
    recording = Recording(store, recording_id)
    with lock(store):
        state = state_of(recording, now_ns)
        if state is RecordingState.LIVE:
            raise RecordingError(
                f"recording {recording_id} in {store.uri}: is being recorded; stop its recorder, or, if that has died, "
                f"wait {RECORDER_TIMEOUT_NS // 1_000_000_000} s"
            )
        if state is RecordingState.ABANDONED and has_recorder(store):
            raise RecordingError(
                f"recording {recording_id} in {store.uri}: is not stopped, and a recorder of the archive, which may "
                "continue it, is running; stop that recorder"
            )
        length = sum(
            max(store.size(f"{recording_id}/{names.segment_file(recording_id, base)}"), 0)
            for base in recording.segments()
        )
        folder = store.local_path(str(recording_id))
        if folder is None:
            store.write(f"{_PURGED}{recording_id}", "\n".join(store.names(str(recording_id))).encode())
            store.delete(f"{recording_id}/{names.DESCRIPTOR}")
        else:
            _rename(folder, folder.with_name(f"{_PURGED}{recording_id}"))
    _delete_purged(store, f"{_PURGED}{recording_id}")
    return length


def _rename(folder: Path, target: Path) -> None:
    try:
        folder.rename(target)
    except OSError as error:
        raise write_failure("rename", folder, error) from error


def finish_purges(store: FileStore) -> None:
    """Delete what interrupted purges of whole recordings left."""
    for name in store.names():
        if name.startswith(_PURGED):
            _delete_purged(store, name)


def _delete_purged(store: FileStore, name: str) -> None:
    if store.local_path(name) is not None:
        store.delete_folder(name)
        return
    folder = name.removeprefix(_PURGED)
    # By name: an uploader may have begun to upload later segments of the recording again.
    listed = store.read(name).decode().split("\n")
    for each in [names.DESCRIPTOR, *listed]:
        store.delete(f"{folder}/{each}")
    if not store.names(folder):
        store.delete_folder(folder)
    store.delete(name)


def delete_orphans(store: FileStore, report: Callable[[AeronError], object]) -> None:
    """Delete files that interrupted purges left in a local archive; for its recorder, when it starts.

    An error of one recording, one of `purge_before`, is passed to `report`. Raises RecordingError if the folder cannot
    be read.
    """
    finish_purges(store)
    for name in store.names():
        recording_id = names.parse_recording_folder(name)
        if recording_id is not None and store.size(f"{name}/{names.DESCRIPTOR}") >= 0:
            try:
                purge_before(store, recording_id, 0)
            except AeronError as error:
                report(error)


def _delete_segments_before(recording: Recording, store: FileStore, first_base: int) -> int:
    length = 0
    recording_id = recording.recording_id
    for base in recording.segments():
        if base < first_base:
            name = f"{recording_id}/{names.segment_file(recording_id, base)}"
            length += max(store.size(name), 0)
            store.delete(name)
            store.delete(f"{recording_id}/{names.index_file(recording_id, base)}")
    return length

"""Conversion of archives: our recordings to the files of Aeron Archive, and the reverse.

Frames are copied as they are; the session ids of an extended recording become those of its last session, because ours
have one. A live recording is copied up to its last whole message, and stopped there. Ids are given anew, from 0 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.archive.server.channels import stripped
from aeron_core.archive.server.files.catalog import Catalog
from aeron_core.archive.server.files.catalogued import Catalogued
from aeron_core.archive.server.files.segment_files import BlockWriter, SegmentFiles
from aeron_core.errors import ChannelUriError, ConfigurationError
from aeron_core.file_access import PRIVATE
from aeron_core.frozen import frozen
from aeron_core.protocol.archive.codes import NULL_VALUE
from aeron_core.recording.reading.messages import whole_frames
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.file_store import LocalStore, make_folder
from aeron_core.recording.storage.foreign.contents import is_foreign
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.durability import Durability, DurabilityPolicy
from aeron_core.recording.writing.recording_writer import RecordingWriter
from aeron_core.uri.channel_uri import ChannelUri

_NS_PER_MS: Final = 1_000_000

Progress = Callable[[int], object]  # called with the bytes of each block


@frozen(slots=True)
class Converted:
    """One recording before and after; positions in bytes."""

    recording_id: int  # in the source
    converted_id: int  # in the target
    start_position: int
    stop_position: int


def convert(source: Archive, target: Path, progress: Progress) -> Iterator[Converted]:
    """Copy all recordings to a new archive of the other format, and yield each; the target must be empty.

    Raises ConfigurationError for another target, and the errors of reading and writing recordings.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigurationError(f"{target}: must be an empty folder, or not exist; choose another one")
    if is_foreign(source.store):
        return _to_ours(source, Archive.create(target), progress)
    make_folder(target, PRIVATE)
    return _to_aeron(source, target, progress)


def _to_aeron(source: Archive, target: Path, progress: Progress) -> Iterator[Converted]:
    catalog = Catalog(target, 0, sync=True)
    try:
        for recording in source.recordings():
            described = _described(recording)
            entry = catalog.add(described)
            end = recording.position
            if end > entry.start_position:
                files = SegmentFiles(target, entry)
                writer = BlockWriter(files, entry.start_position)
                try:
                    for block, length in _blocks(recording, entry.start_position, end):
                        writer.write(block, length)
                        progress(length)
                finally:
                    writer.close()
                files.sync()  # before the catalogue, which is flushed, describes them
            catalog.update(entry.recording_id, stop_position=end)
            yield Converted(recording.recording_id, entry.recording_id, entry.start_position, end)
    finally:
        catalog.close()


def _described(recording: Recording) -> Catalogued:
    """Return an entry that ends at its start, which is true until the frames are copied."""
    descriptor, start = recording.descriptor, recording.start_position
    try:
        kept = str(stripped(ChannelUri.parse(descriptor.channel)))
    except ChannelUriError:
        kept = descriptor.channel
    start_ms = descriptor.start_time_ns // _NS_PER_MS
    return Catalogued(
        recording_id=NULL_VALUE,
        start_time_ms=start_ms,
        stop_time_ms=(descriptor.stop_time_ns or descriptor.start_time_ns) // _NS_PER_MS,
        start_position=start,
        stop_position=start,
        initial_term_id=descriptor.initial_term_id,
        segment_length=descriptor.segment_length,
        term_length=descriptor.term_length,
        mtu_length=descriptor.mtu_length,
        session_id=descriptor.session_id,
        stream_id=descriptor.stream_id,
        stripped_channel=kept,
        channel=descriptor.channel,
        source_identity=descriptor.source_identity,
    )


def _to_ours(source: Archive, target: Archive, progress: Progress) -> Iterator[Converted]:
    store = target.store
    assert isinstance(store, LocalStore)
    with target.recorder_lock():
        for recording in source.recordings():
            descriptor, end = recording.descriptor, recording.position
            start_ns = descriptor.start_time_ns
            changes = {
                "recording_id": target.next_recording_id(),
                "start_position": recording.start_position,
                "stop_position": None,
                "stop_time_ns": None,
            }
            made = descriptor.model_copy(update=changes)
            writer = RecordingWriter(store, made, Durability(DurabilityPolicy.INTERVAL), now_ns=start_ns)
            try:
                for block, length in _blocks(recording, made.start_position, end):
                    writer.append(block, start_ns)
                    progress(length)
                writer.stop(descriptor.stop_time_ns or start_ns, is_end_of_stream=True)
            except BaseException:
                writer.abandon()
                raise
            yield Converted(recording.recording_id, made.recording_id, made.start_position, end)


def _blocks(recording: Recording, begin: int, end: int) -> Iterator[tuple[memoryview, int]]:
    """Yield blocks of one term and their lengths; padding is a block of its own, with its whole length."""
    descriptor, scanner = recording.descriptor, recording.scanner(verify=False)
    for start, data in whole_frames(recording, begin, end):
        buffer = bytearray(data)
        frames, view, position = AtomicBuffer(buffer), memoryview(buffer), start
        while position - start < len(buffer):
            offset = position - start
            left_in_term = descriptor.term_length - position % descriptor.term_length
            length = scanner.scan(frames, offset, min(len(buffer) - offset, left_in_term), position)
            if scanner.padding_offset == 0:
                length = positions.align_frame(frames.get_i32(offset))
                block = bytearray(length)
                block[: wire.DATA_HEADER_LENGTH] = buffer[offset : offset + wire.DATA_HEADER_LENGTH]
                _restamp(recording, scanner, AtomicBuffer(block), 0, length)
                yield memoryview(block), length
            else:
                if scanner.padding_offset > 0:
                    length = scanner.padding_offset
                assert length > 0, f"recording {recording.recording_id} position {position}: no frame"
                _restamp(recording, scanner, frames, offset, length)
                yield view[offset : offset + length], length
            position += length


def _restamp(
    recording: Recording, scanner: FrameScanner, frames: AtomicBuffer, offset: int, length: int
) -> None:
    if not recording.has_one_session:
        descriptor = recording.descriptor
        scanner.restamp(frames, offset, length, descriptor.session_id, descriptor.stream_id)

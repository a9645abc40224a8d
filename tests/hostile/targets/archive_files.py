"""The folder of an Aeron Archive: read, verified and served, or reported as damaged.

An input is changes of the files of a sound archive: the number of a part, and a block of an offset in it, two bytes,
and the bytes there. The offset in CUT is the new length of the catalogue in bytes; NAMED is the name of one more file,
with the content of a segment.
"""

from __future__ import annotations

import atexit
import shutil
import struct
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path

from aeron_core._native.clock import Clock
from aeron_core.archive.server.files.catalog import Catalog
from aeron_core.archive.server.files.catalogued import Catalogued
from aeron_core.archive.server.files.running_mark import MARK_FILE, MarkContents, RunningMark
from aeron_core.archive.server.files.segment_files import BlockWriter, SegmentFiles
from aeron_core.concurrent.counters import CountersManager
from aeron_core.errors import ArchiveRefusedError, ConfigurationError, RecordingError
from aeron_core.protocol.archive.codes import NULL_VALUE
from aeron_core.protocol.cnc import CNC_FILE, CncFile, CncLayout
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.storage.archive import Archive, FrameChecksum
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.foreign.catalog import CATALOG
from aeron_core.recording.storage.foreign.mark_file import read_mark
from aeron_core.recording.storage.foreign.recorded_positions import RECORDING_POSITION_TYPE_ID
from aeron_core.recording.storage.foreign.recording import ForeignRecording
from aeron_core.recording.storage.recording import Recording
from aeron_core.testing.recordings import (
    INITIAL_TERM_ID,
    NOW_NS,
    SESSION_ID,
    STREAM_ID,
    TERM_LENGTH,
    frames_at,
    padding_at,
)
from targets._script import Script, block
from targets._simulations import at_close, folder_in_memory
from targets._texts import check_text

HEADER, STOPPED, LIVE, FIRST, SECOND, OPEN, MARK, METADATA, VALUES, CUT, NAMED = range(11)
PARTS = 11
SEGMENTS = {FIRST: f"0-{TERM_LENGTH}.rec", SECOND: f"0-{2 * TERM_LENGTH}.rec", OPEN: "1-0.rec"}
START = TERM_LENGTH + 96
#: Of an entry in the sound catalogue, and of the catalogue.
ENTRY_LENGTH = 192
CATALOG_LENGTH = 1024
MAX_CHANGES = 16
MAX_MESSAGES = 20_000
#: Of a read: more than the files of an input have.
MAX_LENGTH = 1 << 20
COUNTERS = 8
LAYOUT = CncLayout.of(
    to_driver_length=1024 + 768,
    to_clients_length=1024 + 128,
    counters_values_length=COUNTERS * 128,
    error_log_length=1024,
    page_size=4096,
)
NOW_MS = NOW_NS // 1_000_000
SOUND = Catalogued(
    recording_id=0,
    start_time_ms=NOW_MS,
    stop_time_ms=NULL_VALUE,
    start_position=START,
    stop_position=NULL_VALUE,
    initial_term_id=INITIAL_TERM_ID,
    segment_length=TERM_LENGTH,
    term_length=TERM_LENGTH,
    mtu_length=1408,
    session_id=SESSION_ID,
    stream_id=STREAM_ID,
    stripped_channel="aeron:ipc",
    channel="aeron:ipc",
    source_identity="aeron:ipc",
)
PAYLOADS = (b"one", b"", b"x" * 40)

_resources = ExitStack()


@cache
def folder() -> Path:
    """Return a folder that exists until `close_all`, or the end of the process."""
    return _resources.enter_context(folder_in_memory())


@cache
def sound() -> dict[str, bytes]:
    """Return the files of an archive with a recording that was stopped, and one that is live, and its driver's file."""
    place = folder() / "sound"
    place.mkdir()
    catalog = Catalog(place, NOW_MS)
    first, last = frames_at(START, PAYLOADS), frames_at(2 * TERM_LENGTH, PAYLOADS)
    padding = padding_at(START + len(first), TERM_LENGTH - 96 - len(first))
    stopped = catalog.add(SOUND)
    _write(SegmentFiles(place, stopped), START, first, padding, last)
    catalog.update(0, stop_time_ms=NOW_MS + 5, stop_position=2 * TERM_LENGTH + len(last))
    live = catalog.add(replace(SOUND, start_position=0))
    _write(SegmentFiles(place, live), 0, frames_at(0, PAYLOADS))
    catalog.close()
    contents = MarkContents(1, 10, 11, 12, "aeron:ipc", "aeron:ipc", "aeron:ipc", str(folder() / "hostile"))
    RunningMark(place, contents, NOW_MS).close()
    _create_driver(place)
    files = {path.name: path.read_bytes() for path in place.iterdir()}
    files[CATALOG] = files[CATALOG][:CATALOG_LENGTH]
    files[MARK_FILE] = files[MARK_FILE][:1024]
    return files


def _write(files: SegmentFiles, position: int, *blocks: bytes) -> None:
    writer = BlockWriter(files, position)
    for each in blocks:
        writer.write(memoryview(each), len(each))
    writer.close()


def _create_driver(place: Path) -> None:
    cnc = CncFile.create(
        place / CNC_FILE, LAYOUT, client_liveness_timeout_ns=10**10, start_timestamp_ms=NOW_MS, pid=1
    )
    counters = CountersManager(cnc.counters_metadata, cnc.counters_values, Clock.manual(), 0)
    key = struct.pack("<qii", 1, SESSION_ID, 9) + b"aeron:ipc" + struct.pack("<q", 1)
    counters.set_value(counters.allocate(RECORDING_POSITION_TYPE_ID, "rec-pos", key), 64)
    cnc.publish()


def _close() -> None:
    _resources.close()
    folder.cache_clear()
    sound.cache_clear()


at_close(_close)
atexit.register(_close)


def change(part: int, offset: int, data: bytes) -> bytes:
    return block(offset.to_bytes(2, "little") + data, part)


def seeds() -> list[bytes]:
    now, header = struct.pack("<q", NOW_MS), frames_at(START, PAYLOADS)[:32]
    return [
        b"",
        # Live: the position is that of the counter, without a counter that of the frames.
        change(MARK, 16, b"\xff" * 6),
        change(MARK, 16, b"\xff" * 6) + change(METADATA, 0, bytes(4)),
        change(VALUES, 0, struct.pack("<q", 96)),
        change(LIVE, 32 + 48, struct.pack("<q", 64)),
        change(STOPPED, 4, b"\2") + change(NAMED, 0, b"0-0.rec"),
        change(HEADER, 8, struct.pack("<q", 7)) + change(STOPPED, 32 + 24, now),
        change(STOPPED, 0, sound()[CATALOG][32 : 32 + ENTRY_LENGTH]),
        change(FIRST, 96, header) + change(SECOND, 0, frames_at(2 * TERM_LENGTH, PAYLOADS)[:64]),
        change(NAMED, 0, b"1-65536.rec") + change(OPEN, 0, frames_at(0, PAYLOADS)[:32]),
    ]


def _offset(part: int) -> tuple[str, int]:
    """Return the file of a part, and the offset of the part in it."""
    if part in SEGMENTS:
        return SEGMENTS[part], 0
    if part in {METADATA, VALUES}:
        return (
            CNC_FILE,
            LAYOUT.counters_metadata_offset if part == METADATA else LAYOUT.counters_values_offset,
        )
    if part == MARK:
        return MARK_FILE, 0
    return CATALOG, {HEADER: 0, STOPPED: 32, LIVE: 32 + ENTRY_LENGTH}[part]


def files_of(data: bytes) -> dict[str, bytes]:
    """Return the contents of the files with the changes of an input."""
    files = {name: bytearray(content) for name, content in sound().items()}
    named: set[str] = set()
    length = CATALOG_LENGTH
    for number, content in Script(data).blocks(MAX_CHANGES):
        part, offset, bytes_ = number % PARTS, int.from_bytes(content[:2], "little"), content[2:]
        if part == CUT:
            length = offset
        elif part == NAMED:
            named.add(bytes_[:40].decode("ascii", "replace").replace("/", "_").replace("\0", "_"))
        else:
            name, begin = _offset(part)
            at = begin + offset % len(files[name])
            files[name][at : at + len(bytes_)] = bytes_[: max(len(files[name]) - at, 0)]
    files[CATALOG] = files[CATALOG][:length].ljust(min(length, CATALOG_LENGTH), b"\0")
    return {name: bytes(files[SEGMENTS[OPEN]]) for name in named if name.strip(".")} | {
        name: bytes(content) for name, content in files.items()
    }


def check(data: bytes) -> bool:
    place = folder() / "hostile"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    files = files_of(data)
    for name, content in files.items():
        (place / name).write_bytes(content)
    read_mark(LocalStore(place))
    # With each checksum that frames may have, and without: no input needs to be read with all of them.
    is_sound = check_read(place, (None, *FrameChecksum)[len(data) % 3])
    assert {path.name: path.read_bytes() for path in place.iterdir()} == files
    is_served = check_served(place)
    return is_sound or is_served


def check_read(place: Path, checksum: FrameChecksum | None) -> bool:
    """Read the archive as the command line and Spark do; nothing is changed."""
    try:
        archive = Archive.open(place, checksum=checksum)
        faults = archive.faults()
        recordings = archive.recordings()
    except RecordingError as error:
        check_text(error, 1000)
        return False
    for fault in faults:
        check_text(fault, 1000)
    ids = [recording.recording_id for recording in recordings]
    assert ids == sorted(set(ids))
    sound = [check_recording(archive, recording) for recording in recordings]
    return bool(sound) and all(sound) and not faults


def check_recording(archive: Archive, recording: Recording) -> bool:
    assert isinstance(recording, ForeignRecording)
    try:
        start, end = recording.start_position, recording.position
        assert 0 <= start <= end
        assert start <= recording.interrupted_end()
        recording.detect_checksum()
        for position in {end, (start + end) // 64 * 32}:
            assert recording.border_before(position, start) >= start
            assert recording.border_after(position) <= max(end, start)
        assert recording.position_at(NOW_NS) >= start
        recording.time_behind(start)
        assert recording.heartbeat_ms >= 0
        assert recording.segments() == sorted(set(recording.segments()))
        faults = verify(archive.store, recording, NOW_NS, lambda _: None).faults
        assert all(str(fault) for fault in faults[:100])
    except RecordingError as error:
        check_text(error, 1000)
        return False
    return check_messages(recording, start, min(end, start + MAX_LENGTH)) and not faults


def check_messages(recording: Recording, start: int, end: int) -> bool:
    count = 0
    try:
        for message in messages(recording, start, end):
            assert start < message.position <= end
            count += 1
            assert count < MAX_MESSAGES
    except (RecordingError, ConfigurationError) as error:
        check_text(error, 1000)
        return False
    return True


def check_served(place: Path) -> bool:
    """Serve the archive: what is written is read again, whatever was in the files."""
    try:
        catalog = Catalog(place, NOW_MS)
    except RecordingError as error:
        check_text(error, 1000)
        return False
    try:
        for entry in list(catalog.entries.values())[:4]:
            check_segments(place, entry)
        # With a stop position: what has none gets one when it is opened.
        added = catalog.add(replace(SOUND, stop_position=START))
        catalog.update(added.recording_id, channel="aeron:udp?endpoint=127.0.0.1:1|alias=" + "a" * 100)
        first = next(iter(catalog.entries))
        catalog.update(first, stop_position=catalog.entries[first].start_position, stop_time_ms=NOW_MS)
        catalog.update(first, channel="aeron:ipc?alias=" + "b" * 300)
        kept = dict(catalog.entries)
    finally:
        catalog.close()
    assert_is_read(place, kept)
    return True


def assert_is_read(place: Path, kept: dict[int, Catalogued]) -> None:
    catalog = Catalog(place, NOW_MS)
    found = catalog.entries
    catalog.close()
    assert found == kept


def check_segments(place: Path, entry: Catalogued) -> None:
    """Look for frames as requests of a client do."""
    files = SegmentFiles(place, entry)
    files.all_paths()
    for position in {entry.start_position, entry.stop_position}:
        base = files.base_of(position)
        try:
            files.has_frame_at(position)
            assert base <= files.first_frame_of(base) < base + entry.term_length
        except (RecordingError, ArchiveRefusedError) as error:
            check_text(error, 1000)

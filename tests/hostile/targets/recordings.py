"""The files of an archive with one recording: read, verified and recovered, or reported as damaged.

An input is the contents of files that replace those of a sound archive: the index of a file in FILES, and its content.
"""

from __future__ import annotations

import atexit
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError, RecordingError
from aeron_core.recording.reading.message_columns import MessageColumns
from aeron_core.recording.reading.message_scanner import MessageScanner
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.retention.leases import read_leases
from aeron_core.recording.storage.archive import Archive
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.recovery import recover
from aeron_core.testing.recordings import NOW_NS, RecordingUnderTest
from targets._script import Script, block
from targets._simulations import at_close, folder_in_memory
from targets._texts import check_text

DESCRIPTOR, SEGMENT, INDEX, MARK, ARCHIVE, LEASE = range(6)
FILES = ("0/recording.json", "0/0-0.rec", "0/0-0.idx", "0/mark", "archive.json", "consumers/one.json")
PAYLOADS = (b"one", b"", b"x" * 40)
MAX_MESSAGES = 10_000
#: Of a read: more than the files of an input have.
MAX_LENGTH = 1 << 20


@dataclass
class Sound:
    """The contents of sound files by their index in FILES, and the messages in them."""

    contents: dict[int, bytes]
    read: list[bytes]


_resources = ExitStack()


@cache
def folder() -> Path:
    """Return a folder that exists until `close_all`, or the end of the process."""
    return _resources.enter_context(folder_in_memory())


@cache
def sound() -> Sound:
    place = folder() / "sound"
    written = RecordingUnderTest.begin(place)
    for payload in PAYLOADS:
        written.append(payload)
    live = {MARK: (place / FILES[MARK]).read_bytes()}
    written.stop()
    files = {index: place / name for index, name in enumerate(FILES)}
    contents = {index: path.read_bytes() for index, path in files.items() if path.exists()} | live
    contents[SEGMENT] = contents[SEGMENT].rstrip(b"\0").ljust(written.position, b"\0")[: written.position]
    contents[LEASE] = b'{"version":1,"name":"one","positions":{"0":32},"updated_ns":%d}\n' % NOW_NS
    return Sound(contents, list(PAYLOADS))


def _close() -> None:
    _resources.close()
    folder.cache_clear()
    sound.cache_clear()


at_close(_close)
atexit.register(_close)


def seeds() -> list[bytes]:
    contents = sound().contents
    return [
        b"",
        *(block(contents[index], index) for index in contents if index != MARK),
        block(contents[SEGMENT], SEGMENT) + block(contents[INDEX], INDEX),
        block(
            contents[DESCRIPTOR].replace(b'"stop_position": %d' % written_length(), b'"stop_position": null'),
            0,
        )
        + block(contents[MARK][:256], MARK),
    ]


def written_length() -> int:
    return len(sound().contents[SEGMENT])


def check(data: bytes) -> bool:
    place = folder() / "hostile"
    shutil.rmtree(place, ignore_errors=True)
    for part in ("0", "consumers"):
        (place / part).mkdir(parents=True)
    replaced = {index % len(FILES): content for index, content in Script(data).blocks(len(FILES))}
    contents = sound().contents | replaced
    if MARK not in replaced:
        # Of a recorder that has stopped.
        del contents[MARK]
    for index, content in contents.items():
        padded = content.ljust(4096, b"\0") if index == MARK else content
        (place / FILES[index]).write_bytes(padded)
    try:
        archive = Archive.open(place)
        read_leases(archive.store)
        (recording,) = archive.recordings()
        check_positions(recording)
        faults = verify(archive.store, recording, NOW_NS, lambda _: None).faults
        assert all(str(fault) for fault in faults[:100])
    except RecordingError as error:
        check_text(error, 10_000)
        return False
    is_read = check_messages(recording, is_original=not replaced.keys() - {SEGMENT})
    check_columns(recording, contents[SEGMENT])
    check_recovery(place)
    return is_read and not faults


def check_positions(recording: Recording) -> None:
    start, end = recording.start_position, recording.position
    assert 0 <= start
    for position in {start, end, (start + end) // 64 * 32}:
        assert recording.border_before(position, start) >= start
        assert recording.border_after(position) <= max(end, start)
    assert recording.position_at(NOW_NS) >= start
    recording.time_behind(start)


def check_messages(recording: Recording, *, is_original: bool) -> bool:
    start = recording.start_position
    end = min(recording.position, start + MAX_LENGTH)
    is_whole = True
    for is_verified in (True, False):
        found = []
        try:
            for message in messages(recording, start, end, verify=is_verified):
                assert start < message.position <= end
                found.append(message.payload)
                assert len(found) < MAX_MESSAGES
        except (RecordingError, ConfigurationError) as error:
            check_text(error, 10_000)
            is_whole = False
        if is_verified and is_original:
            # Damaged data has other checksums: what is read was written.
            assert found == sound().read[: len(found)]
    return is_whole


def check_columns(recording: Recording, data: bytes) -> None:
    """Scan the first segment as a data pipeline does, which has memory for some messages."""
    buffer = AtomicBuffer(data)
    for is_assembling in (True, False):
        scanner = MessageScanner(recording.scanner(), is_assembling=is_assembling)
        columns = MessageColumns(4, 256)
        scanned, step = 0, 1
        while step and scanned < len(data):
            step = scanner.scan(buffer, scanned, len(data) - scanned, scanned, columns)
            assert step >= 0
            scanned += step
            columns.clear()


def check_recovery(place: Path) -> None:
    """Recover twice: the second time finds what the first has left, and readers find no whole frame missing."""
    store = LocalStore(place)
    try:
        first = recover(store, 0, NOW_NS)
        again = recover(store, 0, NOW_NS)
    except (RecordingError, OSError) as error:
        check_text(error, 10_000)
        return
    assert first.border_position <= first.position
    assert (again.position, again.border_position) == (first.position, first.border_position)
    assert again.can_continue == first.can_continue

"""Invariants of the logs of clients and of the archives, checked when everything has ended."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from aeron_core.errors import AeronError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify
from laboratory.records import ACKED, DAMAGED, RECEIVED, SENT, read_log, read_message

Report = Callable[[str], None]
#: Position of each sent message, by source and number.
Sent = dict[tuple[int, int], int]
#: Exceptions that no fault may cause: the product, or a build of parts that do not fit each other, is wrong.
DEFECTS = re.compile(
    r"\b(Assertion|Attribute|Index|Key|Name|Recursion|Reference|System|Type|UnboundLocal|ZeroDivision)Error\b"
)


def sent_of(log: Path) -> Sent:
    """Return the messages that a publisher has logged."""
    return {
        (record.source, record.number): record.position for record in read_log(log) if record.kind == SENT
    }


def check_images(name: str, log: Path, sent: Sent | None, report: Report) -> int:
    """Check that each image is whole, in order and without a gap; return the number of messages.

    `sent`: positions that must be equal, None for media with positions of their own.
    """
    order: dict[int, Order] = {}
    count = 0
    for record in read_log(log):
        if record.kind == DAMAGED:
            report(
                f"{name}: damaged message of {record.number} bytes before {record.position} in {record.image}"
            )
            continue
        count += 1
        image = order.setdefault(record.image, Order(f"{name}: image {record.image}", sent, report))
        image.check((record.source, record.number), record.position)
    return count


class Order:
    """Messages of one image or recording: the numbers of each publication are consecutive.

    A publication that several clients add is one stream: after the death of a client, the messages of the next one
    follow in the same image, from number 0.
    """

    def __init__(self, where: str, sent: Sent | None, report: Report) -> None:
        self._where, self._sent, self._report = where, sent, report
        self._before: tuple[int, int] | None = None
        self._position = -1

    def check(self, key: tuple[int, int], position: int) -> None:
        """Check the next message, by source and number, with its position."""
        before = self._before
        if position <= self._position:
            self._report(f"{self._where}: position went from {self._position} to {position} at {key}")
        if self._sent is not None and self._sent.get(key, position) != position:
            self._report(f"{self._where}: {key} is at {position}, was published at {self._sent[key]}")
        is_next = before is None or key == (before[0], before[1] + 1) or (key[0] != before[0] and key[1] == 0)
        if not is_next:
            self._report(f"{self._where}: gap or disorder from {before} to {key} at {position}")
        self._before, self._position = key, position


def check_errors(name: str, errors: Iterable[str], report: Report) -> None:
    """Check that the errors that a driver has logged are not defects of the program."""
    for error in errors:
        if DEFECTS.search(error):
            report(f"{name} logged a defect: {error}")


def check_acknowledged(name: str, writer: Path, reader: Path, report: Report) -> int:
    """Check that every message that a publication's sender position has passed was received; return their number."""
    received = {(record.source, record.number) for record in read_log(reader) if record.kind == RECEIVED}
    acked: dict[int, int] = {}
    for record in read_log(writer):
        if record.kind == ACKED:
            acked[record.source] = max(acked.get(record.source, -1), record.position)
    passed = {key for key, position in sent_of(writer).items() if position <= acked.get(key[0], -1)}
    missing = sorted(passed - received)
    if missing:
        report(f"{name}: {len(missing)} acknowledged messages are missing, such as {missing[:5]}")
    return len(passed)


def check_archive(name: str, folder: Path, reported: Mapping[int, int], sent: Sent, report: Report) -> int:
    """Check an archive: no fault, whatever was reported as recorded is readable, no gap; return the number of messages.

    A reported position may be within a message of several frames, which is not readable unless the rest is recorded.
    """
    count = 0
    archive = Archive.open(folder)
    recordings = {recording.recording_id: recording for recording in archive.recordings()}
    for recording_id in reported.keys() - recordings.keys():
        report(f"{name}: recording {recording_id} was reported, but does not exist")
    for recording_id, recording in recordings.items():
        where = f"{name}: recording {recording_id}"
        try:
            for fault in verify(archive.store, recording, time.time_ns(), lambda length: None).faults:
                report(f"{name}: {fault}")
            found = [
                (message.position, message.payload)
                for message in messages(recording, recording.start_position, recording.position)
            ]
            count += len(found)
            sources = _check_messages(where, found, sent, report)
            end = reported.get(recording_id, 0)
            lost = [
                key
                for key, position in sent.items()
                if key[0] in sources and recording.position < position <= end
            ]
            if lost:
                report(
                    f"{where}: reported position {end}, but can be read to {recording.position}, without {lost[:5]}"
                )
        except AeronError as error:
            report(f"{where}: {type(error).__name__}: {error}")
    return count


def _check_messages(where: str, found: Iterable[tuple[int, bytes]], sent: Sent, report: Report) -> set[int]:
    """Check the messages of a recording; return their sources."""
    order, sources = Order(where, sent, report), set()
    for position, payload in found:
        key = read_message(payload)
        if key is None:
            report(f"{where}: damaged message before {position}")
        else:
            sources.add(key[0])
            order.check(key, position)
    return sources

"""Messages that a test offers, waits for and reads back from an archive."""

import time

from aeron_core.recording import Archive

DEADLINE_S = 100


def until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline_s
        time.sleep(0.001)
    return found


def offer(publication, messages):
    for message in messages:
        until(lambda message=message: publication.offer(message) > 0)


def numbered(begin, end):
    return [number.to_bytes(8, "little") + bytes(number % 400) for number in range(begin, end)]


def payloads(archive, recording_id=0):
    recording = archive.recording(recording_id)
    data = b"".join(piece for _, piece in recording.read(recording.start_position, recording.position))
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        if data[at + 6] == 1:
            found.append(data[at + 32 : at + length])
        at += (length + 31) // 32 * 32
    return found


def archive_at(path):
    return until(lambda: (path / "archive.json").exists() and Archive.open(path))

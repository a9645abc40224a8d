"""Recordings whose writer dies, and what recovery and verification find in them."""

from aeron_core.recording.reading.verification import verify
from aeron_core.recording.writing.durability import Durability
from aeron_core.recording.writing.recording_writer import RecordingWriter
from aeron_core.recording.writing.recovery import recover
from aeron_core.testing.recordings import (
    NOW_NS,
)

LATER_NS = NOW_NS + 10**9


def die(written):
    """Leave the files as a killed process does."""
    written.writer.abandon()


def resume(written):
    resumption = recover(written.store, 0, LATER_NS)
    written.writer = RecordingWriter(
        written.store, written.writer.descriptor, Durability(), now_ns=LATER_NS, resumption=resumption
    )
    return resumption


def tear(written, data, at):
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(at)
        file.write(data)


def faults(written):
    found = verify(written.store, written.archive.recording(0), LATER_NS, lambda length: None).faults
    return [(fault.position, fault.file) for fault in found]


def content(written):
    return {path.name: path.read_bytes() for path in written.folder.iterdir()}

"""Acceptance of damage that the user has decided on."""

import errno
import os
from random import Random

import pytest

from aeron_core.errors import StorageError
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.writing import acceptance
from aeron_core.recording.writing.acceptance import accept_damage
from aeron_core.testing.recordings import TERM_LENGTH, frame_at

SEGMENT = 2 * TERM_LENGTH


@pytest.fixture
def ended(written):
    """An ended recording of two and a half segments."""
    for _ in range(5):
        written.fill_term()
    written.stop()
    return written


def faults(written):
    recording = written.archive.recording(0)
    return [
        str(fault) for fault in verify(written.store, recording, written.now_ns, lambda length: None).faults
    ]


def accept(written):
    return list(accept_damage(written.store, written.archive.recording(0), written.now_ns))


def tear(written, at, data, name="0-0.rec"):
    with (written.folder / name).open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_a_sound_recording_is_not_changed(ended):
    before = {path.name: path.read_bytes() for path in ended.folder.iterdir()}

    assert accept(ended) == []
    assert {path.name: path.read_bytes() for path in ended.folder.iterdir()} == before


def test_valid_frames_get_the_checksum_of_their_content_and_the_old_index_is_kept(ended):
    tear(ended, 100, b"x")
    data, index = (ended.folder / "0-0.rec").read_bytes(), (ended.folder / "0-0.idx").read_bytes()
    assert len(faults(ended)) == 1

    done = accept(ended)

    assert len(done) == 1
    assert done[0].startswith("recording 0 positions 0 to ")
    assert faults(ended) == []
    assert (ended.folder / "0-0.rec").read_bytes() == data
    assert (ended.folder / f"0-0.idx.{ended.now_ns}").read_bytes() == index
    assert len(list(messages(ended.archive.recording(0), 0, 5 * TERM_LENGTH))) == 5 * 62


@pytest.mark.parametrize("damage", [os.unlink, lambda path: os.truncate(path, 24)], ids=["missing", "short"])
def test_a_lost_index_is_made_anew(ended, damage):
    damage(ended.folder / f"0-{SEGMENT}.idx")
    assert len(faults(ended)) == 1

    accept(ended)

    assert faults(ended) == []


def test_a_recording_ends_before_an_invalid_frame_of_its_last_file(ended):
    tear(ended, 1056, b"\xff\xff\xff\xff", f"0-{2 * SEGMENT}.rec")

    done = accept(ended)

    end = 2 * SEGMENT + 1056
    assert f"recording 0 ends at position {end}, not at {5 * TERM_LENGTH}" in done
    assert (ended.archive.recording(0).position, faults(ended)[1:]) == (end, [])


def test_invalid_frames_before_the_last_file_stay_a_fault(ended):
    tear(ended, 1056, b"\xff\xff\xff\xff")

    assert accept(ended) == []
    assert len(faults(ended)) == 1


def test_an_end_that_no_file_contains_becomes_that_of_the_last_file(ended):
    path = ended.folder / "recording.json"
    path.write_text(
        path.read_text().replace(f'"stop_position": {5 * TERM_LENGTH}', '"stop_position": 4398046511104')
    )
    assert len(faults(ended)) == 2

    accept(ended)

    assert (ended.archive.recording(0).position, faults(ended)) == (5 * TERM_LENGTH, [])


def test_the_last_file_of_a_recording_with_a_recorder_is_left_alone(written):
    for _ in range(3):
        written.fill_term()
    written.writer.beat(written.now_ns)
    tear(written, 100, b"x")
    tear(written, 100, b"x", f"0-{SEGMENT}.rec")
    assert len(faults(written)) == 2

    accept(written)

    (fault,) = faults(written)
    assert f"position {SEGMENT}" in fault
    assert written.archive.recording(0).is_live


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EACCES])
def test_a_file_that_cannot_be_opened_is_left_alone(ended, monkeypatch, code):
    tear(ended, 100, b"x", f"0-{2 * SEGMENT}.rec")
    before = {path.name: path.read_bytes() for path in ended.folder.iterdir()}

    def fail(path, **options):
        if path.name == f"0-{2 * SEGMENT}.rec":
            raise StorageError(code, "cannot map the file", path)
        return open_file(path, **options)

    open_file = acceptance.open_mapped_file
    monkeypatch.setattr(acceptance, "open_mapped_file", fail)
    with pytest.raises(StorageError):
        accept(ended)

    assert {path.name: path.read_bytes() for path in ended.folder.iterdir()} == before


BEGIN, MIDDLE, END, WHOLE = 0x80, 0, 0x40, 0xC0


def append_fragments(written, *blocks):
    """Append frames of 96 bytes with these flags; each block gets an entry in the index."""
    for flags in blocks:
        at = written.writer.written_position
        written.append_block(
            b"".join(frame_at(at + 96 * number, b"x" * 64, flags=each) for number, each in enumerate(flags))
        )


@pytest.mark.parametrize(
    ("blocks", "damaged", "end"),
    [
        ([[WHOLE], [BEGIN], [MIDDLE, END]], 2, 1),
        ([[WHOLE, BEGIN], [MIDDLE, END]], 2, 1),
        ([[WHOLE], [BEGIN, END, BEGIN], [MIDDLE], [END]], 4, 3),
        ([[BEGIN], [MIDDLE, END]], 2, 0),
    ],
)
def test_a_recording_ends_at_the_end_of_a_message(written, blocks, damaged, end):
    append_fragments(written, *blocks)
    written.stop()
    tear(written, damaged * 96, b"\xff\xff\xff\xff")

    accept(written)

    assert written.archive.recording(0).position == 96 * end
    assert all("bytes after the end are not whole frames" in fault for fault in faults(written))
    assert len(list(messages(written.archive.recording(0), 0, 96 * end))) == (2 if end == 3 else end)


def test_a_last_frame_that_ends_no_message_any_more_is_dropped(written):
    append_fragments(written, [WHOLE], [BEGIN], [END])
    written.stop()
    tear(written, 2 * 96 + 5, bytes([MIDDLE]))

    accept(written)

    assert (written.archive.recording(0).position, faults(written)) == (96, [])


PADDING = 2 * SEGMENT + 62 * 1056  # position of the padding of the last term


@pytest.mark.parametrize("has_index", [True, False])
def test_a_recording_ends_before_padding_whose_body_is_missing(ended, has_index):
    os.truncate(ended.folder / f"0-{2 * SEGMENT}.rec", PADDING - 2 * SEGMENT + 32)
    if not has_index:
        (ended.folder / f"0-{2 * SEGMENT}.idx").unlink()

    done = accept(ended)

    assert done[-1] == f"recording 0 ends at position {PADDING}, not at {5 * TERM_LENGTH}"
    assert (ended.archive.recording(0).position, faults(ended)) == (PADDING, [])


def test_the_whole_messages_of_a_file_that_is_too_short_are_kept(ended):
    os.truncate(ended.folder / f"0-{2 * SEGMENT}.rec", 3 * 1056)

    accept(ended)

    assert (ended.archive.recording(0).position, faults(ended)) == (2 * SEGMENT + 3 * 1056, [])


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_last_file_ends_at_valid_frames(ended, seed):
    random = Random(seed)
    for name, length in ((f"0-{2 * SEGMENT}.rec", TERM_LENGTH), (f"0-{2 * SEGMENT}.idx", 48)):
        if random.random() < 0.7:
            tear(ended, random.randrange(length), random.randbytes(random.randint(1, 8)), name)
        if random.random() < 0.5:
            os.truncate(ended.folder / name, random.randrange(length + 1))

    accept(ended)

    recording = ended.archive.recording(0)
    assert all("bytes after the end are not whole frames" in fault for fault in faults(ended))
    assert sum(1 for _ in messages(recording, 0, recording.position)) >= 4 * 62

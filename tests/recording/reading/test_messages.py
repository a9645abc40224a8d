"""Messages of a recording, and their export."""

import io

import pytest

from aeron_core.errors import ConfigurationError, CorruptRecordingError
from aeron_core.recording.reading import messages as module
from aeron_core.recording.reading.export import ExportFormat, export
from aeron_core.recording.reading.messages import messages
from aeron_core.testing.recordings import MILLISECOND_NS, NOW_NS, TERM_LENGTH, frame_at, padding_at

BEGIN, MIDDLE, END = 0x80, 0x00, 0x40


@pytest.fixture
def recording(written):
    """A message, one of three fragments, padding, and one in the next term."""
    written.append_block(frame_at(0, b"one", reserved_value=7))
    written.append_block(
        frame_at(64, b"t" * 32, flags=BEGIN, reserved_value=8)
        + frame_at(128, b"w" * 32, flags=MIDDLE, reserved_value=9)
        + frame_at(192, b"o", flags=END)
    )
    written.append_block(padding_at(256, TERM_LENGTH - 256))
    written.append(b"three")
    return written.archive.recording(0)


def test_messages_are_whole_with_their_position_and_time(recording):
    found = list(messages(recording, 0, recording.position))

    assert [message.payload for message in found] == [b"one", b"t" * 32 + b"w" * 32 + b"o", b"three"]
    assert [message.position for message in found] == [64, 256, TERM_LENGTH + 64]
    assert [message.reserved_value for message in found] == [7, 8, 0]
    assert [message.time_ns - NOW_NS for message in found] == [
        MILLISECOND_NS, 2 * MILLISECOND_NS, 4 * MILLISECOND_NS,
    ]  # fmt: skip


@pytest.mark.parametrize("chunk_length", [32, 64, 96, 1000 * 32])
def test_the_chunk_length_does_not_change_the_messages(recording, monkeypatch, chunk_length):
    whole = list(messages(recording, 0, recording.position))
    monkeypatch.setattr(module, "_CHUNK_LENGTH", chunk_length)

    assert list(messages(recording, 0, recording.position)) == whole


def test_a_message_that_begins_before_the_range_is_skipped(recording):
    assert [message.payload for message in messages(recording, 128, recording.position)] == [b"three"]


def test_a_message_that_ends_behind_the_range_is_skipped(recording):
    assert [message.payload for message in messages(recording, 0, 192)] == [b"one"]


def test_a_damaged_frame_at_the_begin_of_the_range_is_no_wrong_position(written, recording):
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(64)
        file.write((7).to_bytes(4, "little"))

    with pytest.raises(CorruptRecordingError, match="recording 0 position 64: "):
        list(messages(recording, 64, recording.position, verify=False))


def test_a_range_that_begins_within_a_frame_raises(recording):
    with pytest.raises(ConfigurationError, match="position 32: no frame begins there"):
        list(messages(recording, 32, recording.position))


def test_an_invalid_frame_raises_with_its_position(written, recording):
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(64)
        file.write(b"\xff\xff")

    with pytest.raises(CorruptRecordingError, match="recording 0 position 64: frame length=65535"):
        list(messages(recording, 0, recording.position))


def exported(recording, form):
    file = io.BytesIO()
    count = export(messages(recording, 0, recording.position), recording.descriptor, file, form)
    return count, file.getvalue()


def test_lines_are_messages_and_newlines(recording):
    assert exported(recording, ExportFormat.LINES) == (3, b"one\n" + b"t" * 32 + b"w" * 32 + b"o\nthree\n")


def test_length_prefixes_are_little_endian(recording):
    count, data = exported(recording, ExportFormat.LENGTH_PREFIXED)

    assert (count, data[:8]) == (3, b"\3\0\0\0one" + b"\x41")


@pytest.mark.parametrize("form", [ExportFormat.ARROW, ExportFormat.PARQUET])
def test_tables_have_the_stream_and_position_of_each_message(recording, form):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    count, data = exported(recording, form)

    table = (
        pa.ipc.open_file(data).read_all() if form == "arrow" else parquet.read_table(pa.BufferReader(data))
    )
    assert count == table.num_rows == 3
    assert table["payload"].to_pylist()[::2] == [b"one", b"three"]
    assert table["position"].to_pylist() == [64, 256, TERM_LENGTH + 64]
    assert table["time"].cast(pa.int64()).to_pylist()[0] == NOW_NS + MILLISECOND_NS
    assert table["session_id"].to_pylist() == [11] * 3


def test_damaged_payload_raises_before_its_message_unless_the_reader_does_not_verify(written, recording):
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(64 + 32)
        file.write(b"x")

    read = []
    with pytest.raises(
        CorruptRecordingError, match="recording 0 position 64: the frames up to 256 do not have"
    ):
        read.extend(messages(recording, 0, recording.position))
    found = [message.payload for message in messages(recording, 0, recording.position, verify=False)]
    assert found == [b"one", b"x" + b"t" * 31 + b"w" * 32 + b"o", b"three"]


def test_a_wrong_frame_length_is_reported_without_verification(written):
    for _ in range(2):
        written.fill_term()
    written.stop()
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(1056)
        # Within the term, but far beyond the mtu.
        file.write((60_000).to_bytes(4, "little"))
    recording = written.archive.recording(0)
    found = []

    with pytest.raises(CorruptRecordingError, match="position 1056: "):
        found.extend(messages(recording, 0, 60_000, verify=False))


def test_a_wrong_length_of_the_last_frame_is_reported_without_verification(written):
    written.append(b"one", b"two")
    written.stop()
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(64)
        file.write((99).to_bytes(4, "little"))

    with pytest.raises(CorruptRecordingError, match="position 64: "):
        list(messages(written.archive.recording(0), 0, 128, verify=False))

"""Recordings as Arrow batches, without Spark."""

import gc
import os

import numpy as np
import pyarrow as pa
import pytest
from pyspark_aeron.columns import COLUMNS, KAFKA_COLUMNS, arrow_schema, columns_of
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading import range_reader
from pyspark_aeron.reading.range_reader import read_batches
from pyspark_aeron.reading.selection import Range

from aeron_core.errors import CorruptRecordingError, DataLossError
from aeron_core.recording import Archive
from aeron_core.recording.retention.purge import purge_before
from aeron_core.testing.recordings import (
    INITIAL_TERM_ID,
    NOW_NS,
    TERM_LENGTH,
    RecordingUnderTest,
    frame_at,
    padding_at,
    purging_stores,
)

BEGIN, MIDDLE, END = 0x80, 0x00, 0x40


def read(written, columns=tuple(COLUMNS), begin=0, end=None, **options):
    parsed = SourceOptions.parse({"archive": str(written.store.folder), **options})
    piece = Range(written.recording_id, begin, written.position if end is None else end)
    batches = list(read_batches(parsed, columns, piece))
    return pa.Table.from_batches(batches, arrow_schema(parsed, columns))


def test_rows_are_messages_with_position_and_time(written):
    written.append(b"a", b"bb")
    written.append(b"")

    table = read(written).to_pylist()

    assert [row["payload"] for row in table] == [b"a", b"bb", b""]
    assert [row["position"] for row in table] == [64, 128, 160]
    assert [row["ts_ns"] - NOW_NS for row in table] == [10**6, 10**6, 2 * 10**6]
    assert {
        name: table[0][name] for name in ("recording_id", "session_id", "stream_id", "term_id", "flags")
    } == {
        "recording_id": 0,
        "session_id": 11,
        "stream_id": 22,
        "term_id": INITIAL_TERM_ID,
        "flags": 0xC0,
    }
    assert table[0]["ts"].timestamp() == pytest.approx((NOW_NS + 10**6) / 1e9)


def test_columns_of_the_kafka_connector(written):
    written.append(b"a")

    rows = read(written, tuple(KAFKA_COLUMNS), kafkaschema="true").to_pylist()

    assert rows[0] | {"timestamp": None} == {
        "key": None,
        "value": b"a",
        "topic": "aeron:ipc:22",
        "partition": 0,
        "offset": 64,
        "timestamp": None,
        "timestampType": 1,
    }


@pytest.mark.parametrize("kafka", ["true", "false"])
def test_headers_contain_the_catalogue_entry(written, kafka):
    written.append(b"a", b"b")

    rows = read(written, ("headers",), includeheaders="true", kafkaschema=kafka).to_pylist()

    headers = rows[1]["headers"]
    assert dict(headers if kafka == "false" else [(h["key"], h["value"]) for h in headers]) == {
        "channel": b"aeron:ipc",
        "source": b"aeron:ipc",
        "stream_id": b"22",
        "session_id": b"11",
    }


def test_only_selected_columns_are_returned(written):
    written.append(b"a")

    assert read(written, ("position", "payload")).column_names == ["position", "payload"]


def test_many_rows_are_split_into_batches(written):
    for _ in range(5):
        written.fill_term(100)
    options = SourceOptions.parse({"archive": str(written.store.folder), "batchrows": "100"})

    batches = list(read_batches(options, ("position",), Range(0, 0, written.position)))

    assert [len(batch) for batch in batches[:-1]] == [100] * (len(batches) - 1)
    positions = np.concatenate([batch.column(0).to_numpy() for batch in batches])
    assert len(positions) == 5 * 409
    assert (np.diff(positions) > 0).all()


def test_a_batch_in_use_does_not_change_while_others_are_read(written):
    for _ in range(5):
        written.fill_term(100)
    options = SourceOptions.parse({"archive": str(written.store.folder), "batchrows": "100"})
    batches = read_batches(options, ("position", "payload"), Range(0, 0, written.position))

    first = next(batches)
    copy = first.to_pylist()
    for _ in batches:
        pass

    assert first.to_pylist() == copy


def test_memory_is_reused_after_its_batch_is_freed(written):
    for _ in range(5):
        written.fill_term(100)
    options = SourceOptions.parse({"archive": str(written.store.folder), "batchrows": "100"})

    addresses = set()
    for batch in read_batches(options, ("payload",), Range(0, 0, written.position)):
        addresses.add(batch.column(0).buffers()[2].address)

    # One is held here, one by the generator.
    assert len(addresses) == 2


def test_a_small_piece_allocates_little_memory(written):
    written.append(b"a")
    options = SourceOptions.parse({"archive": str(written.store.folder)})

    [batch] = read_batches(options, ("payload",), Range(0, 0, written.position))

    assert batch.column(0).buffers()[2].size <= written.position


def test_a_task_freezes_existing_objects_for_the_collector(written, monkeypatch):
    from pyspark import TaskContext  # noqa: PLC0415

    written.append(b"a")
    gc.unfreeze()
    read(written)
    outside = gc.get_freeze_count()
    monkeypatch.setattr(TaskContext, "get", object)

    read(written)

    within = gc.get_freeze_count()
    gc.unfreeze()
    assert outside == 0
    assert within > 0


def test_pieces_cover_the_recording(written):
    for _ in range(6):
        written.fill_term(100)
    borders = range(0, 7 * TERM_LENGTH, TERM_LENGTH)

    parts = [read(written, begin=begin, end=begin + TERM_LENGTH) for begin in borders[:-1]]

    assert pa.concat_tables(parts).combine_chunks() == read(written).combine_chunks()


def test_fragments_are_assembled_on_request(written):
    written.append_block(
        frame_at(0, b"ab", flags=BEGIN, reserved_value=5)
        + frame_at(64, b"c", flags=END)
        + frame_at(128, b"d")
    )

    assert read(written, ("payload",))["payload"].to_pylist() == [b"abc", b"d"]
    assert read(written, ("payload",), assemble="fragments")["payload"].to_pylist() == [b"ab", b"c", b"d"]


def test_a_message_longer_than_a_read_is_complete(tmp_path):
    from aeron_core.testing.recordings import RecordingUnderTest  # noqa: PLC0415

    length = 64 * 1024 * 1024
    written = RecordingUnderTest.begin(tmp_path / "archive", term_length=length, segment_length=length)
    size, count = 65504 - 32, 160
    frames = [
        frame_at(
            index * 65504,
            bytes([index]) * size,
            flags=BEGIN if index == 0 else END if index == count - 1 else MIDDLE,
            term_id=INITIAL_TERM_ID,
            term_offset=index * 65504,
        )
        for index in range(count)
    ]
    written.append_block(b"".join(frames))

    payload = read(written, ("payload",))["payload"].to_pylist()

    assert payload == [b"".join(bytes([index]) * size for index in range(count))]


def test_padding_yields_no_row(written):
    written.append(b"a")
    written.append_block(padding_at(64, TERM_LENGTH - 64))
    written.append(b"b")

    assert read(written, ("payload",))["payload"].to_pylist() == [b"a", b"b"]


def test_a_truncated_segment_is_an_error_not_the_end(written):
    written.append(b"a", b"b")
    os.truncate(written.folder / "0-0.rec", 100)

    with pytest.raises(CorruptRecordingError, match="ends at position 100: must extend to 128"):
        read(written)


def test_a_corrupt_frame_is_an_error_with_its_position(written):
    written.append(b"a", b"b")
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(64 + 12)
        file.write(b"\xff\xff\xff\xff")

    with pytest.raises(
        CorruptRecordingError, match="recording 0 position 64: session id=-1: must be that of"
    ):
        read(written)


def test_a_piece_that_ends_within_a_message_is_an_error(written):
    written.append(b"a" * 100)

    with pytest.raises(
        CorruptRecordingError, match="position 0: the message ends after 64, the end of the range"
    ):
        read(written, end=64)


@pytest.mark.parametrize(
    "options", [{}, {"includeheaders": "true"}, {"kafkaschema": "true", "includeheaders": "true"}]
)
def test_the_schemas_of_spark_and_arrow_match(options):
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415

    parsed = SourceOptions.parse({"archive": "/a", **options})
    columns = columns_of(parsed)

    schema = from_arrow_schema(arrow_schema(parsed, tuple(columns)))

    assert {field.name: field.dataType.simpleString() for field in schema} == {
        name: column.type for name, column in columns.items()
    }


def flip(written, at):
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("at", [32, 6], ids=["payload", "type"])
def test_damaged_data_fails_the_query_unless_verify_is_off(written, at):
    written.append(b"a")
    written.append(b"b")
    written.append(b"c")
    flip(written, 64 + at)

    with pytest.raises(
        CorruptRecordingError, match="recording 0 position 64: the frames up to 128 do not have"
    ):
        read(written)
    assert read(written, begin=128)["payload"].to_pylist() == [b"c"]
    found = read(written, ("payload",), verify="false")["payload"].to_pylist()
    assert found == ([b"a", b"c", b"c"] if at == 32 else [b"a", b"c"])


def test_a_piece_longer_than_a_read_is_verified(written, monkeypatch):
    monkeypatch.setattr(range_reader, "_READ_LENGTH", 4096)
    written.fill_term(100)
    expected = written.data()
    assert read(written, ("position",), verify="false") == read(written, ("position",))
    flip(written, TERM_LENGTH // 2)

    assert len(expected) == TERM_LENGTH
    with pytest.raises(CorruptRecordingError):
        read(written)


def test_rows_that_are_purged_meanwhile_are_as_recorded_or_an_error(tmp_path, monkeypatch):
    written = RecordingUnderTest.begin(tmp_path / "archive", segment_length=TERM_LENGTH)
    for _ in range(3):
        written.fill_term(8000)
    written.stop()
    monkeypatch.setattr(range_reader, "_READ_LENGTH", TERM_LENGTH // 2)
    columns = ("position", "ts_ns", "payload")
    options = SourceOptions.parse({"archive": str(tmp_path / "archive"), "batchrows": "4"})
    piece = Range(0, 0, 3 * TERM_LENGTH)
    whole = [row for batch in read_batches(options, columns, piece) for row in batch.to_pylist()]
    assert len(whole) == 24

    for store in purging_stores(tmp_path / "archive", lambda store: purge_before(store, 0, 2 * TERM_LENGTH)):
        monkeypatch.setitem(range_reader._archives, (options.archive, None), Archive(store))
        rows, is_lost = [], False
        try:
            for batch in read_batches(options, columns, piece):
                rows += batch.to_pylist()
        except DataLossError:
            is_lost = True
        assert rows == (whole[: len(rows)] if is_lost else whole)

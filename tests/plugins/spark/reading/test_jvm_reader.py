"""The reader for Spark's Java: the same rows as the reader in Python."""

import json

import pytest
from both_readers import assert_same

from aeron_core.testing.recordings import INITIAL_TERM_ID, TERM_LENGTH, RecordingUnderTest, frame_at

BEGIN, MIDDLE, END = 0x80, 0x00, 0x40
TWO_SEGMENTS = 4 * TERM_LENGTH


@pytest.fixture
def many(written, second):
    """Return an archive of two recordings with several segments, padding, fragments, and one that was stopped."""
    for _ in range(5):
        written.fill_term(100)
    written.append(b"a", b"", b"ccc")
    begin = written.writer.written_position
    written.append_block(
        frame_at(begin, b"ab", flags=BEGIN, reserved_value=5)
        + frame_at(begin + 64, b"c" * 40, flags=MIDDLE)
        + frame_at(begin + 160, b"d", flags=END)
    )
    second.append(b"x", b"y")
    second.stop()
    return written.store.folder


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"assemble": "fragments"},
        {"includeHeaders": "true"},
        {"kafkaSchema": "true", "includeHeaders": "true"},
        {"verify": "false", "batchRows": "7"},
        {"minPartitions": "40"},
        {"partitionLength": "64k", "channelPattern": "aeron:i.*"},
        {"streamId": "99"},
        {"recordings": "0,1", "startingPosition": json.dumps({"0": TWO_SEGMENTS, "1": -1})},
        {"startingPosition": "2023-11-14T22:13:20.003+00:00", "endingPosition": "2023-11-14 22:13:20.006"},
    ],
    ids=str,
)
def test_rows_are_those_of_the_reader_in_python(java, many, options):
    assert_same(java, many, **options)


def test_partitions_are_those_of_the_reader_in_python(spark, java, many):
    frames = [
        spark.read.format(name).option("minPartitions", 9).load(str(many)) for name in ("aeron", "aeron-jvm")
    ]

    assert frames[0].schema == frames[1].schema
    assert frames[0].rdd.getNumPartitions() == frames[1].rdd.getNumPartitions() >= 9


def test_only_selected_columns_are_built(java, many):
    assert java(many, ["payload", "position"]).column_names == ["payload", "position"]
    assert java(many, ["ts_ns"]).num_rows == java(many, ["recording_id"]).num_rows == 5 * 409 + 6


def test_a_recording_that_begins_late_and_grows_is_read_to_its_end(java, tmp_path):
    start = 3 * TERM_LENGTH + 64
    written = RecordingUnderTest.begin(tmp_path / "archive", start_position=start)
    written.append(b"a")
    assert len(assert_same(java, tmp_path / "archive")) == 1

    written.fill_term(1000)
    written.fill_term(1000)
    written.stop()

    assert len(assert_same(java, tmp_path / "archive")) > 60


def test_a_message_longer_than_a_read_is_complete(java, tmp_path):
    length = 64 * 1024 * 1024
    written = RecordingUnderTest.begin(tmp_path / "archive", term_length=length, segment_length=length)
    size, count = 65504 - 32, 160
    flags = [BEGIN, *[MIDDLE] * (count - 2), END]
    frames = [
        frame_at(
            index * 65504,
            bytes([index]) * size,
            flags=flags[index],
            term_id=INITIAL_TERM_ID,
            term_offset=index * 65504,
        )
        for index in range(count)
    ]
    written.append_block(b"".join(frames))

    (row,) = assert_same(java, tmp_path / "archive")

    assert row[-1] == b"".join(bytes([index]) * size for index in range(count))
    assert_same(java, tmp_path / "archive", verify="false")


def test_a_recording_longer_than_a_read_is_read_in_parts(java, tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "archive", segment_length=64 * TERM_LENGTH)
    for _ in range(100):
        written.fill_term(1000)

    assert len(assert_same(java, tmp_path / "archive")) == 100 * 62


def test_a_table_keeps_its_options(spark, java, written, request):
    written.append(b"a", b"b")
    name = request.node.name
    spark.sql(f"CREATE TABLE {name} USING `aeron-jvm` OPTIONS (archive '{written.store.folder}')")
    try:
        assert spark.sql(f"SELECT * FROM {name}").count() == 2
        assert spark.sql(f"SELECT * FROM {name} WITH (startingPosition = '{{\"0\": 64}}')").count() == 1
    finally:
        spark.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("field", ["key", "value"])
def test_a_field_of_the_headers_is_selected_alone(spark, java, written, field):
    written.append(b"a")
    frames = [
        spark.read.format(name).option("kafkaSchema", True).option("includeHeaders", True)
        for name in ("aeron", "aeron-jvm")
    ]

    expected, found = (
        frame.load(str(written.store.folder)).select(f"headers.{field}").toArrow().to_pylist()
        for frame in frames
    )

    assert found == expected


def test_a_table_at_a_location_is_read(spark, java, tmp_path, written, request):
    written.append(b"a", b"b")
    name = request.node.name
    folder = tmp_path / "an archive"
    folder.symlink_to(written.store.folder)
    spark.sql(f"CREATE TABLE {name} USING `aeron-jvm` LOCATION '{folder}'")
    try:
        assert spark.sql(f"SELECT * FROM {name}").count() == 2
    finally:
        spark.sql(f"DROP TABLE {name}")
    assert java(f"file:{folder}").num_rows == java(f"file://{folder}").num_rows == 2


def test_an_option_that_is_none_counts_as_missing(java, written):
    written.append(b"a")

    assert java(written.store.folder, streamId=None).num_rows == 1

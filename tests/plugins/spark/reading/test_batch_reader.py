"""Batch queries in a Spark session."""

import json

import pytest

from aeron_core.testing.recordings import TERM_LENGTH


@pytest.fixture
def read(spark, written, format_):
    def read(**options):
        reader = spark.read.format(format_).option("archive", str(written.store.folder))
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader

    return read


def test_a_recording_is_a_table(read, written):
    for _ in range(3):
        written.fill_term(100)

    frame = read(minPartitions=4).load()

    assert frame.rdd.getNumPartitions() >= 4
    assert frame.count() == 3 * 409
    assert frame.selectExpr("count(distinct position)", "max(position)", "sum(length(payload))").first()[
        :
    ] == (
        3 * 409,
        written.position - 96,
        3 * 409 * 100,
    )


def test_an_archive_without_a_message_is_an_empty_table(read):
    assert read().load().count() == 0


def test_a_schema_selects_columns(read, written):
    written.append(b"a")

    rows = read().schema("payload binary, position bigint").load().collect()

    assert [tuple(row) for row in rows] == [(bytearray(b"a"), 64)]


def test_headers_and_the_columns_of_kafka(read, written):
    written.append(b"a")

    row = read(kafkaSchema="true", includeHeaders="true").load().first()

    assert (row.topic, row.offset, row.value) == ("aeron:ipc:22", 64, bytearray(b"a"))
    assert row.headers[0].asDict() == {"key": "channel", "value": bytearray(b"aeron:ipc")}
    assert read(includeHeaders="true").load().first().headers["source"] == bytearray(b"aeron:ipc")


def test_a_view_in_sql(spark, written, format_):
    written.append(b"a", b"b")

    options = f"OPTIONS (archive '{written.store.folder}')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW messages USING `{format_}` {options}")

    assert spark.sql("SELECT CAST(payload AS STRING) FROM messages ORDER BY position").collect() == [
        ("a",),
        ("b",),
    ]


def test_positions_and_times_limit_the_rows(read, written):
    for _ in range(4):
        written.fill_term(100)

    begin = json.dumps({"0": 2 * TERM_LENGTH})
    assert read(startingPosition=begin).load().count() == 2 * 409
    assert read(endingPosition=begin).load().count() == 2 * 409
    assert read(startingPosition="2100-01-01").load().count() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxBytePerTrigger": "1"}, "unknown option maxBytePerTrigger: did you mean maxBytesPerTrigger"),
        ({"archive": "/nowhere/at/all"}, "/nowhere/at/all: there is no archive of recordings"),
        ({"recordings": "7"}, "does not exist; recordings: 0"),
    ],
)
def test_errors_reach_the_user(read, written, options, message):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    written.append(b"a")

    with pytest.raises(PySparkException) as caught:
        read(**options).load().collect()

    assert message.lower() in str(caught.value).lower()  # Spark gives names to Python in lower case


def test_a_column_of_another_type_is_refused(read, written):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    with pytest.raises(PySparkException, match="column payload string: must be of type binary"):
        read().schema("payload string").load().collect()


def test_a_truncated_segment_fails_the_query(read, written):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    written.append(b"a" * 100)
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.truncate(40)

    with pytest.raises(PySparkException, match="ends at position 40: must extend to 160"):
        read().load().collect()

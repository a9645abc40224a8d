"""Avro payloads as columns, by the jar of Spark."""

import pytest
from pyspark_aeron.decoders import dead_letters, decode

SCHEMA = """{"type": "record", "name": "Quote", "fields": [
  {"name": "symbol", "type": "string"}, {"name": "size", "type": ["null", "long"]}
]}"""
QUOTE = b"\x04AB\x02\x0a"  # "AB", and 5 of the second branch
NULLS = b"\x00\x00"  # "" and null


@pytest.fixture
def options(tmp_path):
    path = tmp_path / "quote.avsc"
    path.write_text(SCHEMA)
    return {"schema": str(path)}


def test_records_become_columns_and_others_dead_letters(spark, options):
    frame = spark.createDataFrame(
        [(64, QUOTE), (128, b"\xff"), (192, NULLS), (256, None)], "position long, payload binary"
    )

    rows = [tuple(row) for row in decode(frame, "avro", options).collect()]
    letters = [tuple(row) for row in dead_letters(frame, "avro", options).collect()]

    reason = f"not Avro of the schema {options['schema']}"
    assert rows == [
        (64, "AB", 5, None),
        (128, None, None, reason),
        (192, "", None, None),
        (256, None, None, None),
    ]
    assert letters == [(128, reason, b"\xff")]

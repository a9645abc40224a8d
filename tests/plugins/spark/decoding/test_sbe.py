"""SBE messages of fixed layout as columns."""

import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark_aeron.decoders import dead_letters, decode
from pyspark_aeron.decoding.sbe import SbeConvert
from pyspark_aeron.decoding.sbe_schema import read_layout

from aeron_core.errors import ConfigurationError

SCHEMA = """<?xml version="1.0" encoding="UTF-8"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" id="7" version="1" byteOrder="littleEndian">
  <types>
    <composite name="messageHeader">
      <type name="blockLength" primitiveType="uint16"/><type name="templateId" primitiveType="uint16"/>
      <type name="schemaId" primitiveType="uint16"/><type name="version" primitiveType="uint16"/>
    </composite>
    <type name="Symbol" primitiveType="char" length="6"/>
    <type name="Levels" primitiveType="int16" length="2"/>
    <type name="Size" primitiveType="uint32" presence="optional"/>
    <composite name="Price">
      <type name="mantissa" primitiveType="int64"/>
      <type name="exponent" primitiveType="int8" presence="constant">-2</type>
    </composite>
    <enum name="Side" encodingType="char">
      <validValue name="BUY">B</validValue><validValue name="SELL">S</validValue>
    </enum>
    <set name="Flags" encodingType="uint8"><choice name="last">0</choice></set>
  </types>
  <sbe:message name="Quote" id="1">
    <field name="symbol" id="1" type="Symbol"/><field name="price" id="2" type="Price"/>
    <field name="size" id="3" type="Size"/><field name="side" id="4" type="Side"/>
    <field name="flags" id="5" type="Flags"/><field name="levels" id="6" type="Levels"/>
    <field name="ratio" id="7" type="double" offset="28"/><field name="sequence" id="8" type="uint64" sinceVersion="1"/>
  </sbe:message>
  <sbe:message name="Book" id="2">
    <field name="count" id="1" type="int32"/>
    <group name="entries" id="2"><field name="size" id="3" type="int32"/></group>
  </sbe:message>
</sbe:messageSchema>
"""
LENGTH = 44


def header(block=LENGTH, template=1, schema=7):
    return struct.pack("<4H", block, template, schema, 1)


def quote(symbol=b"AB", price=1234, size=5, side=b"B", sequence=2**64 - 1):
    block = struct.pack("<6sqIcBhh", symbol, price, size, side, 1, 3, -4)
    return header() + block.ljust(28, b"\0") + struct.pack("<dQ", 0.5, sequence)


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "quotes.xml"
    path.write_text(SCHEMA)
    return path


@pytest.fixture
def convert(schema):
    """Return a function that decodes payloads to rows, each a dict, and reasons."""

    def convert(*payloads):
        layout = read_layout(schema, "Quote")
        decoded = SbeConvert(layout)(pa.array([b"before", *payloads], pa.binary())[1:])
        columns = {field.name: array for field, array in zip(layout.fields, decoded.columns, strict=True)}
        return pa.table(columns).to_pylist(), decoded.reasons.to_pylist(), decoded.kept.to_pylist()

    return convert


def test_fields_become_columns(convert):
    rows, reasons, _ = convert(quote())

    assert rows == [
        {
            "symbol": "AB",
            "price": {"mantissa": 1234, "exponent": -2},
            "size": 5,
            "side": "BUY",
            "flags": 1,
            "levels": [3, -4],
            "ratio": 0.5,
            "sequence": Decimal(2**64 - 1),
        }
    ]
    assert reasons == [None]


def test_null_values_older_blocks_and_unknown_values(convert):
    older = header(block=36) + quote()[8:44]

    rows, reasons, _ = convert(quote(size=2**32 - 1, side=b"\0"), older, quote(side=b"X", symbol=b"A\0garb"))

    assert [(row["size"], row["side"], row["sequence"], row["symbol"]) for row in rows] == [
        (None, None, Decimal(2**64 - 1), "AB"),
        (5, "BUY", None, "AB"),
        (5, "88", Decimal(2**64 - 1), "A"),
    ]
    assert reasons == [None] * 3


def test_a_null_value_that_is_declared_as_nan_is_null(schema):
    schema.write_text(SCHEMA.replace('type="double"', 'type="double" presence="optional" nullValue="NaN"'))
    layout = read_layout(schema, "Quote")
    absent = quote()[:36] + struct.pack("<d", float("nan")) + quote()[44:]

    decoded = SbeConvert(layout)(pa.array([quote(), absent], pa.binary()))

    names = [field.name for field in layout.fields]
    assert decoded.columns[names.index("ratio")].to_pylist() == [0.5, None]


def test_payloads_that_are_no_such_message_have_reasons(convert):
    other_message = header(4, 2) + bytes(8)

    rows, reasons, kept = convert(
        b"abc", quote()[:-1], header(schema=8) + bytes(50), None, other_message, quote()
    )

    assert reasons == [
        "shorter than a message header of 8 bytes",
        "shorter than its block of 44 bytes",
        "schema 8, template 1: must be schema 7, template 1",
        None,
        "schema 7, template 2: must be schema 7, template 1",
        None,
    ]
    assert kept == [True, True, True, True, False, True]
    assert [row["flags"] for row in rows] == [None] * 5 + [1]


def test_big_endian_numbers(convert, schema):
    schema.write_text(SCHEMA.replace("littleEndian", "bigEndian"))
    block = struct.pack(">6sqIcBhh", b"AB", 7, 5, b"S", 1, 3, -4).ljust(28, b"\0") + struct.pack(
        ">dQ", 0.5, 9
    )

    (row,), reasons, _ = convert(struct.pack(">4H", LENGTH, 1, 7, 1) + block)

    assert (row["price"]["mantissa"], row["levels"], row["sequence"], reasons) == (
        7,
        [3, -4],
        Decimal(9),
        [None],
    )


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ("<x", "Quote", "must be a message schema of SBE in XML"),
        (SCHEMA, "Trade", "message 'Trade': option message must be one of Quote, Book"),
        (SCHEMA.replace('type="Symbol"', 'type="Sym"'), "Quote", "message Quote: must be valid SBE: 'Sym'"),
        (
            SCHEMA.replace('length="6"', 'length="-6"'),
            "Quote",
            "symbol: offset 0, length -6: must begin at 0",
        ),
        (SCHEMA.replace('length="6"', 'length="9999999"'), "Quote", "and end at most at 1048576 bytes"),
        (
            SCHEMA.replace('offset="28"', 'offset="-28"'),
            "Quote",
            "ratio: offset -28, length 1: must begin at",
        ),
        (
            SCHEMA.replace(
                '<type name="mantissa" primitiveType="int64"/>', '<ref name="inner" type="Price"/>'
            ),
            "Quote",
            "message Quote: must be valid SBE: a composite contains itself",
        ),
        (
            SCHEMA.replace('"blockLength" primitiveType="uint16"', '"blockLength" primitiveType="char"'),
            "Quote",
            "blockLength of the header must be an integer",
        ),
        (SCHEMA.replace(">B<", ">BUY<"), "Quote", "value 'BUY' of an enum: must be one character"),
        (
            SCHEMA.replace('encodingType="char"', 'encodingType="uint8"').replace(">B<", ">256<"),
            "Quote",
            "value 256 of an enum: must be from 0 to 255, those of uint8",
        ),
        (SCHEMA.replace(">-2<", ">x<"), "Quote", "message Quote: must be valid SBE: invalid literal"),
    ],
)
def test_unusable_schemas_are_refused(schema, text, message, expected):
    schema.write_text(text)

    with pytest.raises(ConfigurationError, match=expected):
        read_layout(schema, message)


def test_groups_are_refused_unless_ignored(spark, schema):
    frame = spark.createDataFrame(
        [(64, header(4, 2) + struct.pack("<i", 9))], "position long, payload binary"
    )
    options = {"schema": str(schema), "message": "Book"}

    with pytest.raises(ConfigurationError, match="message Book has groups or variable data, entries"):
        decode(frame, "sbe", options)

    assert [tuple(row) for row in decode(frame, "sbe", {**options, "rest": "ignore"}).collect()] == [
        (64, 9, None)
    ]


def test_a_query_has_columns_and_dead_letters(spark, schema):
    frame = spark.createDataFrame([(64, quote()), (128, b"x")], "position long, payload binary")
    options = {"schema": str(schema), "message": "Quote"}

    rows = decode(frame, "sbe", options).selectExpr(
        "position", "symbol", "price.mantissa", "sequence", "_corrupt"
    )

    reason = "shorter than a message header of 8 bytes"
    assert [tuple(row) for row in rows.collect()] == [
        (64, "AB", 1234, Decimal(2**64 - 1), None),
        (128, None, None, None, reason),
    ]
    assert [tuple(row) for row in dead_letters(frame, "sbe", options).collect()] == [(128, reason, b"x")]

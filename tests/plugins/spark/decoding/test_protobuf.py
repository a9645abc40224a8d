"""Protobuf messages as columns."""

import pytest

pytest.importorskip("google.protobuf", reason="needs protobuf: pip install protobuf")

import pyarrow as pa
from google.protobuf import descriptor_pb2
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from pyspark_aeron.decoders import decode
from pyspark_aeron.decoding.protobuf import ProtobufConvert, ddl_of, message_class, read_descriptors

from aeron_core.errors import ConfigurationError

Field = descriptor_pb2.FieldDescriptorProto


def descriptors():
    """Return a descriptor set with the message `market.Quote` and others that it has."""
    file = descriptor_pb2.FileDescriptorProto(name="market.proto", package="market", syntax="proto3")
    side = file.enum_type.add(name="Side")
    for number, name in enumerate(("BUY", "SELL")):
        side.value.add(name=name, number=number)
    level = file.message_type.add(name="Level")
    level.field.add(name="price", number=1, type=Field.TYPE_DOUBLE, label=Field.LABEL_OPTIONAL)
    quote = file.message_type.add(name="Quote")
    for number, (name, kind) in enumerate(
        [("symbol", Field.TYPE_STRING), ("size", Field.TYPE_UINT64), ("data", Field.TYPE_BYTES)], 1
    ):
        quote.field.add(name=name, number=number, type=kind, label=Field.LABEL_OPTIONAL)
    optional, repeated = Field.LABEL_OPTIONAL, Field.LABEL_REPEATED
    quote.field.add(name="side", number=4, type=Field.TYPE_ENUM, type_name=".market.Side", label=optional)
    quote.field.add(name="best", number=5, type=Field.TYPE_MESSAGE, type_name=".market.Level", label=optional)
    quote.field.add(
        name="levels", number=6, type=Field.TYPE_MESSAGE, type_name=".market.Level", label=repeated
    )
    entry = quote.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=optional)
    entry.field.add(name="value", number=2, type=Field.TYPE_INT32, label=optional)
    quote.field.add(
        name="tags", number=7, type=Field.TYPE_MESSAGE, type_name=".market.Quote.TagsEntry", label=repeated
    )
    node = file.message_type.add(name="Node")
    node.field.add(name="next", number=1, type=Field.TYPE_MESSAGE, type_name=".market.Node", label=optional)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def quote(**fields):
    return message_class(descriptors(), "market.Quote")(**fields).SerializeToString()


@pytest.fixture
def rows(spark):
    """Return a function that decodes payloads to rows, each a dict, and reasons; only Spark parses DDL."""

    def rows(*payloads):
        make = message_class(descriptors(), "market.Quote")
        ddl = ", ".join(f"`{name}` {kind}" for name, kind in ddl_of(make.DESCRIPTOR))
        schema = to_arrow_schema(StructType.fromDDL(ddl))
        decoded = ProtobufConvert(descriptors(), "market.Quote", schema)(pa.array(payloads, pa.binary()))
        table = pa.Table.from_arrays(list(decoded.columns), schema=schema)
        return table.to_pylist(), decoded.reasons.to_pylist()

    return rows


def test_a_text_of_proto2_that_is_not_utf8_has_a_reason():
    file = descriptor_pb2.FileDescriptorProto(name="old.proto", package="old", syntax="proto2")
    text = file.message_type.add(name="Text")
    text.field.add(name="text", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    data = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    payloads = pa.array([b"\x0a\x01a", b"\x0a\x01\xff", None, b"\x0a\x01b"], pa.binary())

    decoded = ProtobufConvert(data, "old.Text", pa.schema([("text", pa.string())]))(payloads)

    assert decoded.columns[0].to_pylist() == ["a", None, None, "b"]
    reasons = decoded.reasons.to_pylist()
    assert reasons[1].startswith("not a message old.Text: ")
    assert reasons[::2] == [None, None]
    assert reasons[3] is None


def test_fields_of_all_kinds_become_columns(rows):
    level = {"price": 0.5}
    payload = quote(
        symbol="AB", size=2**64 - 1, data=b"\xff", side=1, best=level, levels=[level, {}], tags={"a": 1}
    )

    (row, empty), reasons = rows(payload, b"")

    assert row == {
        "symbol": "AB",
        "size": 2**64 - 1,
        "data": b"\xff",
        "side": "SELL",
        "best": level,
        "levels": [level, {"price": 0.0}],
        "tags": [("a", 1)],
    }
    assert (empty["symbol"], empty["side"], empty["best"], empty["levels"]) == ("", "BUY", None, [])
    assert reasons == [None, None]


def test_a_payload_that_is_no_message_has_a_reason_and_a_null_one_has_none(rows):
    found, (reason, none) = rows(b"\xff\xff", None)

    assert [row["symbol"] for row in found] == [None, None]
    assert reason.startswith("not a message market.Quote: ")
    assert none is None


def test_a_query_decodes_a_message_of_a_file(spark, tmp_path):
    path = tmp_path / "market.desc"
    path.write_bytes(descriptors())
    frame = spark.createDataFrame([(64, quote(symbol="AB")), (128, b"\xff")], "position long, payload binary")

    decoded = decode(frame, "protobuf", {"descriptors": str(path), "message": "market.Quote"})

    found = decoded.selectExpr("position", "symbol", "_corrupt IS NULL").collect()
    assert [tuple(row) for row in found] == [(64, "AB", True), (128, None, False)]


def test_unusable_descriptors_are_refused():
    with pytest.raises(ConfigurationError, match="option descriptors: /nowhere: must be a readable file"):
        read_descriptors("/nowhere")
    with pytest.raises(ConfigurationError, match="must be a file written by protoc"):
        message_class(b"\xff\xff", "market.Quote")
    with pytest.raises(ConfigurationError, match=r"must be one of market.Level, market.Quote, market.Node"):
        message_class(descriptors(), "Quote")
    with pytest.raises(ConfigurationError, match=r"message market.Node contains itself"):
        ddl_of(message_class(descriptors(), "market.Node").DESCRIPTOR)


def test_a_map_without_keys_is_reported():
    file = descriptor_pb2.FileDescriptorSet.FromString(descriptors()).file[0]
    (entry,) = (each.nested_type[0] for each in file.message_type if each.nested_type)
    entry.field[0].name = "other"
    damaged = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()

    with pytest.raises(ConfigurationError, match=r"map market.Quote.tags: must have a key and a value"):
        ddl_of(message_class(damaged, "market.Quote").DESCRIPTOR)

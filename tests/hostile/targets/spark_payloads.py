"""Payloads and schema files for the decoders of the Spark source: columns of the declared types, or a reason.

The first byte of an input is one of KINDS: payloads as blocks for a decoder, or the content of a schema file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pyarrow as pa
from google.protobuf import descriptor_pb2
from pyspark_aeron.decoding.arrow_ipc import _ArrowReasons, _ArrowRows
from pyspark_aeron.decoding.avro_schema import avro_schemas
from pyspark_aeron.decoding.protobuf import ProtobufConvert, ddl_of, message_class
from pyspark_aeron.decoding.rows import Decoded
from pyspark_aeron.decoding.sbe import SbeConvert
from pyspark_aeron.decoding.sbe_schema import Layout, read_layout

from aeron_core.errors import ConfigurationError
from targets._script import Script, block
from targets._simulations import at_close, folder_in_memory
from targets._texts import check_text

ARROW, SBE, PROTOBUF, SBE_SCHEMA, PROTOBUF_SCHEMA, AVRO_SCHEMA = KINDS = range(6)
MAX_PAYLOADS = 16
#: Of the columns of one payload, which has at most 2 KiB. A batch may have a column of nulls, with no bytes for a row.
MAX_DECODED_LENGTH = 1 << 26
WANTED = pa.schema([("host", pa.string()), ("load", pa.float64()), ("tags", pa.list_(pa.int32()))])
SCHEMA = b"""<messageSchema id="7" byteOrder="littleEndian"><types>
<composite name="messageHeader"><type name="blockLength" primitiveType="uint16"/>
<type name="templateId" primitiveType="uint16"/><type name="schemaId" primitiveType="uint16"/></composite>
<type name="Symbol" primitiveType="char" length="4"/><composite name="Price">
<type name="mantissa" primitiveType="int64"/><type name="exponent" primitiveType="int8" presence="constant">-2</type>
</composite><enum name="Side" encodingType="char"><validValue name="BUY">B</validValue></enum>
<set name="Flags" encodingType="uint8"><choice name="last">0</choice></set></types>
<message name="Quote" id="1"><field name="symbol" type="Symbol"/><field name="price" type="Price"/>
<field name="side" type="Side"/><field name="flags" type="Flags"/><field name="size" type="uint64" offset="16"/>
<field name="ratio" type="float"/></message><message name="Book" id="2"><field name="n" type="int32"/></message>
</messageSchema>"""
MESSAGE = "market.Quote"
Field = descriptor_pb2.FieldDescriptorProto

_resources = ExitStack()


@cache
def folder() -> Path:
    return _resources.enter_context(folder_in_memory())


def _close() -> None:
    _resources.close()
    folder.cache_clear()


at_close(_close)


@cache
def layout() -> Layout:
    path = folder() / "sound.xml"
    path.write_bytes(SCHEMA)
    return read_layout(path, "Quote")


@cache
def descriptors() -> bytes:
    file = descriptor_pb2.FileDescriptorProto(name="market.proto", package="market", syntax="proto2")
    side = file.enum_type.add(name="Side")
    side.value.add(name="BUY", number=0)
    quote = file.message_type.add(name="Quote")
    optional, repeated = Field.LABEL_OPTIONAL, Field.LABEL_REPEATED
    for number, (name, kind) in enumerate(
        [("symbol", Field.TYPE_STRING), ("size", Field.TYPE_UINT64), ("data", Field.TYPE_BYTES)], 1
    ):
        quote.field.add(name=name, number=number, type=kind, label=optional)
    quote.field.add(name="side", number=4, type=Field.TYPE_ENUM, type_name=".market.Side", label=optional)
    quote.field.add(name="loads", number=5, type=Field.TYPE_DOUBLE, label=repeated)
    entry = quote.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=optional)
    entry.field.add(name="value", number=2, type=Field.TYPE_INT32, label=optional)
    name = ".market.Quote.TagsEntry"
    quote.field.add(name="tags", number=6, type=Field.TYPE_MESSAGE, type_name=name, label=repeated)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


@cache
def protobuf() -> ProtobufConvert:
    fields = [
        ("symbol", pa.string()),
        ("size", pa.decimal128(20)),
        ("data", pa.binary()),
        ("side", pa.string()),
        ("loads", pa.list_(pa.float64())),
        ("tags", pa.map_(pa.string(), pa.int32())),
    ]
    return ProtobufConvert(descriptors(), MESSAGE, pa.schema(fields))


def stream_of(columns: dict[str, pa.Array], options: pa.ipc.IpcWriteOptions | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_pydict(columns)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def seeds() -> list[bytes]:
    columns = {"host": pa.array(["a", None]), "load": pa.array([1, 2]), "tags": pa.array([[1], []])}
    coded = {**columns, "host": columns["host"].dictionary_encode()}
    compressed = pa.ipc.IpcWriteOptions(compression="lz4")
    header = struct.pack("<3H", 28, 1, 7)
    sound = header + struct.pack("<4sqcB2xQf", b"ab", 5, b"B", 1, 2**64 - 1, 0.5)
    quote = message_class(descriptors(), MESSAGE)
    message = quote(symbol="a", size=2**64 - 1, data=b"\xff", side=0, loads=[1.5, 2], tags={"k": -1})
    avro = {"type": "record", "name": "q", "fields": [{"name": "a", "type": "string"}]}
    return [
        bytes([ARROW]) + block(stream_of(columns), 0) + block(stream_of({**columns, "more": pa.nulls(2)}), 0),
        bytes([ARROW]) + block(stream_of(coded), 0),
        bytes([ARROW]) + block(stream_of(columns, compressed), 0),
        bytes([SBE]) + block(sound, 0) * 2,
        bytes([PROTOBUF]) + block(message.SerializeToString(), 0) * 2,
        bytes([SBE_SCHEMA]) + SCHEMA,
        bytes([PROTOBUF_SCHEMA]) + descriptors(),
        bytes([AVRO_SCHEMA]) + json.dumps(avro).encode(),
    ]


def check(data: bytes) -> bool:
    kind, content = (data[0] if data else 0) % len(KINDS), data[1:]
    if kind in {ARROW, SBE, PROTOBUF}:
        payloads = [payload for _, payload in Script(content).blocks(MAX_PAYLOADS)]
        if kind == ARROW:
            return all(check_arrow(payload) for payload in payloads)
        return check_decoded(layout() if kind == SBE else None, payloads)
    try:
        check_schema(kind, content)
    except ConfigurationError as error:
        check_text(error, 2000 + 2 * len(content))
        return False
    return True


def check_arrow(payload: bytes) -> bool:
    batch = pa.record_batch({"payload": pa.array([payload], pa.binary())})
    (found,) = _ArrowReasons((), WANTED)(iter([batch]))
    try:
        rows = list(_ArrowRows((), WANTED)(iter([batch])))
    except ConfigurationError as error:
        check_text(error, 2000 + 2 * len(payload))
        assert found.num_rows == 1
        return False
    assert found.num_rows == 0
    assert sum(row.nbytes for row in rows) <= MAX_DECODED_LENGTH
    for row in rows:
        assert row.schema.types == WANTED.types
        row.validate(full=True)
        row.to_pylist()
    return True


def check_decoded(sbe: Layout | None, payloads: Sequence[bytes]) -> bool:
    """Decode all payloads with a null among them at once, as a batch, and each alone: the rows are the same."""
    together = _decoded(sbe, [*payloads, None])
    alone = [_decoded(sbe, [payload])[0] for payload in payloads]
    # As text: NaN is not equal to itself.
    assert str(together[:-1]) == str(alone)
    return all(reason is None for _, reason in alone)


def _decoded(sbe: Layout | None, payloads: Sequence[bytes | None]) -> list[tuple[list[object], str | None]]:
    # The first payload is cut off: columns of Spark may begin anywhere in their buffer.
    array = pa.array([b"before", *payloads], pa.binary())[1:]
    decoded: Decoded = protobuf()(array) if sbe is None else SbeConvert(sbe)(array)
    for column in decoded.columns:
        column.validate(full=True)
        assert len(column) == len(payloads)
    columns = [column.to_pylist() for column in decoded.columns]
    reasons = decoded.reasons.to_pylist()
    rows = [[column[index] for column in columns] for index in range(len(payloads))]
    for row, reason in zip(rows, reasons, strict=True):
        assert reason is None or (0 < len(reason) < 1000 and all(value is None for value in row))
    return list(zip(rows, reasons, strict=True))


def check_schema(kind: int, content: bytes) -> None:
    path = folder() / "schema"
    path.write_bytes(content)
    if kind == AVRO_SCHEMA:
        assert all(isinstance(json.loads(each), dict) for each in avro_schemas(path))
    elif kind == PROTOBUF_SCHEMA:
        made = message_class(content, MESSAGE)
        assert ddl_of(made.DESCRIPTOR) or not made.DESCRIPTOR.fields
    else:
        found = read_layout(path, "Quote")
        assert found.ddl or not found.fields
        payload = b"".join(len(content).to_bytes(2, "little") for _ in range(64))
        SbeConvert(found)(pa.array([b"", payload, None], pa.binary()))

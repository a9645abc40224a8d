"""Arrow IPC streams that would take far more memory than their payload has bytes."""

import struct

import pyarrow as pa
import pytest
from pyspark_aeron.decoding.arrow_ipc import _ArrowReasons, _ArrowRows
from pyspark_aeron.decoding.arrow_sizes import MAX_SIZE_OF_FEW_BYTES, MAX_SIZE_PER_BYTE, decoded_size

from aeron_core.errors import ConfigurationError

WANTED = pa.schema([("host", pa.string()), ("load", pa.float64())])


def payload_of(*batches):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return pa.record_batch({"payload": [sink.getvalue().to_pybytes()]})


def nulls(count):
    return pa.record_batch({"host": pa.nulls(count), "load": pa.nulls(count)})


@pytest.mark.parametrize("counts", [(1 << 30,), (1 << 20, 1 << 20, 1)])
def test_a_short_payload_with_very_many_rows_is_refused(counts):
    batch = payload_of(*map(nulls, counts))

    with pytest.raises(
        ConfigurationError, match=rf"payload: takes {32 * sum(counts)} bytes decoded, \d+ enc"
    ):
        list(_ArrowRows((), WANTED)(iter([batch])))
    (found,) = _ArrowReasons((), WANTED)(iter([batch]))
    assert "must take at most 67108864: send it in several messages" in found.column("reason")[0].as_py()


COUNT = 20_000_000
REPEATED = {
    "nulls in a list": lambda: pa.ListArray.from_arrays(pa.array([0, COUNT], pa.int32()), pa.nulls(COUNT)),
    "a long string for each index": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0] * 2_000, pa.int16()), pa.array(["x" * 65_536])
    ),
    "a long string in one run": lambda: pa.RunEndEncodedArray.from_arrays(
        pa.array([100_000], pa.int32()), pa.array(["x" * 1_000])
    ),
    "a long array of bytes for each index": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0] * 2_000, pa.int16()), pa.array([bytes(65_536)], pa.binary(65_536))
    ),
    "a dictionary within an extension": lambda: pa.ExtensionArray.from_storage(
        pa.opaque(pa.dictionary(pa.int16(), pa.string()), "any", "any"),
        pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int16()), pa.array(["x" * 65_536])),
    ),
    "one long element in many lists": lambda: pa.ListViewArray.from_arrays(
        pa.array([0] * 2_000, pa.int32()), pa.array([1] * 2_000, pa.int32()), pa.array(["x" * 65_536])
    ),
    # Each view has a length, a prefix, and the number of a buffer with an offset in it.
    "views of one string": lambda: pa.Array.from_buffers(
        pa.string_view(),
        2_000,
        [
            None,
            pa.py_buffer(struct.pack("<i4sii", 65_536, b"xxxx", 0, 0) * 2_000),
            pa.py_buffer(b"x" * 65_536),
        ],
    ),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_payload_that_repeats_much_is_refused(name):
    batch = payload_of(pa.record_batch({"host": REPEATED[name](), "load": pa.nulls(len(REPEATED[name]()))}))

    with pytest.raises(ConfigurationError, match=r"bytes decoded"):
        list(_ArrowRows((), WANTED)(iter([batch])))


ARRAYS = {
    "booleans": pa.array([True, None] * 2_000_000),
    "strings of a dictionary": pa.array(["left", "right"] * 100_000).dictionary_encode(),
    "lists": pa.array([[1, 2], [], None] * 100_000),
    "maps": pa.array([[("a", 1)], None] * 100_000, pa.map_(pa.string(), pa.int64())),
    "structs": pa.array([{"a": 1, "b": "x"}] * 100_000),
    "views": pa.array(["a string of more than twelve bytes"] * 1_000, pa.string_view()),
    "views of lists": pa.array([[1, 2]] * 10_000, pa.list_view(pa.int64())),
    "a dictionary with one long entry": pa.DictionaryArray.from_arrays(
        pa.array([0] * 65_535 + [1], pa.int32()), pa.array(["x", "x" * 1_100])
    ),
    "a dictionary of structs": pa.DictionaryArray.from_arrays(
        pa.array([1] * 2_000, pa.int16()), pa.array([{"a": number, "b": "x"} for number in range(1_000)])
    ),
    "views with one long string": pa.array(["short"] * 50_000 + ["x" * 5_000], pa.string_view()),
    "decimals": pa.array([1] * 10_000, pa.decimal128(38)),
    "dates": pa.array([1] * 10_000, pa.date32()),
    "arrays of bytes": pa.array([b"four"] * 10_000, pa.binary(4)),
    "a slice": pa.array(["left", "right"] * 100_000).slice(50_000, 100_000),
    "nothing": pa.array([], pa.string()),
    "lists of one length": pa.array([[1, 2]] * 100_000, pa.list_(pa.int8(), 2)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_usual_arrays_take_no_more_than_a_payload_may(name):
    batch = pa.record_batch({"column": ARRAYS[name]})
    length = len(payload_of(batch)["payload"][0].as_py())

    assert decoded_size(batch, ["column"]) <= max(MAX_SIZE_PER_BYTE * length, MAX_SIZE_OF_FEW_BYTES)


def test_a_payload_may_have_many_rows_without_bytes_and_more_with_bytes():
    many = (1 << 20) + 8
    short, long = nulls(1 << 20), pa.record_batch({"host": pa.nulls(many), "load": pa.array([0.5] * many)})

    for batch in (short, long):
        (rows,) = _ArrowRows((), WANTED)(iter([payload_of(batch)]))
        assert rows.num_rows == batch.num_rows

"""Arrow IPC streams that would take far more memory than their payload has bytes."""

import pyarrow as pa
import pytest
from pyspark_aeron.decoding.arrow_ipc import _ArrowReasons, _ArrowRows

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


@pytest.mark.parametrize("counts", [(1 << 30,), (1 << 19, 1 << 19, 1)])
def test_a_short_payload_with_very_many_rows_is_refused(counts):
    batch = payload_of(*map(nulls, counts))

    with pytest.raises(ConfigurationError, match=rf"payload: has {sum(counts)} rows in \d+ bytes: must have"):
        list(_ArrowRows((), WANTED)(iter([batch])))
    (found,) = _ArrowReasons((), WANTED)(iter([batch]))
    assert "must have at most 1048576: send them in several messages" in found.column("reason")[0].as_py()


def test_a_payload_may_have_many_rows_without_bytes_and_more_with_bytes():
    many = (1 << 20) + 8
    short, long = nulls(1 << 20), pa.record_batch({"host": pa.nulls(many), "load": pa.array([0.5] * many)})

    for batch in (short, long):
        (rows,) = _ArrowRows((), WANTED)(iter([payload_of(batch)]))
        assert rows.num_rows == batch.num_rows

"""Decoding of the fixed block of SBE messages, a batch at a time: one gather of bytes, and a view for each field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark_aeron.decoding.rows import Decoded
from pyspark_aeron.decoding.sbe_schema import PRIMITIVES, Composite, Layout, Value, size_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]
    Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class SbeConvert:
    """Conversion of payloads to the columns of a layout; a message of another layout has no row."""

    layout: Layout

    def __call__(self, payloads: pa.BinaryArray) -> Decoded:
        """Return the columns; a payload that is too short, or of another schema, is reported."""
        import numpy as np  # noqa: PLC0415 - for executors only
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        layout, count = self.layout, len(payloads)
        starts, lengths, data = _parts_of(payloads)
        valid = np.asarray(payloads.is_valid())
        has_header = valid & (lengths >= layout.header_length)
        header = _gathered(data, starts, np.where(has_header, layout.header_length, 0), layout.header_length)
        block, template, schema = (
            np.where(has_header, self._numbers(header, part)[:, 0].astype(np.int64), 0)
            for part in layout.header
        )
        is_ours = has_header & (schema == layout.schema_id) & (template == layout.template_id)
        is_whole = is_ours & (lengths >= layout.header_length + block)
        width = max((field.end for field in layout.fields), default=0)
        there = np.where(is_whole, np.minimum(block, width), 0)
        rows = _gathered(data, starts + layout.header_length, there, width)
        is_other = has_header & (schema == layout.schema_id) & np.isin(template, layout.others)

        reasons = np.full(count, None, dtype=object)
        reasons[valid & ~has_header] = f"shorter than a message header of {layout.header_length} bytes"
        foreign = has_header & ~is_ours
        reasons[foreign] = [
            f"schema {s}, template {t}: must be schema {layout.schema_id}, template {layout.template_id}"
            for s, t in zip(schema[foreign], template[foreign], strict=True)
        ]
        cut = is_ours & ~is_whole
        reasons[cut] = [f"shorter than its block of {length} bytes" for length in block[cut]]
        return Decoded(
            [self._array(rows, field, there, is_whole) for field in layout.fields],
            pa.array(reasons, pa.string()),
            pa.array(~is_other),
        )

    def _numbers(self, rows: Bytes, value: Value, base: int = 0) -> Numbers:
        """Return the numbers of a value, one row for each of `rows`."""
        import numpy as np  # noqa: PLC0415 - for executors only

        size = value.count * size_of(value.primitive)
        begin = value.offset - base
        code = self.layout.byte_order + PRIMITIVES[value.primitive][0]
        taken = np.ascontiguousarray(rows[:, begin : begin + size])
        return (
            taken.view(code)
            .astype(np.dtype(code).newbyteorder("="), copy=False)
            .reshape(len(rows), value.count)
        )

    def _array(self, rows: Bytes, field: Value | Composite, there: Numbers, is_whole: Numbers) -> pa.Array:
        """Return the column of a field. A block of an older version ends before a newer field, which is null then."""
        import numpy as np  # noqa: PLC0415 - for executors only
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        has = is_whole & (there >= field.end)
        if isinstance(field, Composite):
            members = [self._array(rows, member, there, is_whole) for member in field.members]
            names = [member.name for member in field.members]
            return pa.StructArray.from_arrays(members, names=names, mask=pa.array(~has))
        if field.constant is not None:
            value = field.constant if field.ddl == "string" else _number(field)
            return pa.array([value if each else None for each in has], _arrow_type(field))
        if field.primitive == "char" and not field.names:
            return _texts(
                rows[:, field.offset : field.end], has & _present(self._numbers(rows, field), field)
            )
        numbers = self._numbers(rows, field)
        if field.count > 1:
            flat = pa.array(numbers.reshape(-1))
            lists = pa.ListArray.from_arrays(np.arange(len(rows) + 1, dtype=np.int32) * field.count, flat)
            return _masked(lists, has)
        has = has & _present(numbers, field)
        if not field.names:
            made = pa.array(numbers[:, 0], mask=~has)
            return made.cast(pa.decimal128(20)) if field.primitive == "uint64" else made
        return _names(numbers[:, 0], field, has)


def _parts_of(payloads: pa.BinaryArray) -> tuple[Numbers, Numbers, Bytes]:
    """Return starts, lengths and bytes of the payloads."""
    import numpy as np  # noqa: PLC0415 - for executors only

    _, offsets, data = payloads.buffers()
    borders = np.frombuffer(offsets, np.int32)[payloads.offset : payloads.offset + len(payloads) + 1].astype(
        np.int64
    )
    octets = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return borders[:-1], np.diff(borders), octets


def _gathered(data: Bytes, starts: Numbers, lengths: Numbers, width: int) -> Bytes:
    """Return `width` bytes from each start, of which those behind its length are zero."""
    import numpy as np  # noqa: PLC0415 - for executors only

    steps = np.arange(width)
    if not len(data) or not width:
        return np.zeros((len(starts), width), np.uint8)
    is_there = steps < lengths[:, None]
    return np.where(is_there, data[np.where(is_there, starts[:, None] + steps, 0)], np.uint8(0))


def _present(numbers: Numbers, field: Value) -> Numbers:
    """Return whether each row has another value than null."""
    import numpy as np  # noqa: PLC0415 - for executors only

    if not field.is_optional:
        return np.ones(len(numbers), bool)
    first = numbers[:, 0]
    return ~np.isnan(first) if field.null is None or np.isnan(field.null) else first != field.null


def _texts(octets: Bytes, has: Numbers) -> pa.Array:
    """Return the texts of fixed length up to the first zero; what is not ASCII is replaced."""
    import numpy as np  # noqa: PLC0415 - for executors only
    import pyarrow as pa  # noqa: PLC0415 - for executors only

    ended = np.cumsum(octets == 0, axis=1) > 0
    cleared = np.ascontiguousarray(np.where(ended, np.uint8(0), octets))
    texts = cleared.view(f"S{octets.shape[1]}")[:, 0]
    return pa.array(np.char.decode(texts, "ascii", "replace"), pa.string(), mask=~has)


def _names(numbers: Numbers, field: Value, has: Numbers) -> pa.Array:
    """Return the names of an enum; a value without a name is written as a number."""
    import pyarrow as pa  # noqa: PLC0415 - for executors only
    import pyarrow.compute as pc  # noqa: PLC0415 - for executors only

    values = pa.array(numbers)
    known = pa.array([value for value, _ in field.names], values.type)
    names = pa.array([name for _, name in field.names], pa.string())
    found = pc.coalesce(names.take(pc.index_in(values, known)), values.cast(pa.string()))
    return _masked(found, has)


def _masked(array: pa.Array, has: Numbers) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - for executors only
    import pyarrow.compute as pc  # noqa: PLC0415 - for executors only

    return pc.if_else(pa.array(has), array, pa.scalar(None, array.type))


def _number(field: Value) -> int | float:
    assert field.constant is not None
    return float(field.constant) if field.primitive in {"float", "double"} else int(field.constant)


def _arrow_type(field: Value) -> pa.DataType:
    import pyarrow as pa  # noqa: PLC0415 - for executors only

    if field.ddl == "string":
        return pa.string()
    return pa.float64() if field.primitive in {"float", "double"} else pa.int64()

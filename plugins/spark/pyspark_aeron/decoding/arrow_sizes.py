"""Memory that a batch of Arrow takes once its columns are cast, at most.

A few bytes may describe much: a column of nulls has none, and one entry of a dictionary is repeated for each index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes for each byte of a payload, or in all if that is more. Invented: a byte has eight elements at most, of bits.
MAX_SIZE_PER_BYTE: Final = 160
MAX_SIZE_OF_FEW_BYTES: Final = 64 << 20
#: Bytes of an element without those of its children: a number, or an offset. Invented, and of no less than any type.
_ELEMENT: Final = 16


def decoded_size(batch: pa.RecordBatch) -> int:
    """Return the bytes that the columns of a valid batch take at most once they are cast."""
    return sum(map(_size, batch.columns))


def _size(array: pa.Array) -> int:
    import pyarrow as pa  # noqa: PLC0415 - for executors only

    kind = array.type
    if pa.types.is_dictionary(kind):
        return len(array) * (_ELEMENT + _longest(array.dictionary))
    if pa.types.is_run_end_encoded(kind):
        return len(array) * (_ELEMENT + _longest(array.values))
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        fields = range(kind.num_fields)
        return len(array) * _ELEMENT + sum(_size(array.field(index)) for index in fields)
    if pa.types.is_nested(kind):
        return len(array) * _ELEMENT + _size_of_lists(array)
    # Views may refer to the same bytes many times.
    is_view = pa.types.is_string_view(kind) or pa.types.is_binary_view(kind)
    own_length: int = array.nbytes
    return len(array) * (_ELEMENT + (_longest(array) if is_view else 0)) + own_length


def _size_of_lists(array: pa.Array) -> int:
    import pyarrow as pa  # noqa: PLC0415 - for executors only

    children = array.values
    if pa.types.is_map(array.type):
        return _size(array.keys) + _size(array.items)
    if pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type):
        return len(array) * _size(children)
    return _size(children)


def _longest(values: pa.Array) -> int:
    """Return the bytes of the longest value, or of all if they are nested."""
    import pyarrow as pa  # noqa: PLC0415 - for executors only
    import pyarrow.compute as pc  # noqa: PLC0415 - for executors only

    kind = values.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return max((len(value.as_buffer()) for value in values if value.is_valid), default=0)
    if (
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    ):
        longest: int = pc.max(pc.binary_length(values)).as_py() or 0
        return longest
    return _size(values) if pa.types.is_nested(kind) else _ELEMENT

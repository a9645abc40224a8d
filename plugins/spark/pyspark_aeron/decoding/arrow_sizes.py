"""Memory that columns of Arrow take once they are cast, about.

A few bytes may describe much: a column of nulls has none, and one entry of a dictionary is repeated for each index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

#: Bytes for each byte of a payload, or in all if that is more. Invented: a byte has eight elements at most, of bits.
MAX_SIZE_PER_BYTE: Final = 160
MAX_SIZE_OF_FEW_BYTES: Final = 64 << 20
#: Bytes of an element without those of its children: a number, or an offset. Invented.
_ELEMENT: Final = 16


def decoded_size(batch: pa.RecordBatch, names: Collection[str]) -> int:
    """Return the bytes that the columns `names` of a valid batch take once they are cast."""
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return sum(_size(column) for name, column in columns if name in names)


def _size(array: pa.Array) -> int:
    import pyarrow as pa  # noqa: PLC0415 - for executors only

    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    kind = array.type
    own = len(array) * _ELEMENT
    if pa.types.is_dictionary(kind):
        sizes = _sizes(array.dictionary)
        if isinstance(sizes, int):
            return own + len(array) * sizes
        return own + int(sizes[array.indices.drop_null().to_numpy(zero_copy_only=False)].sum())
    if pa.types.is_run_end_encoded(kind):
        return own + len(array) * _longest(array.values)
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        return own + sum(_size(array.field(index)) for index in range(kind.num_fields))
    if pa.types.is_nested(kind):
        return own + _size_of_lists(array)
    sizes = _sizes(array)
    return own + (len(array) * sizes if isinstance(sizes, int) else int(sizes.sum()))


def _size_of_lists(array: pa.Array) -> int:
    import pyarrow as pa  # noqa: PLC0415 - for executors only
    import pyarrow.compute as pc  # noqa: PLC0415 - for executors only

    kind = array.type
    if pa.types.is_map(kind):
        return _size(array.keys) + _size(array.items)
    children = array.values
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        count = pc.sum(pc.list_value_length(array)).as_py() or 0
        if count > len(children):  # some are in several lists
            return int(count * (_ELEMENT + _longest(children)))
    return _size(children)


def _longest(values: pa.Array) -> int:
    sizes = _sizes(values)
    return sizes if isinstance(sizes, int) else int(sizes.max(initial=0))


def _sizes(values: pa.Array) -> int | npt.NDArray[np.int64]:
    """Return the bytes of each value beside its element, a number if all have as many; of lists those of all."""
    import numpy as np  # noqa: PLC0415 - for executors only
    import pyarrow as pa  # noqa: PLC0415 - for executors only
    import pyarrow.compute as pc  # noqa: PLC0415 - for executors only

    types, kind = pa.types, values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _sizes(values.storage)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        lengths = (value.as_buffer().size if value.is_valid else 0 for value in values)
        return np.fromiter(lengths, np.int64, len(values))
    if (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    ):
        return np.asarray(pc.binary_length(values).fill_null(0), np.int64)
    if types.is_struct(kind):
        total: int | npt.NDArray[np.int64] = _ELEMENT * kind.num_fields
        for index in range(kind.num_fields):
            total = total + _sizes(values.field(index))
        return total
    if types.is_nested(kind) or types.is_dictionary(kind):
        return _size(values)
    return int(kind.byte_width) if types.is_fixed_size_binary(kind) else 0

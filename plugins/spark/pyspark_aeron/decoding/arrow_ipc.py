"""Payloads that are Arrow IPC streams: their rows, and those that have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from aeron_core.errors import ConfigurationError
from pyspark_aeron.decoding.arrow_sizes import MAX_SIZE_OF_FEW_BYTES, MAX_SIZE_PER_BYTE, decoded_size
from pyspark_aeron.decoding.rows import COLUMNS_EXAMPLE, PAYLOAD, take_options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def decode_arrow_ipc(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn payloads that are Arrow IPC streams into their rows, with the columns of option `schema`.

    Of the other columns only `position` and `recording_id` stay. A null payload has no rows. One that is not an Arrow
    IPC stream, has columns that cannot be cast to `schema`, or takes far more memory than its bytes, fails the query
    with its position, or has no rows with option `corrupt` = skip. Raises ConfigurationError if `schema` is not given
    or has no column names, and Spark's error if it is not DDL.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - needs pyarrow
    from pyspark.sql.types import StructType  # noqa: PLC0415 - takes half a second

    taken = take_options("arrow-ipc", options, {"schema": None, "corrupt": "fail"})
    if taken["corrupt"] not in {"fail", "skip"}:
        raise ConfigurationError(f"decoder arrow-ipc: corrupt={taken['corrupt']!r}: must be fail or skip")
    kept = [name for name in ("recording_id", "position") if name in frame.columns]
    types = "".join(f"`{name}` bigint, " for name in kept)
    schema = StructType.fromDDL(taken["schema"])
    if not isinstance(schema, StructType):
        raise ConfigurationError(
            f"decoder arrow-ipc: schema={taken['schema']!r}: must name columns, such as {COLUMNS_EXAMPLE}"
        )
    rows = _ArrowRows(tuple(kept), to_arrow_schema(schema), taken["corrupt"] == "skip")
    return frame.select(*kept, PAYLOAD).mapInArrow(rows, types + taken["schema"])


def broken_arrow(frame: DataFrame, place: Sequence[str], options: Mapping[str, str]) -> DataFrame:
    """Return the payloads that `decode_arrow_ipc` cannot decode, as `dead_letters` does."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - needs pyarrow
    from pyspark.sql.types import StructType  # noqa: PLC0415 - takes half a second

    taken = take_options("arrow-ipc", options, {"schema": None})
    wanted = to_arrow_schema(cast("StructType", StructType.fromDDL(taken["schema"])))
    types = "".join(f"`{name}` bigint, " for name in place)
    rows = _ArrowReasons(tuple(place), wanted)
    return frame.select(*place, PAYLOAD).mapInArrow(rows, f"{types}reason string, {PAYLOAD} binary")


class _ArrowRows:
    """Conversion of payloads to rows, for `mapInArrow`; runs in the executors.

    Raises ConfigurationError with the position of a payload that cannot be converted.
    """

    def __init__(self, kept: tuple[str, ...], wanted: pa.Schema, skips: bool = False) -> None:
        self._kept = kept
        self._wanted = wanted
        self._skips = skips

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        for batch in batches:
            kept = [batch.column(name).to_pylist() for name in self._kept]
            for index, payload in enumerate(batch.column(PAYLOAD)):
                if not payload.is_valid:
                    continue
                values = [column[index] for column in kept]
                pairs = zip(self._kept, values, strict=True)
                where = " at " + ", ".join(f"{name}={value}" for name, value in pairs) if values else ""
                try:
                    rows = self.rows_of(payload, where)
                except ConfigurationError:
                    if self._skips:
                        continue
                    raise
                for row in rows:
                    constants = [pa.repeat(pa.scalar(value, pa.int64()), len(row[0])) for value in values]
                    yield pa.RecordBatch.from_arrays(
                        [*constants, *row], names=[*self._kept, *self._wanted.names]
                    )

    def rows_of(self, payload: pa.BinaryScalar, where: str) -> list[list[pa.Array]]:
        """Return the columns of each batch in a payload; raises ConfigurationError as the class states."""
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        try:
            with pa.ipc.open_stream(payload.as_buffer()) as reader:
                _ = reader.schema.names  # fails if one is not UTF-8
                rows = list(reader)
            for row in rows:
                # Arrow trusts the offsets of a stream: wrong ones read other memory of the process.
                row.validate(full=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"payload{where}: must be an Arrow IPC stream: {error}; use the decoder that fits the payloads, or "
                "begin after this position with startingPosition"
            ) from None
        length, size = len(payload.as_buffer()), sum(decoded_size(row, self._wanted.names) for row in rows)
        most = max(MAX_SIZE_PER_BYTE * length, MAX_SIZE_OF_FEW_BYTES)
        if size > most:
            raise ConfigurationError(
                f"payload{where}: takes {size} bytes decoded, {length} encoded: must take at most {most}: send "
                "it in several messages, or begin after this position with startingPosition"
            )
        return [self._columns(row, where) for row in rows]

    def _columns(self, row: pa.RecordBatch, where: str) -> list[pa.Array]:
        """Return the columns of the schema, cast to its types; raises ConfigurationError if that fails.

        `where`: the place of the payload in messages, with a space before it, or empty.
        """
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        try:
            return [row.column(field.name).cast(field.type) for field in self._wanted]
        except (KeyError, pa.ArrowException) as error:
            there, wanted = (
                ", ".join(f"{field.name} {field.type}" for field in schema)
                for schema in (row.schema, self._wanted)
            )
            raise ConfigurationError(
                f"payload{where}: has the columns {there}: must have columns that can be cast to {wanted}, those "
                f"of option schema: {error}"
            ) from None


class _ArrowReasons:
    """Selection of the payloads that `_ArrowRows` cannot convert, for `mapInArrow`."""

    def __init__(self, place: tuple[str, ...], wanted: pa.Schema) -> None:
        self._place = place
        self._rows = _ArrowRows((), wanted)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        for batch in batches:
            reasons = pa.array([self._reason(payload) for payload in batch.column(PAYLOAD)], pa.string())
            made = pa.RecordBatch.from_arrays(
                [*(batch.column(name) for name in self._place), reasons, batch.column(PAYLOAD)],
                names=[*self._place, "reason", PAYLOAD],
            )
            yield made.filter(reasons.is_valid())

    def _reason(self, payload: pa.BinaryScalar) -> str | None:
        try:
            if payload.is_valid:
                self._rows.rows_of(payload, "")
        except ConfigurationError as error:
            return str(error)
        return None

"""Recordings of Aeron streams as a Spark data source and sink, and pipelines over them.

    spark.readStream.format("aeron").option("archive", "/data/recordings").load()

To resolve a format, Spark imports all modules with names that begin with `pyspark_` and takes their `DefaultSource`. If
one of these imports fails, Spark finds no format at all, so this module never fails and imports little. `register`
registers the format explicitly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyspark_aeron.source import AeronDataSource as DefaultSource


def __getattr__(name: str) -> object:
    if name != "DefaultSource":
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: must be one of {', '.join(__all__)}"
        )
    try:
        from pyspark_aeron.quiet_ends import end_quietly  # noqa: PLC0415 - as below
        from pyspark_aeron.source import AeronDataSource  # noqa: PLC0415 - pyspark is slow to import, and every driver imports this package
    except ImportError as error:
        raise AttributeError(
            f"{__name__}.{name} needs pyspark: {error}: pip install 'aeron-core[spark]'"
        ) from error
    end_quietly()  # in the process that looks formats up
    return AeronDataSource


def register(spark: SparkSession) -> None:
    """Register the format `aeron` with a session, in case Spark does not find it."""
    from pyspark_aeron.source import AeronDataSource  # noqa: PLC0415 - needs pyspark

    spark.dataSource.register(AeronDataSource)


__all__ = ["DefaultSource", "register"]

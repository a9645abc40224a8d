"""Recordings of Aeron streams as a Spark data source and sink, and pipelines over them.

    spark.readStream.format("aeron").option("archive", "/data/recordings").load()

Spark imports every module called `pyspark_…` when it looks a format up, and takes the attribute `DefaultSource`;
where that fails in any of them, none is found, so this one never fails and imports little. `register` does the
same by hand.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Without pyspark there is nobody who could ask for the format.
with contextlib.suppress(ImportError):
    from pyspark_aeron.source import AeronDataSource as DefaultSource


def register(spark: SparkSession) -> None:
    """Make the format `aeron` known to a session, where Spark did not find it by itself."""
    from pyspark_aeron.source import AeronDataSource  # noqa: PLC0415 - needs pyspark

    spark.dataSource.register(AeronDataSource)


__all__ = ["DefaultSource", "register"]

"""Recordings to read, and one Spark session for all tests that need one."""

import os
from pathlib import Path

import pytest

from aeron_core.testing.recordings import RecordingUnderTest

pytest.importorskip("pyspark", reason="needs pyspark: pip install aeron-core[spark]")


@pytest.fixture
def written(tmp_path):
    return RecordingUnderTest.begin(tmp_path / "archive")


@pytest.fixture
def second(written):
    """Return a second recording in the same archive, of another stream."""
    return RecordingUnderTest.begin(written.store.folder, channel="aeron:udp?endpoint=h:1", stream_id=99)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Return a session of two cores that tries a task once more, as a cluster does."""
    from pyspark_aeron.session import session  # noqa: PLC0415

    roots = Path(__file__).parents[3]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(roots / "plugins/spark"), os.environ.get("PYTHONPATH", "")]
    )
    spark = session(
        "local[2,2]",
        settings={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.log.level": "ERROR",
        },
    )
    yield spark
    spark.stop()

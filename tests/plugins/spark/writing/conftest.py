"""An archive that the tests write to, and what it holds."""

import pytest
from sink_query import Query


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def payloads(spark):
    """Return a function that returns the payloads of an archive in the order of positions."""

    def read(archive):
        frame = spark.read.format("aeron").load(str(archive)).orderBy("recording_id", "position")
        return [bytes(row.payload) for row in frame.select("payload").collect()]

    return read


@pytest.fixture
def archived(out):
    return Query(archive=str(out))

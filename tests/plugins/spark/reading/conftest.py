"""A fixture: the reader for Spark's Java."""

import pytest


@pytest.fixture(scope="module")
def java(spark, has_jvm_reader):
    """Return a function that reads an archive by the reader for Java, as a table of Arrow in the order of rows."""
    if not has_jvm_reader:
        pytest.skip("needs javac: on Debian, apt-get install default-jdk-headless")

    def read(folder, columns="*", **options):
        frame = spark.read.format("aeron-jvm").options(**options).load(str(folder)).select(columns)
        return frame.toArrow()

    return read

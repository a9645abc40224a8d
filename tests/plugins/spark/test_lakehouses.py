"""Tests in an environment of its own: those of Delta Lake and Iceberg, which have no jars for the newest Spark yet, and
those of streaming queries, to support that Spark too.
"""

import os
import subprocess
from pathlib import Path

import lakehouse_jars
import pytest

FOLDER = Path(__file__).parent
#: Variables that name another Spark, or another pytest.
FOREIGN = ("JAVA_TOOL", "PYSPARK", "PYTEST", "SPARK")
TIMEOUT_S = 1500
#: Files that need no jar are here because Spark 4.1 asks a source for its offsets in another manner.
FILES = (
    "lakehouses/test_avro.py",
    "lakehouses/test_sinks.py",
    "lakehouses/test_kills.py",
    "reading/test_stream_reader.py",
)


@pytest.mark.system
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize("file", FILES)
def test_the_tests_of_a_file_hold_with_the_spark_of_lakehouses(file):
    missing = lakehouse_jars.missing_programs()
    if missing and not os.environ.get("CI"):
        pytest.skip(f"needs {', '.join(missing)} to download jars (Debian: maven)")
    lakehouse_jars.jars()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}

    ended = subprocess.run(
        [lakehouse_jars.python(), "-m", "pytest", "-q", "-s", FOLDER / file],
        env={**environment, "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    print(ended.stdout)
    assert ended.returncode == 0

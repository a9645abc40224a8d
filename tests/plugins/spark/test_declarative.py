"""Declarative pipelines of Spark, `spark-pipelines`, over the format `aeron`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyarrow import parquet

TIMEOUT_S = 480
SPEC = """
name: numbers
storage: file://{folder}/storage
libraries:
  - glob:
      include: transformations/**
"""
GUIDE = (Path(__file__).parents[3] / "docs/how-to/query-with-spark.md").read_text(encoding="utf-8")
(SOURCE,) = re.findall(r"```python\n(from pyspark import pipelines.*?)```", GUIDE, re.DOTALL)
(SQL,) = re.findall(r"```sql\n(CREATE STREAMING TABLE.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def run(tmp_path, written):
    """Return a function that runs the pipeline, and returns the sorted rows of one of its tables."""
    folder = tmp_path / "pipeline"
    (folder / "transformations").mkdir(parents=True)
    (folder / "spark-pipeline.yml").write_text(SPEC.format(folder=folder))
    (folder / "transformations/messages.py").write_text(
        SOURCE.replace("/data/recordings", str(written.store.folder))
    )
    (folder / "transformations/texts.sql").write_text(SQL)
    roots = [str(Path(__file__).parents[3] / "plugins/spark"), os.environ.get("PYTHONPATH", "")]

    def run(table):
        ended = subprocess.run(
            [
                Path(sys.executable).parent / "spark-pipelines",
                "run",
                "--conf",
                "spark.sql.shuffle.partitions=1",
            ],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(roots),
                "SPARK_HOME": str(Path(pyspark.__file__).parent),
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout
        files = (folder / "spark-warehouse" / table).glob("*.parquet")
        return sorted(tuple(row.values()) for file in files for row in parquet.read_table(file).to_pylist())

    return run


@pytest.mark.system
def test_tables_of_python_and_sql_follow_a_recording(run, written):
    written.append(b"a", b"b")

    assert run("texts") == [(64, "A"), (128, "B")]

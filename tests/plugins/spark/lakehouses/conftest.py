"""A Spark session with the jars of Delta Lake and Iceberg, in the environment that `test_lakehouses.py` makes."""

import os
from pathlib import Path

import pyspark
import pytest
from lakehouse_jars import SETTINGS, SPARK, jars
from pyspark_aeron.pipeline.building import build
from pyspark_aeron.pipeline.definition import load_pipeline
from pyspark_aeron.pipeline.running import check_query
from pyspark_aeron.session import session

if pyspark.__version__ != SPARK:
    collect_ignore_glob = ["test_*.py"]

TIMEOUT_S = 240
PLUGIN = Path(__file__).parents[4] / "plugins/spark"


@pytest.fixture(scope="session")
def spark(quick_java, has_jvm_reader, tmp_path_factory):
    """Return a session with both formats, and a catalog `lake` of Iceberg.

    It is also that of tests in other folders that run later in this process: Spark has one session in each.
    """
    os.environ["PYTHONPATH"] = os.pathsep.join([str(PLUGIN), os.environ.get("PYTHONPATH", "")])
    folder = tmp_path_factory.mktemp("tables")
    spark = session(
        "local[2,2]",
        settings={
            **SETTINGS,
            "spark.jars": jars(),
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(folder / "lake"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.shuffle.partitions": "1",
            "spark.log.level": "ERROR",
        },
        jvm_reader=has_jvm_reader,
    )
    yield spark
    spark.stop()


@pytest.fixture
def run(spark, tmp_path, written):
    """Return a function that runs sinks over the existing data of the archive, with SQL over its source `log`."""

    def run(sinks, sql="SELECT position, CAST(payload AS STRING) AS text FROM log"):
        file = tmp_path / "pipeline.toml"
        file.write_text(
            f'name = "tables"\ncheckpoint = "{tmp_path}/checkpoint"\ntrigger = "available-now"\n'
            f'[sources.log]\narchive = "{written.store.folder}"\n'
            f'[[steps]]\nname = "rows"\nsql = """{sql}"""\n{sinks}'
        )
        queries = build(load_pipeline(file), spark).start()
        for query in queries:
            try:
                query.awaitTermination(TIMEOUT_S)
            except pyspark.errors.StreamingQueryException:
                check_query(query)

    return run

"""The Spark that Delta Lake and Iceberg have jars for, in an environment of its own, and these jars."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

from peer_programs import alone, make_environment, make_once

#: The newest Spark that both formats support.
SPARK = "4.1.4"
ARTIFACTS = (
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.apache.spark:spark-avro_2.13:4.1.1",
)
ROOT = Path(__file__).parents[4]
JARS = ROOT / ".venv-jars"
ENVIRONMENT = ROOT / f".venv-spark-{SPARK}"
#: Settings of a session. Delta reads the state of a table in 50 tasks by default, which takes most of a small test.
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def missing_programs() -> list[str]:
    """Return the programs that are needed but not installed."""
    if all(_jar(artifact).exists() for artifact in ARTIFACTS) or shutil.which("mvn") is not None:
        return []
    return ["mvn"]


def jars() -> str:
    """Return the paths of the jars, for the setting `spark.jars`, after downloading them if necessary."""

    def download() -> None:
        shutil.rmtree(JARS, ignore_errors=True)
        JARS.mkdir()
        for artifact in ARTIFACTS:
            options = [f"-Dartifact={artifact}", f"-DoutputDirectory={JARS}", "-Dmdep.useBaseVersion=true"]
            subprocess.run(["mvn", "-q", "-B", "dependency:copy", *options], check=True)

    make_once(JARS, "\n".join(ARTIFACTS), download)
    return ",".join(str(_jar(artifact)) for artifact in ARTIFACTS)


def python() -> Path:
    """Return the Python of an environment with that Spark above everything that this environment has."""
    made = make_environment(ENVIRONMENT, [f"pyspark=={SPARK}"])
    here, there = (
        Path(sysconfig.get_path("purelib", vars={"base": str(base)} if base else {}))
        for base in (None, ENVIRONMENT)
    )
    with alone(ENVIRONMENT):
        (there / "beneath.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n", encoding="utf-8")
    return made


def _jar(artifact: str) -> Path:
    _, name, version = artifact.split(":")
    return JARS / f"{name}-{version}.jar"

"""Environments with other releases of Spark, one of which Delta Lake and Iceberg have jars for, and these jars.

lakehouse_jars.py RELEASE... [-- OPTION...]    runs the tests of this folder with each release, and pytest's options
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from peer_programs import alone, download_jars, make_environment, make_once

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
#: Variables that name another Spark, or another pytest.
FOREIGN = ("JAVA_TOOL", "PYSPARK", "PYTEST", "SPARK")
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
        download_jars(ARTIFACTS, JARS)

    make_once(JARS, "\n".join(ARTIFACTS), download)
    return ",".join(str(_jar(artifact)) for artifact in ARTIFACTS)


def python(release: str = SPARK) -> Path:
    """Return the Python of an environment with a release of Spark above everything that this environment has."""
    environment = ROOT / f".venv-spark-{release}"
    if Path(sys.prefix) == environment:
        return Path(sys.executable)
    made = make_environment(environment, [f"pyspark=={release}"])
    here, there = (
        Path(sysconfig.get_path("purelib", vars={"base": str(base)} if base else {}))
        for base in (None, environment)
    )
    with alone(environment):
        if (there / "setuptools").exists():
            # That of Python 3.11 is too old to build a wheel alone, and would hide the one beneath.
            subprocess.run([made, "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools"], check=True)
        (there / "beneath.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n", encoding="utf-8")
    return made


def variables() -> dict[str, str]:
    """Return the environment variables for the tests of another release."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**kept, "PYTHONPATH": ""}


def quick_variables(program: str | Path) -> dict[str, str]:
    """Return the environment variables with which the Spark of a Python starts quickly, as in its own tests."""
    made = subprocess.run(
        [program, Path(__file__).with_name("java_options.py"), ROOT / "build/java"],
        env={**variables(), "PYTHONPATH": str(ROOT / "tests/interop/peers")},
        stdout=subprocess.PIPE,
        check=True,
    )
    return {**variables(), **json.loads(made.stdout)}


def run_tests(release: str, options: list[str]) -> int:
    """Run the tests of the folder with a release of Spark; return pytest's status."""
    folder = Path(__file__).parents[1]
    # The tests of lakehouses need sessions with jars, hence processes, of their own: test_lakehouses.py starts these,
    # in the environment of the one release that there are jars for.
    ignored = "lakehouses" if release == SPARK else "test_lakehouses.py"
    command = [python(release), "-m", "pytest", f"--ignore={folder / ignored}", *options]
    if not any(Path(option.partition("::")[0]).exists() for option in options):
        command.append(folder)
    print(f"Spark {release}", flush=True)
    return subprocess.run(command, cwd=ROOT, env=variables(), check=False).returncode


def _jar(artifact: str) -> Path:
    _, name, version = artifact.split(":")
    return JARS / f"{name}-{version}.jar"


def main(arguments: list[str]) -> int:
    """Run the tests with each release; return 1 if some fail."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    releases, options = arguments[:end], arguments[end + 1 :]
    failed = [release for release in releases if run_tests(release, options)]
    if failed:
        print(f"error: tests fail with Spark {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

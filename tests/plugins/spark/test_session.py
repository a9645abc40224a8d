"""Errors of sessions that cannot start."""

import importlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark_aeron.session import _start

from aeron_core.errors import ConfigurationError

ROOTS = Path(__file__).parents[3]
START = """
import sys
from pyspark_aeron.session import session
session("local[1]", settings={"spark.ui.enabled": "true", "spark.ui.port": sys.argv[1], "spark.port.maxRetries": "0"})
"""


class Builder:
    """A builder that fails to create a session."""

    def __init__(self, error):
        self._error = error

    def getOrCreate(self):  # noqa: N802 - Spark's name
        raise self._error


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), PySparkRuntimeError("Java gateway exited")]
)
def test_the_end_of_the_java_machine_is_reported(error):
    with pytest.raises(
        ConfigurationError, match=r"with master foo: .*; if Java was started, stderr shows the cause"
    ):
        _start(Builder(error), "foo")


@pytest.mark.system
def test_a_port_in_use_is_reported():
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()

        ended = subprocess.run(
            [sys.executable, "-c", START, str(taken.getsockname()[1])],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOTS / "plugins/spark"), str(ROOTS)])},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    *_, last = ended.stderr.splitlines()
    assert "ConfigurationError: Spark does not start with master local[1]: " in last
    assert "such as a port in use (spark.ui.port)" in last
    assert "Service 'SparkUI' failed after 0 retries" in ended.stderr


def test_workers_import_the_installed_pyspark(spark):
    rows = spark.sparkContext.parallelize([0], 1)

    assert rows.map(lambda _: importlib.import_module("pyspark").__file__).first() == pyspark.__file__

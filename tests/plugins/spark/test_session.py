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
from pyspark_aeron import session as session_module
from pyspark_aeron.session import _start, session

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


def test_a_missing_jar_of_the_reader_for_java_is_reported_with_its_build(monkeypatch, tmp_path):
    monkeypatch.setattr(session_module, "_JVM_READER_JAR", tmp_path / "reader.jar")

    with pytest.raises(
        ConfigurationError, match=r"reader.jar is missing: build it by `make spark-jar`, install"
    ):
        session("local[1]", jvm_reader=True)


def test_a_connect_server_must_load_the_reader_for_java_itself(monkeypatch, tmp_path):
    jar = tmp_path / "reader.jar"
    jar.touch()
    monkeypatch.setattr(session_module, "_JVM_READER_JAR", jar)

    with pytest.raises(ConfigurationError, match=r"load the jar when it starts: give it --jars .*reader.jar"):
        session("sc://localhost:15002", jvm_reader=True)


def test_a_running_spark_without_the_reader_for_java_is_reported(spark, monkeypatch, tmp_path):
    jar = tmp_path / "reader.jar"
    jar.touch()
    monkeypatch.setattr(session_module, "_JVM_READER_JAR", jar)

    with pytest.raises(
        ConfigurationError, match=r"Spark was started before in this process, without the jar"
    ):
        session("local[1]", jvm_reader=True)

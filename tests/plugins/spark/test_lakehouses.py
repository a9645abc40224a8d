"""Tests in an environment of its own: those of Delta Lake and Iceberg, which have no jars for the newest Spark yet, and
those of streaming queries, to support that Spark too.
"""

import os
import re
import subprocess
from pathlib import Path

import lakehouse_jars
import pytest

FOLDER = Path(__file__).parent
#: Seconds for the tests of a session; those that kill repeat most of them in each round.
TIMEOUT_S = 2400 + 900 * (int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1")) - 1)
#: In this order in one process, which takes 15 s of CPU time to start Java and load the classes of both formats.
FILES = (
    "lakehouses/test_avro.py",
    "lakehouses/test_sinks.py",
    "lakehouses/test_kills.py",
    # Needs no jar, and is here because Spark 4.1 asks a source for its offsets in another manner.
    "reading/test_stream_reader.py",
)


@pytest.fixture(scope="module")
def output(request):
    """Run the selected files, and return pytest's output."""
    missing = lakehouse_jars.missing_programs()
    if missing and not os.environ.get("CI"):
        pytest.skip(f"needs {', '.join(missing)} to download jars (Debian: maven)")
    lakehouse_jars.jars()
    selected = {
        item.callspec.params["file"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    files = (FOLDER / file for file in FILES if file in selected)
    command = [lakehouse_jars.python(), "-m", "pytest", "-q", "-s", "-rfEp", *files]
    return subprocess.run(
        command,
        env=lakehouse_jars.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


@pytest.mark.system
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize("file", FILES)
def test_the_tests_of_a_file_hold_with_the_spark_of_lakehouses(file, output):
    outcomes = re.findall(rf"^([A-Z]+) \S*{re.escape(file)}(?:::| |$)", output, re.MULTILINE)
    print(output)
    assert set(outcomes) == {"PASSED"}

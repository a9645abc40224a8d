"""Tests in an environment of its own: those of Delta Lake and Iceberg, which have no jars for the newest Spark yet, and
those of streaming queries, to support that Spark too.
"""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import lakehouse_jars
import pytest

FOLDER = Path(__file__).parent
#: Seconds for the tests of a session; those that kill repeat most of them in each round.
TIMEOUT_S = 2400 + 900 * (int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1")) - 1)
#: Files by session: a process takes 15 s of CPU time to start Java and load the classes of both formats.
SESSIONS = (
    ("lakehouses/test_avro.py", "lakehouses/test_sinks.py", "lakehouses/test_kills.py"),
    # Needs no jar, and is here because Spark 4.1 asks a source for its offsets in another manner.
    ("reading/test_stream_reader.py",),
)


@pytest.fixture(scope="module")
def output_of(request):
    """Return a function that runs a file with the selected ones of its session, once; it returns pytest's output."""
    selected = {
        item.callspec.params["file"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }

    @cache
    def run(files):
        ended = subprocess.run(
            [
                lakehouse_jars.python(),
                "-m",
                "pytest",
                "-q",
                "-s",
                "-rfEp",
                *(FOLDER / file for file in files),
            ],
            env=lakehouse_jars.variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ended.stdout

    return lambda file: run(
        tuple(each for session in SESSIONS if file in session for each in session if each in selected)
    )


@pytest.mark.system
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize("file", [file for session in SESSIONS for file in session])
def test_the_tests_of_a_file_hold_with_the_spark_of_lakehouses(file, output_of):
    missing = lakehouse_jars.missing_programs()
    if missing and not os.environ.get("CI"):
        pytest.skip(f"needs {', '.join(missing)} to download jars (Debian: maven)")
    lakehouse_jars.jars()

    output = output_of(file)

    outcomes = re.findall(rf"^([A-Z]+) \S*{re.escape(file)}(?:::| |$)", output, re.MULTILINE)
    print(output)
    assert set(outcomes) == {"PASSED"}

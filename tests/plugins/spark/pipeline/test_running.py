"""Whole pipelines, most of them in processes of their own."""

import json
import os
import signal
import subprocess
import sys

import pytest
from pyarrow import parquet
from pyspark_aeron.pipeline.definition import load_pipeline
from pyspark_aeron.pipeline.running import PipelineRun, check_query

from aeron_core.errors import PipelineError

PIPELINE = """
name = "packages"
master = "local[2]"
checkpoint = "{tmp}/checkpoint"
trigger = "{trigger}"
settings = {{ "spark.log.level" = "ERROR", "spark.sql.shuffle.partitions" = 1 }}

[sources.log]
archive = "{archive}"
decode = "utf8"

[[steps]]
name = "errors"
sql = "SELECT position, text FROM log WHERE text LIKE 'error%'"

[[sinks]]
from = "errors"
format = "parquet"
path = "{tmp}/errors"
"""


@pytest.fixture
def pipeline(tmp_path, written):
    def make(trigger="available-now", **changes):
        text = PIPELINE.format(tmp=tmp_path, archive=written.store.folder, trigger=trigger)
        for old, new in changes.items():
            text = text.replace(old, new)
        path = tmp_path / "pipeline.toml"
        path.write_text(text)
        return path

    return make


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "aeron_core", "pipeline", *map(str, arguments)],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*arguments):
    process = start(*arguments)
    out, err = process.communicate(timeout=180)
    return process.returncode, out, err


@pytest.mark.system
def test_a_pipeline_reads_filters_and_writes_and_goes_on_the_next_time(pipeline, written, tmp_path):
    written.append(b"error: disk", b"all is well")
    code, out, err = run("run", pipeline(), "--json", "--progress-log", tmp_path / "progress.log")
    assert code == 0, err
    assert json.loads(out.splitlines()[0])["rows"] == 2

    written.append(b"error: fan")
    shown = '[[sinks]]\nfrom = "errors"\nname = "shown"\nformat = "console"\n[[sinks]]'
    file = pipeline(**{"[[sinks]]": shown})
    code, out, err = run("run", file, "--progress-log", tmp_path / "progress.log")
    assert code == 0, err
    assert "errors: 1 row\n" in err
    assert "|error: disk|" in out  # of the new query, which begins with the existing data

    # Read with Spark: only its log hides the files of a killed run.
    files = json.loads("[" + ",".join(_written_files(tmp_path)) + "]")
    rows = [
        row for file in files for row in parquet.read_table(file["path"].removeprefix("file://")).to_pylist()
    ]
    assert sorted(row["text"] for row in rows) == ["error: disk", "error: fan"]
    assert (tmp_path / "progress.log").read_text().count("\n") >= 2


def _written_files(tmp_path):
    for log in sorted((tmp_path / "errors/_spark_metadata").glob("[0-9]*")):
        yield from log.read_text().splitlines()[1:]


@pytest.mark.system
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_pipeline_cleanly(pipeline, written, number):
    written.append(b"error: disk")
    process = start("run", pipeline(trigger="100 ms"), "--json")
    first = process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=180)

    assert (process.returncode, json.loads(first)["query"]) == (0, "errors"), err
    assert "KeyboardInterrupt" not in err


@pytest.fixture
def failure(spark, monkeypatch):
    """Return a function that returns the error of a failing pipeline in the session of the tests."""

    def run(file):
        monkeypatch.setattr(type(spark), "stop", lambda session: None)
        # Without settings, which would remain in the session.
        loaded = load_pipeline(file).model_copy(update={"settings": {}})
        with pytest.raises(PipelineError) as caught:
            PipelineRun(loaded).run(lambda seconds: False, lambda progress: None)
        return str(caught.value)

    return run


def test_a_failed_query_ends_the_pipeline_with_its_error(failure, pipeline, written):
    written.append(b"a" * 100)
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.truncate(40)

    message = failure(pipeline())

    assert message.startswith("query errors has failed: ")
    assert "ends at position 40: must extend to 160" in message


def test_invalid_sql_is_reported(failure, pipeline, written):
    message = failure(pipeline(text="txt"))

    assert message.startswith("pipeline packages: ")
    assert "`txt` cannot be resolved" in message
    assert "\n" not in message


def test_a_wrong_option_is_reported_in_one_line(failure, pipeline, written):
    message = failure(pipeline(**{'decode = "utf8"': 'options = { colour = "red" }'}))

    assert (
        ": correct the file: aeron_core.errors.ConfigurationError: unknown option colour: must be one"
        in message
    )
    assert "\n" not in message


@pytest.mark.system
def test_a_check_needs_no_spark(pipeline, written):
    assert run("check", pipeline())[:2] == (
        0,
        f"{pipeline()}: pipeline packages: sources log; queries errors\n",
    )
    code, _, err = run("check", pipeline(utf8="xml"))
    assert (code, err.count("\n")) == (2, 1)
    assert "no decoder 'xml'" in err


@pytest.mark.system
def test_the_demo_finds_every_line_of_a_log_in_the_table(tmp_path):
    log = tmp_path / "dpkg.log"
    log.write_text(
        "2026-01-02 03:04:05 install foo:amd64 <none> 1.0\n"
        "2026-01-02 03:04:06 status installed foo:amd64 1.0\n"
        "2026-01-02 03:05:00 status installed bar:amd64 2.0\n"
    )

    code, out, err = run("demo", "--input", log, "--min-lines", "3000", "--to", tmp_path / "out", "--json")

    assert code == 0, err
    document = json.loads(out)
    assert (document["rows"], document["distinct_rows"]) == (3000, 3000)
    assert document["actions"] == {"install": 1000, "status": 2000}
    assert (tmp_path / "out/events.png").read_bytes().startswith(b"\x89PNG")


PYTHON_TRACE = """[STREAM_FAILED] Query [id = 7] terminated with exception: Job aborted due to stage failure: Task 0
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/reader.py", line 1, in read
    raise KeyError("first")
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/reader.py", line 3, in read
    raise ValueError("no position 7")
ValueError: no position 7

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:572)
Driver stacktrace:
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (PYTHON_TRACE, ": ValueError: no position 7"),
        (
            "failed\n\tat a.b(C.java:1)\nCaused by: x.Outer: o\n\tat d\nCaused by: x.Inner: i\n\tat e",
            ": x.Inner: i",
        ),
        ("Traceback (most recent call last):\n" + "x" * 5000, f": {'x' * 500}..."),
        ("[STREAM_FAILED] terminated with exception: disk full", ""),
    ],
)
def test_the_message_of_a_failed_query_begins_with_its_cause(text, cause):
    class Failed:
        name = "events"

        def exception(self):
            return RuntimeError(text)

    with pytest.raises(PipelineError) as caught:
        check_query(Failed())

    assert str(caught.value).startswith(
        f"query events has failed{cause}; remove the cause and run the pipeline again"
    )

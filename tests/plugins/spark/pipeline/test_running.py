"""Whole pipelines, most of them in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from pyarrow import parquet
from pyspark_aeron.pipeline.definition import load_pipeline
from pyspark_aeron.pipeline.running import PipelineRun, check_query

from aeron_core.errors import PipelineError
from aeron_core.testing.recordings import RecordingUnderTest

TIMEOUT_S = 180
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


SHOWN = '[[sinks]]\nfrom = "errors"\nname = "shown"\nformat = "console"\n[[sinks]]'


def text_of(folder, archive, trigger="available-now", **changes):
    """Return the text of a pipeline whose tables are in `folder`, after replacements."""
    text = PIPELINE.format(tmp=folder, archive=archive, trigger=trigger)
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


@pytest.fixture
def pipeline(tmp_path, written):
    def make(**changes):
        path = tmp_path / "pipeline.toml"
        path.write_text(text_of(tmp_path, written.store.folder, **changes))
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


class Run:
    """A process that runs a pipeline in `folder` until a signal ends it, with its output."""

    def __init__(self, folder, number, *options, **changes):
        self.number = number
        self._file = folder / f"{number}.toml"
        self._file.write_text(text_of(folder, folder / "archive", "100 ms", **changes))
        self._outputs = [folder / f"{number}.out", folder / f"{number}.err"]
        with self._outputs[0].open("w") as out, self._outputs[1].open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "aeron_core", "pipeline", "run", self._file, *options],
                stdout=out,
                stderr=err,
            )

    @property
    def out(self):
        return self._outputs[0].read_text()

    @property
    def err(self):
        return self._outputs[1].read_text()

    def end_when(self, condition):
        """Send the signal when the condition holds."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while not condition():
            assert self.process.poll() is None, self.err
            assert time.monotonic() < deadline_s, self.err
            time.sleep(0.01)  # a batch takes longer
        self.process.send_signal(self.number)
        self.process.wait(TIMEOUT_S)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Run a pipeline twice, the second time with more data and another query; return the folder and the runs by signal.

    Tests share them, because each start of Spark takes 10 s of CPU time.
    """
    folder = tmp_path_factory.mktemp("runs")
    written = RecordingUnderTest.begin(folder / "archive")
    log = folder / "progress.log"
    runs = []
    try:
        written.append(b"error: disk", b"all is well")
        runs.append(first := Run(folder, signal.SIGTERM, "--json", "--progress-log", log))
        first.end_when(lambda: "\n" in first.out)
        written.append(b"error: fan")
        runs.append(second := Run(folder, signal.SIGINT, "--progress-log", log, **{"[[sinks]]": SHOWN}))
        second.end_when(lambda: ("errors", 1) in _batches(log) and "error: fan|" in second.out)
        yield folder, {run.number: run for run in runs}
    finally:
        for run in runs:
            if run.process.poll() is None:
                run.process.kill()
                run.process.wait()


@pytest.mark.system
def test_a_pipeline_reads_filters_and_writes_and_goes_on_the_next_time(runs):
    folder, ended = runs
    first = json.loads(ended[signal.SIGTERM].out.splitlines()[0])
    assert (first["query"], first["rows"]) == ("errors", 2)
    assert "errors: 1 row\n" in ended[signal.SIGINT].err
    # Of the new query, which begins with the existing data.
    assert "|error: disk|" in ended[signal.SIGINT].out

    # Read with Spark: only its log hides the files of a killed run.
    files = json.loads("[" + ",".join(_written_files(folder)) + "]")
    rows = [
        row for file in files for row in parquet.read_table(file["path"].removeprefix("file://")).to_pylist()
    ]
    assert sorted(row["text"] for row in rows) == ["error: disk", "error: fan"]
    assert [batch for batch in _batches(folder / "progress.log") if batch[0] == "errors"] == [
        ("errors", 2),
        ("errors", 1),
    ]


def _batches(log):
    """Return the query and the number of rows of each batch in a progress log that has rows."""
    lines = log.read_text().split("\n")[:-1]
    return [(line["query"], line["rows"]) for line in map(json.loads, lines) if line["rows"]]


def _written_files(folder):
    for log in sorted((folder / "errors/_spark_metadata").glob("[0-9]*")):
        yield from log.read_text().splitlines()[1:]


@pytest.mark.system
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_pipeline_cleanly(runs, number):
    ended = runs[1][number]

    assert ended.process.returncode == 0, ended.err
    assert "KeyboardInterrupt" not in ended.err


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

"""What Spark reports, in the terms of streams."""

import json
from types import SimpleNamespace

import pytest
from pyspark_aeron.lag import Lag, StreamLag
from pyspark_aeron.pipeline.definition import load_pipeline
from pyspark_aeron.pipeline.display import ProgressDisplay, length
from pyspark_aeron.pipeline.plotting import plot, read_log
from pyspark_aeron.pipeline.progress import BatchProgress
from pyspark_aeron.pipeline.running import PipelineRun
from rich.console import Console

from aeron_core.errors import ConfigurationError

SPARK = {
    "id": "1b2c",
    "name": "copy",
    "timestamp": "2026-01-31T12:00:00.000Z",
    "batchId": 7,
    "batchDuration": 250,
    "numInputRows": 1000,
    "processedRowsPerSecond": 4000.0,
    "durationMs": {"addBatch": 200, "triggerExecution": 250},
    "sources": [
        {
            "endOffset": {"archive": "u", "pos": {"1": 64, "2": 96}, "v": 1},
            "latestOffset": {"archive": "u", "pos": {"1": 128, "2": 96, "3": 32}, "v": 1},
        },
        {"endOffset": 5, "latestOffset": 9},
    ],
}


def aged(seconds):
    """Return what would look streams up, all of the same age."""
    return lambda lag: StreamLag(lag.recording_id, lag.bytes, seconds if lag.bytes else 0.0)


def test_a_batch_has_its_lag():
    asked = []

    progress = BatchProgress.of(SPARK, lambda lag: asked.append(lag) or aged(1.5)(lag))

    assert (progress.query, progress.batch_id, progress.rows, progress.batch_ms) == ("copy", 7, 1000, 250)
    assert (progress.lag_bytes, progress.lag_seconds) == (64 + 32, 1.5)
    assert asked == [Lag("u", 1, 64, 128), Lag("u", 2, 96, 96), Lag("u", 3, 0, 32)]
    assert progress.streams == (StreamLag(1, 64, 1.5), StreamLag(2, 0, 0.0), StreamLag(3, 32, 1.5))


@pytest.mark.parametrize("rate", ["NaN", float("inf"), None])
def test_a_rate_that_is_not_a_number_counts_as_zero(rate):
    assert BatchProgress.of(SPARK | {"processedRowsPerSecond": rate}, aged(0.0)).rows_per_second == 0


def test_rows_of_sources_count_if_the_query_reports_none():
    sources = [{"numInputRows": 7, "processedRowsPerSecond": 70.0}, {"numInputRows": 3}]
    without = {key: value for key, value in SPARK.items() if not key.endswith(("Rows", "PerSecond"))}

    progress = BatchProgress.of(without | {"sources": sources}, aged(0.0))

    assert (progress.rows, progress.rows_per_second) == (10, 70.0)


def test_a_batch_can_be_parsed_from_the_log():
    progress = BatchProgress.of(SPARK, aged(1.0))

    assert BatchProgress.parse(progress.to_json()) == progress


class Query:
    """The reports of a query, and the number of times that all of them were asked for."""

    id = "q"

    def __init__(self):
        self.reports = []
        self.asked_for_all = 0

    def add(self, batch_id, timestamp=SPARK["timestamp"]):
        document = SPARK | {"batchId": batch_id, "timestamp": timestamp}
        self.reports.append(SimpleNamespace(json=json.dumps(document)))

    @property
    def lastProgress(self):  # noqa: N802 - Spark's name
        return self.reports[-1] if self.reports else None

    @property
    def recentProgress(self):  # noqa: N802 - Spark's name
        self.asked_for_all += 1
        return self.reports


@pytest.fixture
def pipeline(tmp_path):
    file = tmp_path / "pipeline.toml"
    file.write_text(
        'name = "copy"\ncheckpoint = "c"\n[sources.log]\narchive = "a"\n[[sinks]]\nfrom = "log"\npath = "p"\n'
    )
    return load_pipeline(file)


def test_streams_are_looked_up_once_per_batch(pipeline):
    asked, seen, query = [], [], Query()
    run = PipelineRun(pipeline, look_up=lambda lag: asked.append(lag) or aged(0.0)(lag))

    for batches in ([], [7], [8], [], [9, 10]):
        for number in batches:
            query.add(number)
        seen.append([progress.batch_id for progress in run.new_progress(query)])

    assert (seen, len(asked)) == ([[], [7], [8], [], [9, 10]], 4 * 3)


def test_all_reports_are_asked_for_only_if_more_than_one_may_be_new(pipeline):
    run, query = PipelineRun(pipeline, look_up=aged(0.0)), Query()
    query.add(7)
    list(run.new_progress(query))
    before = query.asked_for_all

    for number in range(8, 12):
        query.add(number)
        assert [progress.batch_id for progress in run.new_progress(query)] == [number]
        assert list(run.new_progress(query)) == []
    assert query.asked_for_all == before

    # An idle query repeats the number.
    query.add(11, "2026-01-31T12:00:10.000Z")
    assert [progress.batch_id for progress in run.new_progress(query)] == [11]


def test_progress_is_a_line_without_a_terminal(capsys):
    with ProgressDisplay(Console(width=200)) as display:
        display.show(BatchProgress.of(SPARK, aged(2.0)))

    assert capsys.readouterr().out == (
        "copy: batch 7, 1,000 rows in 250 ms, 4,000/s, behind by 96 B and 2.0 s\n"
    )
    assert display.rows == {"copy": 1000}


def test_progress_is_a_table_on_a_terminal(capsys):
    with ProgressDisplay(Console(width=120, force_terminal=True)) as display:
        display.show(BatchProgress.of(SPARK, aged(2.0)))

    shown = capsys.readouterr().out
    assert "copy" in shown
    assert [line.split()[-3:] for line in shown.splitlines() if "recording 3" in line][-1] == [
        "32",
        "B",
        "2.0",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (5 * 1024**3, "5.0 GiB"), (2**50, "1,024.0 TiB")],
)
def test_lengths_have_readable_units(count, text):
    assert length(count) == text


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "progress.log"
    lines = [
        BatchProgress.of(
            SPARK | {"batchId": i, "timestamp": f"2026-01-31T12:00:{i:02}.000Z"}, aged(1.0)
        ).to_json()
        for i in range(20)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".html", b"<!doctype html>")]
)
def test_a_progress_log_can_be_plotted(log, tmp_path, suffix, begin):
    pytest.importorskip("matplotlib")
    target = tmp_path / f"out{suffix}"

    plot(read_log(log), target, "copy & paste")

    assert target.read_bytes().startswith(begin)


def test_a_malformed_progress_log_is_refused(tmp_path, log):
    with log.open("a") as file:
        file.write(json.dumps({"colour": "red"}) + "\n")

    with pytest.raises(ConfigurationError, match="line 21: must be a batch's progress"):
        read_log(log)
    (tmp_path / "empty").touch()
    with pytest.raises(ConfigurationError, match="has no batch yet"):
        read_log(tmp_path / "empty")


def test_a_picture_of_an_unknown_format_is_refused(log, tmp_path):
    pytest.importorskip("matplotlib")

    with pytest.raises(ConfigurationError, match=r"out\.gif: must end with \.png, \.svg or \.html"):
        plot(read_log(log), tmp_path / "out.gif", "x")

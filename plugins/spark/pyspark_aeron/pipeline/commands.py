"""`aeron-core pipeline demo | run | check | plot`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aeron_core.cli.command import CoreCommand
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import Json, MetricsOpen, MetricsTokenFile, Otlp, print_json
from aeron_core.cli.outcome import EXIT_USAGE, ended, print_stderr
from aeron_core.cli.text_table import counted
from aeron_core.metrics.access import checked_access
from pyspark_aeron.pipeline.demo import demo
from pyspark_aeron.session import check_spark

if TYPE_CHECKING:
    from aeron_core.metrics.access import MetricsAccess
    from pyspark_aeron.pipeline.definition import Pipeline
    from pyspark_aeron.pipeline.progress import BatchProgress

PipelineFile = Annotated[Path, typer.Argument(metavar="FILE", help="TOML file that describes the pipeline.")]


def _master_of(text: str) -> str:
    """Parse the master of Spark; raise ValueError, as typer expects, if it has the form of none."""
    from pyspark_aeron.pipeline.definition import check_master  # noqa: PLC0415 - imports pydantic

    return check_master(text)


pipeline_app = typer.Typer(
    help="Pipelines on Spark: streams in, SQL, tables or streams out.", no_args_is_help=True
)

pipeline_app.command(cls=CoreCommand)(demo)


@pipeline_app.command(cls=CoreCommand)
def run(  # noqa: PLR0913 - the options of the command
    file: PipelineFile,
    progress_log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to append a line to for each batch, for `pipeline plot`."),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", parser=_master_of, help="Spark master instead of the file's."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve the lags of queries to Prometheus at this address, path /metrics.",
        ),
    ] = None,
    metrics_token_file: MetricsTokenFile = None,
    metrics_open: MetricsOpen = False,
    otlp: Otlp = None,
    json: Json = False,
) -> None:
    """Run a pipeline until its queries end, or until interrupted.

    A later run continues from there.
    """
    from pyspark_aeron.pipeline.definition import load_pipeline  # noqa: PLC0415 - imports pydantic
    from pyspark_aeron.pipeline.display import ProgressDisplay  # noqa: PLC0415 - rich is slow to import

    access = checked_access(metrics, metrics_token_file, is_open=metrics_open)
    pipeline = load_pipeline(file)
    if master is not None:
        pipeline = pipeline.model_copy(update={"master": master})
    check_spark()
    from pyspark_aeron.pipeline.running import PipelineRun  # noqa: PLC0415 - needs Spark

    with _monitored_lags(access, otlp) as report, Interrupt() as interrupt, ProgressDisplay() as display:

        def show(progress: BatchProgress) -> None:
            report(progress)
            if json:
                print(progress.to_json(), flush=True)
            else:
                display.show(progress)

        PipelineRun(pipeline, progress_log=progress_log).run(interrupt.wait, show)
    if not json:
        for query, rows in display.rows.items():
            print_stderr(f"{query}: {counted(rows, 'row')}")


@contextmanager
def _monitored_lags(
    access: MetricsAccess | None, otlp: str | None
) -> Iterator[Callable[[BatchProgress], object]]:
    """Serve lags at `access` and export them to `otlp`; yield a function that takes them from each batch."""
    if access is None and otlp is None:
        yield lambda _: None
        return
    from pyspark_aeron.lag_metrics import METRICS, LagMetrics  # noqa: PLC0415 - lazy: only these options need it

    lags = LagMetrics()
    with ExitStack() as stack:
        if access is not None:
            from prometheus_client import CollectorRegistry  # noqa: PLC0415 - lazy: only --metrics needs it

            from aeron_core.metrics.server import MetricsServer  # noqa: PLC0415 - lazy: only --metrics needs it

            registry = CollectorRegistry()
            registry.register(lags)
            server = stack.enter_context(MetricsServer(access, registry))
            print_stderr(f"metrics at {server.url}")
        if otlp is not None:
            from aeron_core.metrics.export import export_to  # noqa: PLC0415 - lazy: only --otlp needs it

            stack.callback(export_to(otlp, lags.samples, METRICS).close)
        yield lambda progress: lags.report(progress.query, progress.streams)


@pipeline_app.command(cls=CoreCommand)
def check(file: PipelineFile, json: Json = False) -> None:
    """Report all problems of a pipeline, without starting Spark.

    Checks its file, archives, folders and decoders.
    """
    from pyspark_aeron.pipeline.checking import check_file  # noqa: PLC0415 - imports pydantic and numpy
    from pyspark_aeron.pipeline.definition import load_pipeline  # noqa: PLC0415 - imports pydantic

    problems = check_file(file)
    for problem in problems:
        print_stderr(f"error: {problem}")
    pipeline = None if problems else load_pipeline(file)
    if json:
        print_json(_check_document(file, pipeline, problems))
    if pipeline is None:
        raise ended(EXIT_USAGE)
    if json:
        return
    sources, sinks = ", ".join(pipeline.sources), ", ".join(sink.query for sink in pipeline.sinks)
    print(f"{file}: pipeline {pipeline.name}: sources {sources}; queries {sinks}")


def _check_document(file: Path, pipeline: Pipeline | None, problems: Sequence[str]) -> dict[str, object]:
    """Return the result of a check; name, sources and queries are unknown if there is a problem."""
    return {
        "file": str(file),
        "pipeline": None if pipeline is None else pipeline.name,
        "sources": [] if pipeline is None else list(pipeline.sources),
        "queries": [] if pipeline is None else [sink.query for sink in pipeline.sinks],
        "problems": list(problems),
    }


@pipeline_app.command("plot", cls=CoreCommand)
def plot_progress(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Progress log written by `run --progress-log`.")],
    to: Annotated[Path, typer.Option(metavar="FILE", help="Output file: .png, .svg or .html.")] = Path(
        "progress.png"
    ),
) -> None:
    """Plot throughput, lag, and duration of batches."""
    from pyspark_aeron.pipeline.plotting import plot, read_log  # noqa: PLC0415 - imports pydantic and numpy

    plot(read_log(log), to, log.stem)
    print_stderr(f"wrote {to}")

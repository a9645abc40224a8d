"""Plots of a pipeline's progress log: throughput, lag, and duration of batches."""

from __future__ import annotations

import html
import io
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aeron_core.errors import ConfigurationError
from pyspark_aeron.pipeline.progress import BatchProgress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEBIBYTE = 1024 * 1024


def read_log(path: Path) -> list[BatchProgress]:
    """Return the batches of a progress log; raises ConfigurationError if it is unreadable, malformed or empty."""
    batches = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror or error if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"{path}: must be a progress log, which `aeron-core pipeline run --progress-log` writes: {cause}"
        ) from None
    for number, line in enumerate(lines, 1):
        try:
            batches.append(BatchProgress.parse(line))
        except (ValueError, TypeError) as error:
            raise ConfigurationError(
                f"{path}: line {number}: must be a batch's progress: {error}: delete this line, or name another log"
            ) from None
    if not batches:
        raise ConfigurationError(f"{path}: has no batch yet: plot it after the first batch of the pipeline")
    return batches


def plot(batches: Sequence[BatchProgress], target: Path, title: str) -> None:
    """Write a plot of at least one batch to a .png, .svg or .html file.

    Raises ConfigurationError for another file type, or if matplotlib is not installed; OSError if the file cannot be
    written.
    """
    kind = target.suffix.lower()
    if kind not in {".png", ".svg", ".html"}:
        raise ConfigurationError(f"{target}: must end with .png, .svg or .html")
    try:
        import matplotlib  # noqa: PLC0415 - optional
    except ImportError:
        raise ConfigurationError(
            "a plot needs matplotlib, which is not installed: pip install 'aeron-core[plots]'"
        ) from None
    matplotlib.use("agg")
    figure = _draw(batches, title)
    if kind == ".html":
        picture = io.StringIO()
        figure.savefig(picture, format="svg")
        svg = picture.getvalue()
        page = f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title>{svg[svg.index('<svg') :]}"
        target.write_text(page, encoding="utf-8")
    else:
        figure.savefig(target, dpi=120)


def _draw(batches: Sequence[BatchProgress], title: str) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=(9, 8), layout="constrained")
    axes: Any = figure.subplots(3, 1, sharex=True)
    begin = min(batch.moment for batch in batches)
    by_query: dict[str, list[BatchProgress]] = defaultdict(list)
    for batch in batches:
        by_query[batch.query].append(batch)
    for query, own in by_query.items():
        seconds = [(batch.moment - begin).total_seconds() for batch in own]
        axes[0].plot(seconds, [batch.rows_per_second for batch in own], label=query, marker=".")
        axes[1].plot(seconds, [batch.lag_bytes / _MEBIBYTE for batch in own], marker=".")
        axes[2].plot(seconds, [batch.batch_ms for batch in own], marker=".")
    for axis, label in zip(axes, ("rows a second", "behind, MiB", "batch, ms"), strict=True):
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].set_title(title)
    axes[0].legend(loc="upper right", frameon=False)
    axes[2].set_xlabel("seconds")
    return figure

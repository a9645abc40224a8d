"""Plugin that adds the commands of this package to `aeron-core`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.spi import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def aeron_cli(app: typer.Typer) -> None:
    """Add `aeron-core pipeline`."""
    from pyspark_aeron.pipeline.commands import pipeline_app  # noqa: PLC0415 - imports typer, for the command line only

    app.add_typer(pipeline_app, name="pipeline")

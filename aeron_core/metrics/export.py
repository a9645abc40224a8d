"""Export of samples by OTLP, for `--otlp` of commands: checks the URL, and that OpenTelemetry is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aeron_core.errors import ConfigurationError
from aeron_core.metrics.samples import METRICS, Metric, Samples

if TYPE_CHECKING:
    from aeron_core.metrics.opentelemetry import Export


def export_to(url: str, samples: Samples, metrics: Sequence[Metric] = METRICS) -> Export:
    """Export `samples`, which are of `metrics`, until the result is closed.

    Raises ConfigurationError for a wrong URL, and if the extra `otel` is not installed.
    """
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"--otlp={url}: must be the URL of a collector that receives OTLP over HTTP, such as "
            "http://localhost:4318/v1/metrics"
        )
    try:
        from aeron_core.metrics.opentelemetry import Export  # noqa: PLC0415 - lazy: only --otlp needs the extra
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"--otlp needs OpenTelemetry ({error}): pip install 'aeron-core[otel]'"
        ) from None
    return Export(url, samples, metrics)

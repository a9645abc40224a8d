"""Progress of a pipeline's queries: Spark's report in terms of streams."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from pyspark_aeron.lag import LookUp, StreamLag, lags_of


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One micro-batch of one query."""

    query: str
    batch_id: int
    time: str  # start of the batch, ISO 8601
    rows: int
    rows_per_second: float
    batch_ms: int
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    lag_bytes: int = 0  # sum over all sources of the format `aeron`
    lag_seconds: float = 0.0  # age of the oldest unread message
    streams: tuple[StreamLag, ...] = ()

    @classmethod
    def of(cls, progress: Mapping[str, Any], look_up: LookUp) -> BatchProgress:
        """Return the progress from the JSON of Spark's report; `look_up` adds details of the streams."""
        streams = tuple(look_up(lag) for lag in lags_of(progress))
        durations = {key: int(value) for key, value in progress.get("durationMs", {}).items()}
        return cls(
            query=progress.get("name") or progress["id"],
            batch_id=int(progress["batchId"]),
            time=progress["timestamp"],
            rows=int(_over_sources(progress, "numInputRows")),
            rows_per_second=_over_sources(progress, "processedRowsPerSecond"),
            batch_ms=int(progress.get("batchDuration", durations.get("triggerExecution", 0))),
            phases_ms=durations,
            lag_bytes=sum(stream.bytes for stream in streams),
            lag_seconds=max((stream.seconds or 0.0 for stream in streams), default=0.0),
            streams=streams,
        )

    def to_json(self) -> str:
        """Return the batch as JSON without a newline, as in the progress log."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def parse(cls, line: str) -> BatchProgress:
        """Parse a line of `to_json`; raises ValueError or TypeError if it is malformed."""
        document = dict(json.loads(line))
        streams = tuple(StreamLag(**stream) for stream in document.pop("streams", ()))
        return cls(**document, streams=streams)

    @property
    def moment(self) -> datetime:
        """Start of the batch."""
        return datetime.fromisoformat(self.time)


def _over_sources(progress: Mapping[str, Any], name: str) -> float:
    """Return a number of the query, summed over its sources if Spark Connect reports these only."""
    if name in progress:
        return _number(progress[name])
    return sum(_number(source.get(name)) for source in progress.get("sources", ()))


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0

"""How far the queries of a pipeline are, as Spark reports it, in the terms of streams."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Lag:
    """What one recording has that was not read."""

    archive: str  # uuid
    recording_id: int
    read_position: int
    position: int

    @property
    def bytes(self) -> int:
        """How much it is."""
        return self.position - self.read_position


AgeOf = Callable[[Lag], float]  # seconds


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One micro-batch of one query."""

    query: str
    batch_id: int
    time: str  # when the batch began, ISO 8601
    rows: int
    rows_per_second: float
    batch_ms: int
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    lag_bytes: int = 0  # over all sources that are recordings
    lag_seconds: float = 0.0  # since the oldest message was recorded that was not read

    @classmethod
    def of(cls, progress: Mapping[str, Any], age_of: AgeOf) -> BatchProgress:
        """Return what one progress of Spark, as its JSON, says; `age_of` knows how old what was not read is."""
        lags = [lag for source in progress.get("sources", ()) for lag in _lags_of(source)]
        durations = {key: int(value) for key, value in progress.get("durationMs", {}).items()}
        return cls(
            query=progress.get("name") or progress["id"],
            batch_id=int(progress["batchId"]),
            time=progress["timestamp"],
            rows=int(progress.get("numInputRows", 0)),
            rows_per_second=_number(progress.get("processedRowsPerSecond")),
            batch_ms=int(progress.get("batchDuration", durations.get("triggerExecution", 0))),
            phases_ms=durations,
            lag_bytes=sum(lag.bytes for lag in lags),
            lag_seconds=max((age_of(lag) for lag in lags), default=0.0),
        )

    def to_json(self) -> str:
        """Return one line for programs, and for the progress log."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def parse(cls, line: str) -> BatchProgress:
        """Return what `to_json` has written."""
        return cls(**json.loads(line))

    @property
    def moment(self) -> datetime:
        """When the batch began."""
        return datetime.fromisoformat(self.time)


def _lags_of(source: Mapping[str, Any]) -> list[Lag]:
    """Return how far behind a query is on each recording of a source; none for another kind of source."""
    end, latest = _document(source.get("endOffset")), _document(source.get("latestOffset"))
    read = end.get("pos", {})
    return [
        Lag(str(latest["archive"]), int(key), int(read.get(key, 0)), int(position))
        for key, position in latest.get("pos", {}).items()
        if int(position) > int(read.get(key, 0))
    ]


def _document(offset: Any) -> dict[str, Any]:
    document = json.loads(offset) if isinstance(offset, str) and offset.startswith("{") else offset
    return document if isinstance(document, dict) and "archive" in document and "pos" in document else {}


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0

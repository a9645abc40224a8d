"""Tells how far queries are behind, as their batches end.

    spark.streams.addListener(LagListener(["/data/recordings"], print))

Runs in the program that has the session, on a thread of Spark's: with Spark Connect in the client.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from pyspark_aeron.lag import Lags, StreamLag, lags_of

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryLag:
    """How far one query was behind when one of its batches ended."""

    query: str  # its name, or its id where it has none
    batch_id: int
    streams: tuple[StreamLag, ...]  # all that it reads, those with nothing to read too

    @property
    def bytes(self) -> int:
        """Over all streams."""
        return sum(stream.bytes for stream in self.streams)

    @property
    def seconds(self) -> float:
        """Of the stream that is furthest behind."""
        return max((stream.seconds or 0.0 for stream in self.streams), default=0.0)


def log_lag(lag: QueryLag) -> None:
    """Log a line for each stream that is behind."""
    for stream in lag.streams:
        if stream.bytes:
            _logger.info(
                "%s: batch %d: %s stream %d recording %d: behind by %d bytes, %s s",
                lag.query,
                lag.batch_id,
                stream.channel or "unknown channel",
                stream.stream_id,
                stream.recording_id,
                stream.bytes,
                "?" if stream.seconds is None else f"{stream.seconds:.1f}",
            )


class LagListener(StreamingQueryListener):
    """Hands the lag of every query that reads recordings to `on_lag`, which logs it where unset.

    `archives`: folders or URIs that can be read from here; without them there are bytes, but neither seconds nor
    channels.
    """

    def __init__(
        self,
        archives: Iterable[str | Path] = (),
        on_lag: Callable[[QueryLag], object] = log_lag,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._lags = Lags(archives, clock)
        self._on_lag = on_lag

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name, as all below
        """Do nothing: there is no lag yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Tell of a batch."""
        progress = json.loads(event.progress.json)
        streams = tuple(self._lags(lag) for lag in lags_of(progress))
        if streams:
            name = progress.get("name") or progress["id"]
            self._on_lag(QueryLag(name, int(progress["batchId"]), streams))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Do nothing: what it was behind by, the last batch has said."""

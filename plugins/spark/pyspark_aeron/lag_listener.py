"""Listener that reports the lag of queries after each batch.

    spark.streams.addListener(LagListener(["/data/recordings"], print))

Runs in the program that owns the session, on a thread of Spark; with Spark Connect, in the client.
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
    """Lag of one query at the end of a batch."""

    query: str  # its name, or its id if unnamed
    batch_id: int
    streams: tuple[StreamLag, ...]  # all streams that it reads, including those without unread data

    @property
    def bytes(self) -> int:
        """Number of unread bytes of all streams."""
        return sum(stream.bytes for stream in self.streams)

    @property
    def seconds(self) -> float:
        """Age of the oldest unread message of all streams, in seconds; an unknown age counts as 0."""
        return max((stream.seconds or 0.0 for stream in self.streams), default=0.0)


def log_lag(lag: QueryLag) -> None:
    """Log a line for each stream with unread data, at level INFO."""
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
    """Listener that passes the lag of every query that reads recordings to `on_lag`; logs it by default.

    `archives`: folders or URIs that can be read from here; without them lags have bytes, but neither seconds nor
    channels. `clock` returns nanoseconds since the epoch.
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
        """Do nothing: the lag is not known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Report the lag after a batch, if the query reads recordings."""
        progress = json.loads(event.progress.json)
        streams = tuple(self._lags(lag) for lag in lags_of(progress))
        if streams:
            name = progress.get("name") or progress["id"]
            self._on_lag(QueryLag(name, int(progress["batchId"]), streams))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Do nothing: the last batch reported the lag."""

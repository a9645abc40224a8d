"""How far a query is behind, stream by stream: what Spark reports, in the terms of recordings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aeron_core.errors import AeronError
from aeron_core.recording import Archive, Recording


@dataclass(frozen=True, slots=True)
class Lag:
    """What one recording has, and how much of it a query has read."""

    archive: str  # uuid
    recording_id: int
    read_position: int
    position: int

    @property
    def bytes(self) -> int:
        """How much was not read."""
        return max(self.position - self.read_position, 0)


@dataclass(frozen=True, slots=True)
class StreamLag:
    """How far a query is behind on one stream."""

    recording_id: int
    bytes: int
    seconds: float | None  # since the first message was recorded that was not read; None where nobody can say
    channel: str = ""  # empty, and the two below 0, where the archive cannot be read from here
    stream_id: int = 0
    session_id: int = 0


LookUp = Callable[[Lag], StreamLag]


def lags_of(progress: Mapping[str, Any]) -> list[Lag]:
    """Return how far a query is on every recording of all its sources; `progress` is Spark's, as its JSON."""
    return [lag for source in progress.get("sources", ()) for lag in _lags_of(source)]


class Lags:
    """Looks into the archives; what cannot be read from here has no name and no age."""

    def __init__(self, archives: Iterable[str | Path], clock: Callable[[], int] = time.time_ns) -> None:
        self._places = tuple(dict.fromkeys(str(place) for place in archives))
        self._clock = clock
        self._archives: dict[str, Archive] = {}

    def __call__(self, lag: Lag) -> StreamLag:
        """Return what is known of a stream and of the first message in it that was not read."""
        unknown = StreamLag(lag.recording_id, lag.bytes, None if lag.bytes else 0.0)
        archive = self._archive(lag.archive)
        if archive is None:
            return unknown
        try:
            recording = archive.recording(lag.recording_id)
            described = recording.descriptor
            seconds = self._age(recording, lag.read_position) if lag.bytes else 0.0
        except AeronError:
            return unknown
        return StreamLag(
            lag.recording_id,
            lag.bytes,
            seconds,
            described.channel,
            described.stream_id,
            described.session_id,
        )

    def _age(self, recording: Recording, position: int) -> float:
        return max(self._clock() - recording.time_behind(position), 0) / 1e9

    def _archive(self, uuid: str) -> Archive | None:
        if uuid not in self._archives:
            # One that a live source makes is there later than the first question.
            for place in self._places:
                try:
                    archive = Archive.open(place)
                except AeronError:
                    continue
                self._archives[archive.uuid] = archive
        return self._archives.get(uuid)


def _lags_of(source: Mapping[str, Any]) -> list[Lag]:
    """Return the lags of one source; none for a source of another kind."""
    end, latest = _document(source.get("endOffset")), _document(source.get("latestOffset"))
    read = end.get("pos", {})
    return [
        Lag(str(latest["archive"]), int(key), int(read.get(key, 0)), int(position))
        for key, position in latest.get("pos", {}).items()
    ]


def _document(offset: Any) -> dict[str, Any]:
    document = json.loads(offset) if isinstance(offset, str) and offset.startswith("{") else offset
    return document if isinstance(document, dict) and "archive" in document and "pos" in document else {}

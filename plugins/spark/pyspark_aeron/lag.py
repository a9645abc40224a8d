"""Lag of a query for each stream: Spark's progress report in terms of recordings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aeron_core.archive.reading.opening import open_archive
from aeron_core.errors import AeronError
from aeron_core.recording import Archive, Recording


@dataclass(frozen=True, slots=True)
class Lag:
    """Position of a recording, and the position up to which a query has read it, both in bytes."""

    archive: str  # uuid
    recording_id: int
    read_position: int
    position: int

    @property
    def bytes(self) -> int:
        """Number of unread bytes."""
        return max(self.position - self.read_position, 0)


@dataclass(frozen=True, slots=True)
class StreamLag:
    """Lag of a query on one stream."""

    recording_id: int
    bytes: int
    seconds: float | None  # age of the first unread message; None if unknown
    channel: str = ""  # empty, and the next two fields 0, if this process cannot read the archive
    stream_id: int = 0
    session_id: int = 0


LookUp = Callable[[Lag], StreamLag]


def lags_of(progress: Mapping[str, Any]) -> list[Lag]:
    """Return the lag on every recording of the `aeron` sources of a query; `progress` is the JSON of Spark's report."""
    return [lag for source in progress.get("sources", ()) for lag in _lags_of(source)]


class Lags:
    """Look-up of lags in archives; without a readable archive, channel and age of unread data are unknown.

    `clock` returns nanoseconds since the epoch.
    """

    def __init__(self, archives: Iterable[str | Path], clock: Callable[[], int] = time.time_ns) -> None:
        self._uris = tuple(dict.fromkeys(str(uri) for uri in archives))
        self._clock = clock
        self._archives: dict[str, Archive] = {}

    def __call__(self, lag: Lag) -> StreamLag:
        """Return the lag with channel and ids of the stream, and the age of its first unread message, 0 if none."""
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
            # A missing archive is looked up again: a live source may create its archive after the first call.
            for uri in self._uris:
                try:
                    archive = open_archive(uri)
                except AeronError:
                    continue
                self._archives[archive.uuid] = archive
        return self._archives.get(uuid)


def _lags_of(source: Mapping[str, Any]) -> list[Lag]:
    """Return the lags of one source, an empty list if it is not of the format `aeron`."""
    end, latest = _document(source.get("endOffset")), _document(source.get("latestOffset"))
    read = end.get("pos", {})
    return [
        Lag(str(latest["archive"]), int(key), int(read.get(key, 0)), int(position))
        for key, position in latest.get("pos", {}).items()
    ]


def _document(offset: Any) -> dict[str, Any]:
    document = json.loads(offset) if isinstance(offset, str) and offset.startswith("{") else offset
    return document if isinstance(document, dict) and "archive" in document and "pos" in document else {}

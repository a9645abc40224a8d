"""Offsets: positions of recordings, as they stand in Spark's checkpoint.

Spark compares offsets as text, so that they are built here and nowhere else: one order of keys, one way to write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from aeron_core.errors import DataLossError, RecordingError

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Offset:
    """A position of every recording that the query has seen."""

    archive: str  # uuid
    positions: dict[int, int]  # by recording id

    def to_json(self) -> dict[str, Any]:
        """Return what Spark writes down."""
        positions = {str(key): self.positions[key] for key in sorted(self.positions)}
        return {"archive": self.archive, "pos": positions, "v": VERSION}

    @classmethod
    def parse(cls, document: dict[str, Any], archive: str) -> Offset:
        """Return what a checkpoint holds; raises RecordingError where it is not one of `archive`, a uuid."""
        if not isinstance(document, dict) or document.get("v") != VERSION:
            raise RecordingError(
                f"checkpoint offset {document}: must be one of the format aeron, version {VERSION}; use another "
                "checkpointLocation"
            )
        if document.get("archive") != archive:
            raise RecordingError(
                f"the checkpoint is of archive {document.get('archive')}, the query reads archive {archive}: use the "
                "archive that it began with, or another checkpointLocation"
            )
        try:
            positions = {int(key): int(value) for key, value in document["pos"].items()}
        except (KeyError, ValueError, AttributeError, TypeError):
            raise RecordingError(
                f"checkpoint offset {document}: must have positions by recording id"
            ) from None
        return cls(archive, positions)

    def check_not_before(self, start: Offset) -> None:
        """Raise DataLossError where a recording is behind `start`: its files are not those of the checkpoint."""
        for recording_id, begin in start.positions.items():
            end = self.positions.get(recording_id, begin)
            if end < begin:
                raise DataLossError(
                    f"recording {recording_id} ends at {end}, before the position {begin} that the checkpoint has "
                    "already read: the archive was restored from an older copy; use another checkpointLocation"
                )

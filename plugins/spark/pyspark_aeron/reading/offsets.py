"""Offsets: positions of recordings in the format of Spark's checkpoints.

Spark compares offsets as text, so only this module creates them, with a fixed order of keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from aeron_core.errors import DataLossError, RecordingError
from aeron_core.uri.values import INT64_MAX

VERSION: Final = 1
#: Characters of a document in a message.
_MAX_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Offset:
    """A position in bytes for every recording of the query."""

    archive: str  # uuid
    positions: dict[int, int]  # by recording id

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document for the checkpoint, with keys in a fixed order: equal offsets have equal text."""
        positions = {str(key): self.positions[key] for key in sorted(self.positions)}
        return {"archive": self.archive, "pos": positions, "v": VERSION}

    @classmethod
    def parse(cls, document: dict[str, Any], archive: str) -> Offset:
        """Parse the document of a checkpoint; raises RecordingError if it is malformed or of another archive."""
        shown = str(document)[:_MAX_SHOWN]
        if not isinstance(document, dict) or document.get("v") != VERSION:
            raise RecordingError(
                f"checkpoint offset {shown}: must be one of the format aeron, version {VERSION}; use another "
                "checkpointLocation"
            )
        found = document.get("archive")
        if found != archive:
            raise RecordingError(
                f"the checkpoint is of archive {str(found)[:_MAX_SHOWN]}, the query reads archive {archive}: use the "
                "archive that it began with, or another checkpointLocation"
            )
        try:
            positions = {int(key): _checked(value) for key, value in document["pos"].items()}
            _ = [_checked(recording_id) for recording_id in positions]
        except (KeyError, ValueError, AttributeError, TypeError):
            raise RecordingError(
                f"checkpoint offset {shown}: must have positions by recording id, numbers from 0 to {INT64_MAX}; use "
                "another checkpointLocation"
            ) from None
        return cls(archive, positions)

    def check_not_before(self, start: Offset) -> None:
        """Raise DataLossError if a recording ends before `start`: the archive is older than the checkpoint."""
        for recording_id, begin in start.positions.items():
            end = self.positions.get(recording_id, begin)
            if end < begin:
                raise DataLossError(
                    f"recording {recording_id} ends at {end}, before the position {begin} that the checkpoint has "
                    "already read: the archive is an older copy or lost data in a crash; use another checkpointLocation"
                )


def _checked(value: object) -> int:
    if type(value) is not int or not 0 <= value <= INT64_MAX:
        raise ValueError("must be a position or an id")
    return value

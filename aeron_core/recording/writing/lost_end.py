"""Lost end: what recovery has cut from the end of a recording, for a notice to the user.

Not here: damage, which is kept and is an error (recovery).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LostEnd:
    """Bytes from `begin` to `end`, positions of a recording, that it no longer has."""

    recording_id: int
    file: str  # of its last segment
    begin: int  # where the recording continues
    end: int  # of the file, of its index, or the published position, whichever is the furthest
    shown: int  # published position
    is_written: bool  # whether all that was written is surely there: the machine has not restarted since

    def notice(self, *, continues: bool) -> str:
        """Return a sentence; `continues`: whether the stream still has the frames, which are recorded again."""
        cause = (
            "the recorder ended while it wrote them"
            if self.is_written
            else "the machine has restarted, or the mark is missing, and they may not have been on the disk"
        )
        result = "; the stream delivers them again" if continues else ""
        seen = f"; readers may have read up to {self.shown}" if self.shown > self.begin else ""
        return (
            f"recording {self.recording_id}: {self.file}: cut {self.end - self.begin} bytes at the end, positions "
            f"{self.begin} to {self.end}: {cause}{result}{seen}"
        )

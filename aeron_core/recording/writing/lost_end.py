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
    end: int  # of the file, of its index, or of what readers were let read, whichever is the furthest
    shown: int  # position up to which readers were let
    is_after_crash: bool  # of the machine; otherwise only the recorder died

    def notice(self, *, continues: bool) -> str:
        """Return a sentence; `continues`: whether the stream still has the frames, which are recorded again."""
        cause = (
            "the machine stopped before they were on the disk"
            if self.is_after_crash
            else "the recorder died while it wrote them"
        )
        result = "the stream delivers them again" if continues else "the stream does not deliver them again"
        seen = f"; readers may have read up to {self.shown}" if self.shown > self.begin else ""
        return (
            f"recording {self.recording_id}: {self.file}: cut {self.end - self.begin} bytes at the end, positions "
            f"{self.begin} to {self.end}: {cause}; {result}{seen}"
        )

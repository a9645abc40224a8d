"""One recording of the catalogue, and its descriptor in the file.

Source: aeron-archive-codecs.xml, RecordingDescriptor; the layout is in docs/wire/archive-files.md.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

#: The fields of fixed length, from the session of the last request on.
FIELDS: Final = struct.Struct("<7q6i")


@dataclass(frozen=True, slots=True)
class Catalogued:
    """One recording; lengths and positions in bytes, times in milliseconds since the epoch, -1 for none."""

    recording_id: int
    start_time_ms: int
    stop_time_ms: int
    start_position: int
    stop_position: int  # -1 while it is active
    initial_term_id: int
    segment_length: int
    term_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str
    channel: str  # as it was requested
    source_identity: str

    def encode(self, session: int = 0, correlation_id: int = 0) -> bytes:
        """Return the descriptor, from the session of the last request on."""
        fields = FIELDS.pack(
            session,
            correlation_id,
            self.recording_id,
            self.start_time_ms,
            self.stop_time_ms,
            self.start_position,
            self.stop_position,
            self.initial_term_id,
            self.segment_length,
            self.term_length,
            self.mtu_length,
            self.session_id,
            self.stream_id,
        )
        texts = [
            text.encode("ascii", "backslashreplace")
            for text in (self.stripped_channel, self.channel, self.source_identity)
        ]
        return fields + b"".join(struct.pack("<I", len(text)) + text for text in texts)

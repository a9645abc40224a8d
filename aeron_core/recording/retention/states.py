"""Whether a recording grows, may go on, or has ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from aeron_core.recording.storage.recording import Recording

#: Silence after which a recorder counts as dead. An invented number: a hundred of its beats, which a disk that
#: stalls may hold up, and as long as a driver waits for a silent client.
RECORDER_TIMEOUT_NS: Final = 10_000_000_000

_NS_PER_MS: Final = 1_000_000


class RecordingState(StrEnum):
    """As they are shown."""

    LIVE = "live"  # its recorder is alive
    ABANDONED = "abandoned"  # its recorder has died; the next one goes on with it, or ends it
    STOPPED = "stopped"  # its recorder was stopped; it goes on if the stream does
    ENDED = "ended"  # its stream has ended


def state_of(recording: Recording, now_ns: int) -> RecordingState:
    """Return the state at `now_ns`, since the epoch. Recordings elsewhere are live until they are stopped."""
    descriptor = recording.descriptor
    if descriptor.stop_position is not None:
        return RecordingState.ENDED if descriptor.is_end_of_stream else RecordingState.STOPPED
    silence_ns = now_ns - recording.heartbeat_ms * _NS_PER_MS
    return RecordingState.LIVE if silence_ns < RECORDER_TIMEOUT_NS else RecordingState.ABANDONED

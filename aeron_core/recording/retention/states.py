"""State of a recording: live, abandoned, stopped or ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from aeron_core.recording.storage.recording import Recording

#: Age of the last heartbeat after which a recorder counts as dead. An invented number: a hundred heartbeats, which a
#: stalled disk may delay, and the same as the default client liveness timeout of a driver.
RECORDER_TIMEOUT_NS: Final = 10_000_000_000

#: Time by which a heartbeat may be ahead of the clock of a reader, which may be another machine. Invented.
_FUTURE_NS: Final = RECORDER_TIMEOUT_NS

_NS_PER_MS: Final = 1_000_000


class RecordingState(StrEnum):
    """State of a recording; the value is the name that commands print."""

    LIVE = "live"  # its recorder is alive
    ABANDONED = "abandoned"  # its recorder died; the next one continues or stops it
    STOPPED = "stopped"  # its recorder was stopped; it may continue if the stream does
    ENDED = "ended"  # its stream has ended


def state_of(recording: Recording, now_ns: int) -> RecordingState:
    """Return the state at `now_ns`, since the epoch; abandoned if it is not stopped and has no mark.

    A heartbeat that is later than `now_ns` shows nothing, because the clock was set back since: then the recording is
    live if the archive has a recorder, or if that cannot be checked.
    Raises RecordingNotFoundError if there is no descriptor, CorruptRecordingError for a damaged descriptor or mark.
    """
    descriptor = recording.descriptor
    if descriptor.stop_position is not None:
        return RecordingState.ENDED if descriptor.is_end_of_stream else RecordingState.STOPPED
    silence_ns = now_ns - recording.heartbeat_ms * _NS_PER_MS
    is_live = silence_ns < RECORDER_TIMEOUT_NS
    if silence_ns < -_FUTURE_NS:
        is_live = recording.has_recorder
    return RecordingState.LIVE if is_live else RecordingState.ABANDONED

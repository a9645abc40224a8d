"""Streams kept on disk by position: written by a recorder, read by anybody."""

from aeron_core.recording.archive import Archive
from aeron_core.recording.descriptor import RecordingDescriptor
from aeron_core.recording.recording import Recording

__all__ = ["Archive", "Recording", "RecordingDescriptor"]

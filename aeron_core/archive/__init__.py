"""Client of Aeron Archive: record, list, replay and replicate streams with an archive of the Java implementation.

    with aeron_core.connect() as aeron, AeronArchive.connect(
        aeron,
        control_request_channel="aeron:udp?endpoint=localhost:8010",
        control_response_channel="aeron:udp?endpoint=localhost:0",
    ) as archive:
        publication = archive.add_recorded_publication("aeron:ipc", 1001)

Not here: recordings of our own, and reading the folder of an archive (recording).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aeron_core.archive.aeron_archive import AeronArchive as AeronArchive
    from aeron_core.archive.aio import AsyncAeronArchive as AsyncAeronArchive
    from aeron_core.archive.descriptors import ArchivedRecording as ArchivedRecording
    from aeron_core.archive.descriptors import RecordingSubscription as RecordingSubscription
    from aeron_core.archive.params import ReplayParams as ReplayParams
    from aeron_core.archive.params import ReplicationParams as ReplicationParams
    from aeron_core.archive.recording_events import RecordingEvents as RecordingEvents
    from aeron_core.protocol.archive.codes import REPLAY_ALL_AND_FOLLOW as REPLAY_ALL_AND_FOLLOW
    from aeron_core.protocol.archive.codes import REPLAY_ALL_AND_STOP as REPLAY_ALL_AND_STOP
    from aeron_core.protocol.archive.codes import RecordingSignal as RecordingSignal
    from aeron_core.protocol.archive.codes import SourceLocation as SourceLocation
    from aeron_core.protocol.archive.responses import RecordingProgress as RecordingProgress
    from aeron_core.protocol.archive.responses import RecordingSignalEvent as RecordingSignalEvent
    from aeron_core.protocol.archive.responses import RecordingStarted as RecordingStarted
    from aeron_core.protocol.archive.responses import RecordingStopped as RecordingStopped

#: The module that defines each public name.
_HOMES: Final = {
    "AeronArchive": "archive.aeron_archive",
    "ArchivedRecording": "archive.descriptors",
    "AsyncAeronArchive": "archive.aio",
    "REPLAY_ALL_AND_FOLLOW": "protocol.archive.codes",
    "REPLAY_ALL_AND_STOP": "protocol.archive.codes",
    "RecordingEvents": "archive.recording_events",
    "RecordingProgress": "protocol.archive.responses",
    "RecordingSignal": "protocol.archive.codes",
    "RecordingSignalEvent": "protocol.archive.responses",
    "RecordingStarted": "protocol.archive.responses",
    "RecordingStopped": "protocol.archive.responses",
    "RecordingSubscription": "archive.descriptors",
    "ReplayParams": "archive.params",
    "ReplicationParams": "archive.params",
    "SourceLocation": "protocol.archive.codes",
}

__all__ = [*_HOMES]  # noqa: PLE0604 - all are strings


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: must be one of {', '.join(__all__)}"
        )
    value: object = getattr(import_module(f"aeron_core.{home}"), name)
    globals()[name] = value
    return value

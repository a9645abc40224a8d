"""The counter that shows how far a recording is, as Aeron Archive shows it.

Source: RecordingPos.java: type id, key and label.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording.storage.descriptor import RecordingDescriptor

RECORDING_POSITION_TYPE_ID: Final = 100
_KEY_LENGTH: Final = 112
_RECORDING_ID_OFFSET: Final = 0
_SESSION_ID_OFFSET: Final = 8
_SOURCE_IDENTITY_LENGTH_OFFSET: Final = 12
_SOURCE_IDENTITY_OFFSET: Final = 16


def recording_key(descriptor: RecordingDescriptor) -> bytes:
    """Return the key: recording id, session id, and the length and text of the source identity."""
    identity = descriptor.source_identity.encode("ascii", "replace")[: _KEY_LENGTH - _SOURCE_IDENTITY_OFFSET]
    key = AtomicBuffer.allocate(_KEY_LENGTH)
    key.put_i64(_RECORDING_ID_OFFSET, descriptor.recording_id)
    key.put_i32(_SESSION_ID_OFFSET, descriptor.session_id)
    key.put_i32(_SOURCE_IDENTITY_LENGTH_OFFSET, len(identity))
    key.put_bytes(_SOURCE_IDENTITY_OFFSET, identity)
    return key.get_bytes(0, _SOURCE_IDENTITY_OFFSET + len(identity))


def recording_label(descriptor: RecordingDescriptor) -> str:
    """Return the text for humans."""
    return f"rec-pos: {descriptor.recording_id} {descriptor.session_id} {descriptor.stream_id} {descriptor.channel}"

"""Recordings: streams stored in files by position; one process writes a recording, any process may read it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_core.recording.storage.archive import Archive
    from aeron_core.recording.storage.descriptor import RecordingDescriptor
    from aeron_core.recording.storage.recording import Recording

__all__ = ["Archive", "Recording", "RecordingDescriptor"]

# Lazy: every driver imports the plugin of this package, and few need numpy.
_MODULES = {"Archive": "archive", "Recording": "recording", "RecordingDescriptor": "descriptor"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: must be one of {', '.join(__all__)}"
        )
    return getattr(importlib.import_module(f"{__name__}.storage.{_MODULES[name]}"), name)

"""Keys of an `aeron:ipc` URI that concern the channel, not the stream."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class IpcParameters(BaseModel):
    """Parameters of an IPC channel: none of its own; keys of the stream are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

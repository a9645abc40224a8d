"""Keys of an `aeron:ipc` URI that concern the channel, not the stream."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class IpcParameters(BaseModel):
    """IPC has no parameters of its own."""

    model_config = ConfigDict(extra="ignore", frozen=True)

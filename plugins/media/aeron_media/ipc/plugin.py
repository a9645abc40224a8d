"""Registers the medium `ipc`."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import MediaTransportFactory, hookimpl
from aeron_media.ipc.transport import IpcTransport


@hookimpl
def aeron_media_transports() -> Mapping[str, MediaTransportFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {"ipc": IpcTransport}

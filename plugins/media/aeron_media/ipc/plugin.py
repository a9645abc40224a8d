"""Registers the medium `ipc`."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import MediaTransportFactory, hookimpl


@hookimpl
def aeron_media_transports() -> Mapping[str, MediaTransportFactory | str]:
    """Return the import path of the transport of the medium `ipc`."""
    return {"ipc": "aeron_media.ipc.transport:IpcTransport"}

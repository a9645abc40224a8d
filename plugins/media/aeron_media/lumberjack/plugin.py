"""Plugin of the medium `lumberjack`, which registers it."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import MediaTransportFactory, hookimpl


@hookimpl
def aeron_media_transports() -> Mapping[str, MediaTransportFactory | str]:
    """See `aeron_core.spi.hookspecs`."""
    return {"lumberjack": "aeron_media.lumberjack.transport:LumberjackTransport"}

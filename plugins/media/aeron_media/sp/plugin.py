"""Plugin of the medium `sp`, which registers it."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import MediaTransportFactory, hookimpl


@hookimpl
def aeron_media_transports() -> Mapping[str, MediaTransportFactory | str]:
    """See `aeron_core.spi.hookspecs`."""
    return {"sp": "aeron_media.sp.transport:PairTransport"}

"""Registers the medium `sp`."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import MediaTransportFactory, hookimpl
from aeron_media.sp.transport import PairTransport


@hookimpl
def aeron_media_transports() -> Mapping[str, MediaTransportFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {"sp": PairTransport}

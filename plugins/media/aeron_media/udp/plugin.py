"""Registers the medium `udp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aeron_core.spi.hookspecs import MediaTransportFactory, hookimpl
from aeron_media.udp import send_endpoint
from aeron_media.udp.transport import UdpTransport

#: SPI version that the endpoints were compiled against.
AERON_CORE_SPI_VERSION: Final = send_endpoint.AERON_CORE_SPI_VERSION


@hookimpl
def aeron_media_transports() -> Mapping[str, MediaTransportFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {"udp": UdpTransport}

"""Registers the congestion-control strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aeron_congestion import static_window
from aeron_congestion.cubic import CubicCongestionControl
from aeron_congestion.static_window import StaticWindowCongestionControl
from aeron_core.spi.hookspecs import CongestionControlFactory, hookimpl

#: SPI version that the strategies were compiled against.
AERON_CORE_SPI_VERSION: Final = static_window.AERON_CORE_SPI_VERSION


@hookimpl
def aeron_congestion_controls() -> Mapping[str, CongestionControlFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {
        "static": StaticWindowCongestionControl,
        "default": StaticWindowCongestionControl,
        "cubic": CubicCongestionControl,
    }

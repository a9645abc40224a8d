"""Registers the congestion-control strategies."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_congestion.static_window import StaticWindowCongestionControl
from aeron_core.spi.hookspecs import CongestionControlFactory, hookimpl


@hookimpl
def aeron_congestion_controls() -> Mapping[str, CongestionControlFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {"static": StaticWindowCongestionControl, "default": StaticWindowCongestionControl}

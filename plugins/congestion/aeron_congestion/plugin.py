"""Registers the congestion-control strategies."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import CongestionControlFactory, hookimpl


@hookimpl
def aeron_congestion_controls() -> Mapping[str, CongestionControlFactory | str]:
    """Return the built-in congestion controls by their names in `cc=`; `default` is another name of `static`."""
    return {
        "static": "aeron_congestion.static_window:StaticWindowCongestionControl",
        "default": "aeron_congestion.static_window:StaticWindowCongestionControl",
        "cubic": "aeron_congestion.cubic:CubicCongestionControl",
    }

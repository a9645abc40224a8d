"""Static window: the receiver always offers the configured window.

It is limited to half a term; `docs/decisions/0002-a-receiver-offers-half-a-term.md` explains why not to a quarter, as
the specification suggests.
Source: aeron_congestion_control.c, aeron_static_window_congestion_control_strategy.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core.spi.congestion_control import CongestionControl, CongestionControlParams, RebuildState

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION


class StaticWindowCongestionControl(CongestionControl):
    """Constant window of one image: the initial window of the parameters, limited to half a term."""

    def __init__(self, params: CongestionControlParams) -> None:
        self._window_length = min(params.initial_window_length, params.term_length // 2)

    def on_track_rebuild(self, state: RebuildState) -> int:
        """See `CongestionControl.on_track_rebuild`."""
        return self._window_length

    def initial_window_length(self) -> int:
        """See `CongestionControl.initial_window_length`."""
        return self._window_length

    def max_window_length(self) -> int:
        """See `CongestionControl.max_window_length`."""
        return self._window_length

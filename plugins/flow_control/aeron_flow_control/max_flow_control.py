"""The fastest receiver decides: slower ones fall behind and may lose data.

With one receiver it is the plain rule; with several it is for those who would rather lose than wait.
Source: aeron_flow_control.c.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core.spi.flow_control import FlowControl, FlowControlParams
from aeron_flow_control.options import parse_options

#: Compiled in: the tables of C functions that this module was built against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION


class UnicastFlowControl(FlowControl):
    """The rule for one receiver, which is the base class's; a NAK may have 16 windows sent again."""

    def __init__(self, params: FlowControlParams) -> None:
        options = parse_options(params.options, allowed=("rrwm",), channel=params.channel)
        self.retransmit_window_multiple = options.get("rrwm", 16)


class MaxFlowControl(FlowControl):
    """The rule of the fastest receiver of a group; a NAK may have 4 windows sent again."""

    def __init__(self, params: FlowControlParams) -> None:
        options = parse_options(params.options, allowed=("rrwm",), channel=params.channel)
        self.retransmit_window_multiple = options.get("rrwm", 4)

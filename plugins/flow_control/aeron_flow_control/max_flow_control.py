"""Max flow control: the fastest receiver determines the limit, so that slower ones can lose data.

Unicast flow control is the same for a single receiver.
Source: aeron_flow_control.c.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core.spi.flow_control import FlowControl, FlowControlParams
from aeron_flow_control.options import parse_options

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION


class UnicastFlowControl(FlowControl):
    """The limit of the only receiver; a NAK causes retransmission of up to `rrwm` windows, 16 by default.

    The constructor raises ChannelUriError for other options, and unless `rrwm` is from 1 to 2**31 - 1.
    """

    def __init__(self, params: FlowControlParams) -> None:
        options = parse_options(params.options, allowed=("rrwm",), channel=params.channel)
        self.retransmit_window_multiple = options.get("rrwm", 16)


class MaxFlowControl(FlowControl):
    """The limit of the fastest receiver of a group; a NAK causes retransmission of up to `rrwm` windows, 4 by default.

    The constructor raises ChannelUriError for other options, and unless `rrwm` is from 1 to 2**31 - 1.
    """

    def __init__(self, params: FlowControlParams) -> None:
        options = parse_options(params.options, allowed=("rrwm",), channel=params.channel)
        self.retransmit_window_multiple = options.get("rrwm", 4)

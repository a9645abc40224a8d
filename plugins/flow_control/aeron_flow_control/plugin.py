"""Registers the flow-control strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aeron_core.spi.hookspecs import FlowControlFactory, hookimpl
from aeron_flow_control import max_flow_control
from aeron_flow_control.max_flow_control import MaxFlowControl, UnicastFlowControl
from aeron_flow_control.min_flow_control import MinFlowControl, TaggedFlowControl

#: SPI version that the strategies were compiled against.
AERON_CORE_SPI_VERSION: Final = max_flow_control.AERON_CORE_SPI_VERSION


@hookimpl
def aeron_flow_controls() -> Mapping[str, FlowControlFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {
        "unicast": UnicastFlowControl,
        "max": MaxFlowControl,
        "min": MinFlowControl,
        "tagged": TaggedFlowControl,
    }

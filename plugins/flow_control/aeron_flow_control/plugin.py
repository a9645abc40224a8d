"""Registers the flow-control strategies."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import FlowControlFactory, hookimpl
from aeron_flow_control.max_flow_control import MaxFlowControl, UnicastFlowControl


@hookimpl
def aeron_flow_controls() -> Mapping[str, FlowControlFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {"unicast": UnicastFlowControl, "max": MaxFlowControl}

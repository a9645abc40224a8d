"""Registers the flow-control strategies."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import FlowControlFactory, hookimpl


@hookimpl
def aeron_flow_controls() -> Mapping[str, FlowControlFactory | str]:
    """Return the built-in flow controls by their names in `fc=`."""
    return {
        "unicast": "aeron_flow_control.max_flow_control:UnicastFlowControl",
        "max": "aeron_flow_control.max_flow_control:MaxFlowControl",
        "min": "aeron_flow_control.min_flow_control:MinFlowControl",
        "tagged": "aeron_flow_control.min_flow_control:TaggedFlowControl",
    }

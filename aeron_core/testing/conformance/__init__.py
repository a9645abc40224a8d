"""Conformance tests: suites that authors of plugins run on their own implementations.

    from aeron_core.testing.conformance import FlowControlConformance

    class TestGenerousFlowControl(FlowControlConformance):
        def make(self, params):
            return GenerousFlowControl(params)

pytest collects the subclass, because its name begins with `Test`, and runs the inherited tests. The built-in plugins
run the same suites. Not here: the quality of a strategy. Nothing in this package imports pytest.
"""

from aeron_core.testing.conformance.congestion_control import CongestionControlConformance
from aeron_core.testing.conformance.connection_lab import Wire
from aeron_core.testing.conformance.connections import ConnectionMediumConformance
from aeron_core.testing.conformance.flow_control import FlowControlConformance
from aeron_core.testing.conformance.idle_strategy import IdleStrategyConformance
from aeron_core.testing.conformance.media import MediaTransportConformance
from aeron_core.testing.conformance.name_resolver import NameResolverConformance
from aeron_core.testing.conformance.protection import DatagramProtectorConformance

__all__ = [
    "CongestionControlConformance",
    "ConnectionMediumConformance",
    "DatagramProtectorConformance",
    "FlowControlConformance",
    "IdleStrategyConformance",
    "MediaTransportConformance",
    "NameResolverConformance",
    "Wire",
]

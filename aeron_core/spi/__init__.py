"""All that a plugin needs: hooks to register with, base classes to implement.

A compiled plugin cimports from the modules of this package. Its plugin module states
`AERON_CORE_SPI_VERSION`, taken from a compiled module of its own with `from aeron_core._native cimport wire`
and `AERON_CORE_SPI_VERSION = wire.SPI_VERSION`, so that one that was built for another version of the base
classes is refused instead of calling the wrong methods. `aeron_core.get_include()` is the root to cimport
from.
"""

from aeron_core.spi.congestion_control import (
    CongestionControl,
    CongestionControlParams,
    CongestionControlStrategy,
    RebuildState,
)
from aeron_core.spi.endpoints import (
    ChannelEndpoint,
    Fault,
    ReceiveChannelEndpoint,
    ReceiveDispatcher,
    SendChannelEndpoint,
    SendStream,
)
from aeron_core.spi.flow_control import FlowControl, FlowControlParams, FlowControlStrategy
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.spi.idle_strategy import IdleStrategy, IdleStrategyLike, IdleStrategyParams
from aeron_core.spi.media import (
    Channel,
    DatagramOptions,
    LossRates,
    MediaTransport,
    ReceiveEndpointParams,
    SendEndpointParams,
)
from aeron_core.spi.name_resolver import (
    NameResolver,
    NameResolverContext,
    NameResolverParams,
    WorkingNameResolver,
)

__all__ = [
    "Channel",
    "ChannelEndpoint",
    "CongestionControl",
    "CongestionControlParams",
    "CongestionControlStrategy",
    "DatagramOptions",
    "Fault",
    "FlowControl",
    "FlowControlParams",
    "FlowControlStrategy",
    "IdleStrategy",
    "IdleStrategyLike",
    "IdleStrategyParams",
    "LossRates",
    "MediaTransport",
    "NameResolver",
    "NameResolverContext",
    "NameResolverParams",
    "RebuildState",
    "ReceiveChannelEndpoint",
    "ReceiveDispatcher",
    "ReceiveEndpointParams",
    "SendChannelEndpoint",
    "SendEndpointParams",
    "SendStream",
    "WorkingNameResolver",
    "hookimpl",
]

"""The plugin API: hooks to register with, and base classes and protocols to implement.

A plugin is a module named by an entry point of the group `aeron_core`; its hooks return tables of factories:

    # pyproject.toml:  [project.entry-points.aeron_core]
    #                  generous = "generous_flow"
    # generous_flow.py:
    from aeron_core.spi import FlowControlParams, hookimpl

    class GenerousFlowControl:
        def __init__(self, params: FlowControlParams) -> None: ...
        def on_status_message(self, sm, position: int, limit: int, now_ns: int) -> int:
            return max(limit, position + 2 * sm.receiver_window)

    @hookimpl
    def aeron_flow_controls():
        return {"generous": GenerousFlowControl}

A strategy in plain Python works as it is: an adapter takes the GIL for each call. A compiled one subclasses a class of
this package, cimports it from its module, and runs without the GIL. `aeron_core.get_include()` is the include path.

Instead of a factory, a table may have its `module:name` as text: `"generous_flow.strategy:GenerousFlowControl"`. It is
imported when the name is first used, so that a driver imports no factory that it does not use.

A compiled plugin depends on the layout of the base classes. Its plugin module must define `AERON_CORE_SPI_VERSION`,
imported from a compiled module of its own that has `from aeron_core._native cimport wire` and
`AERON_CORE_SPI_VERSION = wire.SPI_VERSION`; with text in the tables, the module that the text names must define it. A
plugin built for another version is then refused before its factory is called, because it would call the wrong methods;
a compiled plugin that defines no version is refused when it is first used. A driver does not start if its settings name
such a strategy. Endpoints that a medium opens, and channels that a protector returns, are checked likewise, before
anything of them is called.
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
    NameResolverReport,
    PromptNameResolver,
    WorkingNameResolver,
)
from aeron_core.spi.protection import (
    DatagramProtector,
    DatagramTransform,
    ProtectedRole,
    ProtectorParams,
)

__all__ = [
    "Channel",
    "ChannelEndpoint",
    "CongestionControl",
    "CongestionControlParams",
    "CongestionControlStrategy",
    "DatagramOptions",
    "DatagramProtector",
    "DatagramTransform",
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
    "NameResolverReport",
    "PromptNameResolver",
    "ProtectedRole",
    "ProtectorParams",
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

"""The hooks of aeron-core: all points at which a plugin can extend it.

Hooks that return a table are named after its contents and called once by each driver, when it starts, and by
each command of `aeron-core` that uses plugins. A name that two plugins return stops the start, with an error
that names both distributions. A table may have a factory itself or the text `module:name`, which is imported
when the entry is first used. Events are named after what has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

from aeron_core.spi.congestion_control import (
    CongestionControl,
    CongestionControlParams,
    CongestionControlStrategy,
)
from aeron_core.spi.flow_control import FlowControl, FlowControlParams, FlowControlStrategy
from aeron_core.spi.idle_strategy import IdleStrategy, IdleStrategyLike, IdleStrategyParams
from aeron_core.spi.media import MediaTransport
from aeron_core.spi.name_resolver import NameResolver, NameResolverParams
from aeron_core.spi.protection import DatagramProtector, DatagramTransform, ProtectorParams

if TYPE_CHECKING:
    import typer
    from pydantic import BaseModel

#: Returns a medium; called once by each driver.
MediaTransportFactory = Callable[[], MediaTransport]
#: Returns the strategy of a new publication.
FlowControlFactory = Callable[[FlowControlParams], FlowControl | FlowControlStrategy]
#: Returns the strategy of a new image.
CongestionControlFactory = Callable[[CongestionControlParams], CongestionControl | CongestionControlStrategy]
#: Returns the resolver of a driver.
NameResolverFactory = Callable[[NameResolverParams], NameResolver]
#: Returns the strategy of an agent.
IdleStrategyFactory = Callable[[IdleStrategyParams], IdleStrategy | IdleStrategyLike]
#: Returns what seals and opens the datagrams of an endpoint.
DatagramProtectorFactory = Callable[[ProtectorParams], DatagramProtector | DatagramTransform]

#: Name of the entry-point group, and of the pluggy project.
PROJECT = "aeron_core"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def aeron_media_transports() -> Mapping[str, MediaTransportFactory | str]:  # type: ignore[empty-body]
    """Return media by the name that follows `aeron:` in a channel URI.

    The factory takes no arguments and returns a `MediaTransport`:
    `return {"carrier": CarrierTransport}` for channels such as `aeron:carrier?endpoint=...`.
    """


@hookspec
def aeron_flow_controls() -> Mapping[str, FlowControlFactory | str]:  # type: ignore[empty-body]
    """Return flow-control strategies by their names in `fc=` of a channel URI.

    The factory takes `FlowControlParams` and returns a strategy for one publication:
    `return {"generous": GenerousFlowControl}` for channels with `fc=generous`.
    """


@hookspec
def aeron_congestion_controls() -> Mapping[str, CongestionControlFactory | str]:  # type: ignore[empty-body]
    """Return congestion-control strategies by their names in `cc=` of a channel URI.

    The factory takes `CongestionControlParams` and returns a strategy for one image. If it has a function
    `check_options`, that is called with the text after the name, when a subscription is added: to refuse wrong options,
    it raises ChannelUriError.
    """


@hookspec
def aeron_name_resolvers() -> Mapping[str, NameResolverFactory | str]:  # type: ignore[empty-body]
    """Return name resolvers by their names in the setting `name_resolver`.

    The factory takes `NameResolverParams`. A driver has one resolver. A name that it does not resolve is unknown, even
    `localhost`, unless it passes the name to `params.fallback`.
    """


@hookspec
def aeron_idle_strategies() -> Mapping[str, IdleStrategyFactory | str]:  # type: ignore[empty-body]
    """Return idle strategies by their names in the `…_idle_strategy` settings.

    The factory takes `IdleStrategyParams` and returns a strategy for one agent.
    """


@hookspec
def aeron_datagram_protectors() -> Mapping[str, DatagramProtectorFactory | str]:  # type: ignore[empty-body]
    """Return protectors of datagrams by their names in `protector` of a security profile.

    The factory takes `ProtectorParams` and returns a protector for one endpoint of a channel with `security=`. To
    refuse wrong options of the profile, it raises ConfigurationError.
    """


@hookspec
def aeron_settings() -> Mapping[str, type[BaseModel] | str]:  # type: ignore[empty-body]
    """Return models derived from `aeron_core.settings.SettingsModel` by the names of the plugin's own sections.

    A name is that of a TOML table; environment variables begin with `AERON_` and the name, as in `AERON_RECORDING_`.
    A started driver has the loaded models in `sections`, a name resolver in `settings` of its parameters.
    """


@hookspec
def aeron_cli(app: typer.Typer) -> None:
    """Add sub-commands to `app`, the `aeron-core` command; an exception is reported as a PluginError."""


@hookspec
def aeron_driver_started(driver: Any) -> None:
    """Handle the start of a media driver, after its threads started, if it has any; on the thread that starts it."""


@hookspec
def aeron_driver_closed(driver: Any) -> None:
    """Handle the end of a media driver, after its agents closed and before its directory is deleted, if it is.

    Called on the thread that closes the driver.
    """

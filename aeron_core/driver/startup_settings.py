"""Settings of a driver that starts: its own, those of plugins, and the strategies that they name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from aeron_core.errors import ConfigurationError, PluginError
from aeron_core.settings import DriverSettings, SettingsModel, load_driver_settings, load_section
from aeron_core.spi.name_resolver import NameResolverParams

if TYPE_CHECKING:
    from aeron_core.registry import Registry
    from aeron_core.spi.name_resolver import NameResolver

Sections = Mapping[str, SettingsModel | Mapping[str, Any]]

_GOSSIP: Final = "driver"  # the name resolver that falls back to another one
#: Settings that name strategies, and where their names are looked up.
_STRATEGIES: Final = {
    "multicast_flow_control": "aeron_flow_controls",
    "unicast_flow_control": "aeron_flow_controls",
    "congestion_control": "aeron_congestion_controls",
}


def settings_of(settings: DriverSettings | Mapping[str, Any] | None) -> DriverSettings:
    """Return settings as they are, or load them with `settings` as arguments; warn of what the sources got wrong."""
    if isinstance(settings, DriverSettings):
        return settings
    loaded = load_driver_settings(arguments=settings or {})
    for text in loaded.warnings:
        # Attributed to the caller of `MediaDriver.launch`, the usual entry point.
        warnings.warn(text, stacklevel=4)
    return loaded.settings


def sections_of(registry: Registry, given: Sections) -> dict[str, SettingsModel]:
    """Return the settings of all plugins by section, loaded from the environment unless given."""
    models = registry.section_models()
    for name in given:
        if name not in models:
            raise ConfigurationError(
                f"section {name!r}: must be one of the installed plugins: {', '.join(models) or 'none'}"
            )
    sections: dict[str, SettingsModel] = {}
    for name, model in models.items():
        settings = given.get(name, {})
        if isinstance(settings, SettingsModel):
            sections[name] = settings
            continue
        loaded = load_section(name, model, arguments=settings)
        sections[name] = loaded.settings
        for text in loaded.warnings:
            warnings.warn(text, stacklevel=4)
    return sections


def check_strategies(registry: Registry, settings: DriverSettings) -> None:
    """Raise PluginError if a setting names a strategy that is not installed.

    Without this check, the first stream that needs the strategy would be refused at run time.
    """
    for name, hook in _STRATEGIES.items():
        try:
            registry.check(hook, getattr(settings, name))
        except PluginError as error:
            raise PluginError(f"{name}: {error}") from None


def resolver_of(registry: Registry, settings: DriverSettings) -> NameResolver:
    """Return the name resolver of the settings, with its fallback."""
    if settings.resolver_fallback == _GOSSIP:
        raise ConfigurationError(f"resolver_fallback={_GOSSIP}: must be another resolver, one without gossip")
    options = settings.resolver_fallback_init_args or ""
    fallback = registry.name_resolver(settings.resolver_fallback, NameResolverParams(options=options))
    params = replace(_resolver_params(settings), fallback=fallback)
    return registry.name_resolver(settings.name_resolver, params)


def _resolver_params(settings: DriverSettings) -> NameResolverParams:
    return NameResolverParams(
        options=settings.name_resolver_init_args or "",
        driver_name=settings.resolver_name or "",
        interface=settings.resolver_interface or "",
        bootstrap_neighbors=settings.resolver_bootstrap_neighbors,
        neighbor_timeout_ns=settings.resolver_neighbor_timeout_ns,
        self_resolution_interval_ns=settings.resolver_self_resolution_interval_ns,
        neighbor_resolution_interval_ns=settings.resolver_neighbor_resolution_interval_ns,
        bootstrap_resolution_interval_ns=settings.resolver_bootstrap_neighbor_resolution_interval_ns,
        mtu=settings.mtu_length,
    )

"""Settings of a driver that starts: its own, those of plugins, and the strategies that they name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from aeron_core._native.clock import Clock
from aeron_core.errors import AeronError, ConfigurationError, PluginError
from aeron_core.settings import ThreadingMode
from aeron_core.settings.driver import DriverFields
from aeron_core.settings.loader import is_section_set, load_driver_fields, load_section
from aeron_core.spi.name_resolver import NameResolverParams
from aeron_core.spi.protection import ProtectedRole, ProtectorParams

if TYPE_CHECKING:
    from aeron_core.registry import Registry
    from aeron_core.settings.model import SettingsModel
    from aeron_core.settings.variables import SecurityProfile
    from aeron_core.spi.name_resolver import NameResolver

    GivenSections = Mapping[str, SettingsModel | Mapping[str, Any]]

_GOSSIP: Final = "driver"  # the name resolver that falls back to another one
_IDLE_STRATEGIES: Final = "aeron_idle_strategies"
#: Roles that wait with a strategy of their own, by the threading mode.
_ROLES: Final = {
    ThreadingMode.DEDICATED: ("conductor", "sender", "receiver"),
    ThreadingMode.SHARED_NETWORK: ("conductor", "sharednetwork"),
    ThreadingMode.SHARED: ("shared",),
    ThreadingMode.INVOKER: (),
}
#: Settings that name strategies, and where their names are looked up.
_STRATEGIES: Final = {
    "multicast_flow_control": "aeron_flow_controls",
    "unicast_flow_control": "aeron_flow_controls",
    "congestion_control": "aeron_congestion_controls",
    "name_resolver": "aeron_name_resolvers",
    "resolver_fallback": "aeron_name_resolvers",
    **{
        f"{role}_idle_strategy": _IDLE_STRATEGIES
        for role in ("conductor", "sender", "receiver", "sharednetwork", "shared")
    },
}


class PluginSections(Mapping[str, "SettingsModel"]):
    """The settings of all plugins by section; one that no source sets is loaded when it is first read."""

    def __init__(self, registry: Registry, given: GivenSections) -> None:
        """Load the sections that are given or that the environment sets; warn of mistakes in them.

        Raises ConfigurationError for a section that no installed plugin has, and for a wrong value, PluginError if the
        model of a section is broken.
        """
        self._registry = registry
        self._names = registry.section_names()
        self._loaded: dict[str, SettingsModel] = {}
        for name in given:
            if name not in self._names:
                raise ConfigurationError(self._unknown(name))
        for name in self._names:
            # A wrong value must stop the start, so whatever a source sets is loaded now. All other
            # sections have only defaults.
            if name in given or is_section_set(name):
                settings = given.get(name, {})
                self._loaded[name] = self._load(name, settings) if isinstance(settings, Mapping) else settings
        self._set = frozenset(self._loaded)

    def _load(self, name: str, arguments: Mapping[str, Any]) -> SettingsModel:
        loaded = load_section(name, self._registry.section_model(name), arguments=arguments)
        for text in loaded.warnings:
            warnings.warn(text, stacklevel=6)
        return loaded.settings

    def _unknown(self, name: str) -> str:
        names = ", ".join(self._names) or "none exists"
        return f"section {name!r}: must be a section of an installed plugin: {names}"

    def is_set(self, name: str) -> bool:
        """Return whether the section was given or the environment sets a value of it."""
        return name in self._set

    def __getitem__(self, name: str) -> SettingsModel:
        if name not in self._names:
            raise KeyError(self._unknown(name))
        if name not in self._loaded:
            self._loaded[name] = self._load(name, {})
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def settings_of(settings: DriverFields | Mapping[str, Any] | None) -> DriverFields:
    """Return settings as they are, or load them with `settings` as arguments; warn of mistakes in their sources.

    Raises ConfigurationError for a wrong value.
    """
    if isinstance(settings, DriverFields):
        return settings
    loaded = load_driver_fields(arguments=settings or {})
    for text in loaded.warnings:
        # Attributed to the caller of `MediaDriver.launch`, the usual entry point.
        warnings.warn(text, stacklevel=4)
    return loaded.settings


def check_strategies(registry: Registry, settings: DriverFields) -> None:
    """Raise PluginError if a setting names a strategy that is not installed, or built for another SPI version.

    Without this check, each stream that needs the strategy would be refused at run time. As in the reference, the
    idle strategies of agents that the threading mode does not start must be installed too; they are not imported.
    """
    idle = {f"{role}_idle_strategy" for role in _ROLES[settings.threading_mode]}
    for name, hook in _STRATEGIES.items():
        try:
            registry.check(hook, getattr(settings, name))
            if hook != _IDLE_STRATEGIES or name in idle:
                registry.check_spi_version(hook, getattr(settings, name))
        except PluginError as error:
            raise PluginError(f"{name}: {error}") from None


def problem_of_profile(registry: Registry, profile: SecurityProfile) -> str:
    """Return why channels with a security profile would be refused now, an empty text if they would not.

    Creates a protector, which reads the files of the profile, and closes it. The driver starts nevertheless: files may
    be added later, and other profiles be in order.
    """
    params = ProtectorParams(
        profile=profile.name,
        options=MappingProxyType(dict(profile.options)),
        role=ProtectedRole.SUBSCRIPTION,
        clock=Clock(),
    )
    try:
        registry.datagram_protector(profile.protector, params, lambda _: None).close()
    except (AeronError, OSError) as error:
        return str(error).removeprefix(f"security profile {profile.name!r}: ")
    return ""


def resolver_of(
    registry: Registry, settings: DriverFields, sections: Mapping[str, SettingsModel]
) -> NameResolver:
    """Return the name resolver of the settings, with its fallback; both get the settings of plugins, `sections`.

    Raises PluginError if one of them is not installed or broken, ConfigurationError if the fallback is the one with
    gossip, or another AeronError of their factories, such as for wrong options.
    """
    # A fallback has no fallback of its own, but the resolver with gossip depends on one.
    if settings.resolver_fallback == _GOSSIP:
        names = ", ".join(name for name in registry.names("aeron_name_resolvers") if name != _GOSSIP)
        raise ConfigurationError(
            f"resolver_fallback={_GOSSIP}: must be a resolver without gossip, one of {names}"
        )
    options = settings.resolver_fallback_init_args or ""
    # The fallback is created first, because the resolver is created with it.
    fallback = registry.name_resolver(
        settings.resolver_fallback, NameResolverParams(options=options, settings=sections)
    )
    params = replace(_resolver_params(settings), settings=sections, fallback=fallback)
    return registry.name_resolver(settings.name_resolver, params)


def _resolver_params(settings: DriverFields) -> NameResolverParams:
    return NameResolverParams(
        options=settings.name_resolver_init_args or "",
        driver_name=settings.resolver_name or "",
        interface=settings.resolver_interface or "",
        bootstrap_neighbors=settings.resolver_bootstrap_neighbors,
        neighbor_timeout_ns=settings.resolver_neighbor_timeout_ns,
        self_resolution_interval_ns=settings.resolver_self_resolution_interval_ns,
        neighbor_resolution_interval_ns=settings.resolver_neighbor_resolution_interval_ns,
        bootstrap_resolution_interval_ns=settings.resolver_bootstrap_neighbor_resolution_interval_ns,
        datagrams_per_s=settings.resolver_datagrams_per_s,
        mtu=settings.mtu_length,
    )

"""A media driver: embedded in an application, alone in a process, or run by its owner cycle by cycle."""

from __future__ import annotations

import logging
import threading
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from aeron_core._native.clock import Clock
from aeron_core.agent.agent import Agent, CompositeAgent, PythonAgent
from aeron_core.agent.idle_strategies import SignalIdleStrategy
from aeron_core.agent.invoker import AgentInvoker
from aeron_core.agent.runner import AgentRunner
from aeron_core.concurrent.flag import Flag
from aeron_core.concurrent.wake_up import CONDUCTOR, semaphore_name
from aeron_core.driver.assembly import Assembly
from aeron_core.driver.conductor.log_storage import sweep_shared_memory
from aeron_core.driver.conductor.names.lookups import LookupThreads
from aeron_core.driver.directory import delete_directory, prepare_directory
from aeron_core.driver.private_directory import new_private_directory, sweep_private_directories
from aeron_core.errors import ConfigurationError, PluginError
from aeron_core.registry import Registry
from aeron_core.settings import (
    DriverSettings,
    SettingsModel,
    Storage,
    ThreadingMode,
    load_driver_settings,
    load_section,
)
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.spi.idle_strategy import IdleStrategyParams
from aeron_core.spi.name_resolver import NameResolverParams

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from aeron_core._native.commands import CommandRing
    from aeron_core.driver.conductor.names.lookups import StartLookup
    from aeron_core.spi.idle_strategy import IdleStrategy
    from aeron_core.spi.media import ConnectionNetwork, OpenDatagrams
    from aeron_core.spi.name_resolver import NameResolver

    Sections = Mapping[str, SettingsModel | Mapping[str, Any]]


_GOSSIP: Final = "driver"  # the name resolver that falls back to another one
#: Settings that name strategies, and where their names are looked up.
_STRATEGIES: Final = {
    "multicast_flow_control": "aeron_flow_controls",
    "unicast_flow_control": "aeron_flow_controls",
    "congestion_control": "aeron_congestion_controls",
}


class MediaDriver:
    """Moves frames between log buffers and media for all clients of its directory.

    `launch` and `launch_embedded` start its threads; `MediaDriver(settings, invoker=True)` has none and works in
    `do_work`. `close` ends it; so does leaving its `with` block.
    """

    def __init__(  # noqa: PLR0913 - all have a preset
        self,
        settings: DriverSettings | Mapping[str, Any] | None = None,
        *,
        invoker: bool = False,
        clock: Clock | None = None,
        registry: Registry | None = None,
        sections: Sections | None = None,
        open_datagrams: OpenDatagrams | None = None,
        streams: ConnectionNetwork | None = None,
        start_lookup: StartLookup | None = None,
    ) -> None:
        """Take the directory and make everything ready, but start nothing.

        `sections`: settings of plugins by section, as objects or mappings; from the environment where not given.
        `clock`, `open_datagrams`, `streams` and `start_lookup` replace the system's clocks and sockets and the
        threads on which names are looked up, for simulations. Raises ActiveDriverError, StorageError,
        ConfigurationError or PluginError.
        """
        self.settings = _settings_of(settings)
        self._mode = ThreadingMode.INVOKER if invoker else self.settings.threading_mode
        self._closing = threading.Lock()
        self._is_closed = False
        self._terminated = Flag()
        self._registry = registry or Registry.load()
        self.sections = _sections_of(self._registry, sections or {})
        # Before the directory is touched: what a dead driver left in it must not go for a misspelt name.
        _check_strategies(self._registry, self.settings)
        resolver = _resolver_of(self._registry, self.settings)
        self._invoker: AgentInvoker | None = None
        self._runners: list[AgentRunner] = []
        prepare_directory(self.settings)
        try:
            self._assembly = self._assemble(
                resolver, clock or Clock(), open_datagrams, streams, start_lookup or LookupThreads()
            )
        except BaseException:
            # Half-made, it would look like that of a driver which is about to start.
            delete_directory(self.aeron_dir)
            raise

    def _assemble(
        self,
        resolver: NameResolver,
        clock: Clock,
        open_datagrams: OpenDatagrams | None,
        streams: ConnectionNetwork | None,
        start_lookup: StartLookup,
    ) -> Assembly:
        if self.settings.storage is Storage.POSIX:
            sweep_shared_memory(self.settings.aeron_dir)
        assembly = Assembly(
            self.settings,
            mode=self._mode.name,
            clock=clock,
            registry=self._registry,
            resolver=resolver,
            open_datagrams=open_datagrams,
            streams=streams,
            start_lookup=start_lookup,
            terminate=self._on_terminate,
        )
        if self._mode is ThreadingMode.INVOKER:
            self._invoker = AgentInvoker(_all_agents(assembly), self._on_error)
        assembly.publish()
        return assembly

    @classmethod
    def launch(
        cls,
        settings: DriverSettings | Mapping[str, Any] | None = None,
        *,
        registry: Registry | None = None,
        sections: Sections | None = None,
    ) -> Self:
        """Return a running driver for others to connect to; `sections` are settings of plugins."""
        driver = cls(settings, registry=registry, sections=sections)
        try:
            driver._start()
        except BaseException:
            driver.close()
            raise
        return driver

    @classmethod
    def launch_embedded(
        cls,
        settings: DriverSettings | Mapping[str, Any] | None = None,
        *,
        registry: Registry | None = None,
        sections: Sections | None = None,
    ) -> Self:
        """Return a running driver of this process's own.

        Without a directory in `settings` it gets one that no other driver has, keeps its log buffers in POSIX
        shared memory, and deletes all of it at its end; and what such drivers left that were killed.
        """
        if isinstance(settings, DriverSettings):
            return cls.launch(settings, registry=registry, sections=sections)
        arguments = dict(settings or {})
        if "aeron_dir" not in arguments:
            arguments["aeron_dir"] = new_private_directory(default_aeron_dir())
            arguments.setdefault("storage", "posix")
            arguments.setdefault("dir_delete_on_shutdown", True)
            sweep_private_directories(default_aeron_dir(), _settings_of(arguments).driver_timeout_ms)
        return cls.launch(arguments, registry=registry, sections=sections)

    @property
    def aeron_dir(self) -> Path:
        """Where clients find this driver."""
        return self.settings.aeron_dir

    @property
    def is_closed(self) -> bool:
        """Whether the driver has ended."""
        return self._is_closed

    def do_work(self) -> int:
        """Run one duty cycle of all agents; return 0 if there was nothing to do. For `invoker=True` only."""
        if self._invoker is None:
            raise ConfigurationError(
                "do_work is for MediaDriver(settings, invoker=True): this driver has threads"
            )
        return self._invoker.do_work()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until a client has asked the driver to end and it may; return whether that was so."""
        return self._terminated.wait(timeout)

    def terminate(self) -> None:
        """Let `await_termination` return; any thread or signal handler may call it."""
        self._terminated.set()

    def record_error(self, error: BaseException) -> None:
        """Count an error of a plugin and keep it in the driver's error log; any thread may call it.

        Once the driver is closed, it is logged instead.
        """
        if self._is_closed:
            logging.getLogger(__name__).error("%s", error)
        else:
            self._assembly.context.errors.record_exception(error)

    def _on_terminate(self, token: bytes) -> None:
        if self.settings.termination_validator == "allow":
            self._terminated.set()

    def _on_error(self, error: BaseException) -> None:
        self._assembly.context.errors.record_exception(error, "duty cycle")

    def _start(self) -> None:
        assembly, context = self._assembly, self._assembly.context
        conductor = PythonAgent(assembly.conductor)
        if self._mode is ThreadingMode.SHARED:
            self._run(_all_agents(assembly), "shared", waits_as=CONDUCTOR)
        elif self._mode is ThreadingMode.SHARED_NETWORK:
            network = CompositeAgent([assembly.sender, assembly.receiver])
            self._run(network, "sharednetwork", assembly.to_sender, assembly.to_receiver)
            self._run(conductor, CONDUCTOR, context.from_sender, context.from_receiver)
        elif self._mode is ThreadingMode.DEDICATED:
            self._run(assembly.receiver, "receiver", assembly.to_receiver)
            self._run(assembly.sender, "sender", assembly.to_sender)
            self._run(conductor, CONDUCTOR, context.from_sender, context.from_receiver)
        self._registry.hook.aeron_driver_started(driver=self)

    def _run(self, agent: Agent, role: str, *rings: CommandRing, waits_as: str | None = None) -> None:
        strategy = self._idle_strategy(role, waits_as or role)
        if isinstance(strategy, SignalIdleStrategy):
            for ring in rings:
                ring.wake_with(strategy.semaphore)
        runner = AgentRunner(agent, strategy, self._on_error)
        self._runners.append(runner)
        runner.start()

    def _idle_strategy(self, role: str, waits_as: str) -> IdleStrategy:
        name = getattr(self.settings, f"{role}_idle_strategy")
        options = getattr(self.settings, f"{role}_idle_strategy_init_args") or ""
        params = IdleStrategyParams(
            agent=role, options=options, signal_name=semaphore_name(self.aeron_dir, waits_as)
        )
        return self._registry.idle_strategy(name, params)

    def close(self) -> None:
        """End the driver: its agents stop, its sockets close, its shared memory and (if so set) its directory go."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        for runner in self._runners:
            runner.close()
        if self._invoker is not None:
            self._invoker.close()
        self._assembly.close()
        self._terminated.set()
        self._registry.hook.aeron_driver_closed(driver=self)
        if self.settings.dir_delete_on_shutdown:
            delete_directory(self.aeron_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _settings_of(settings: DriverSettings | Mapping[str, Any] | None) -> DriverSettings:
    if isinstance(settings, DriverSettings):
        return settings
    loaded = load_driver_settings(arguments=settings or {})
    for text in loaded.warnings:
        # At the call of `launch`, which most use.
        warnings.warn(text, stacklevel=4)
    return loaded.settings


def _check_strategies(registry: Registry, settings: DriverSettings) -> None:
    # Otherwise the first stream that needs the strategy would be refused, at a time when nobody looks.
    for name, hook in _STRATEGIES.items():
        try:
            registry.check(hook, getattr(settings, name))
        except PluginError as error:
            raise PluginError(f"{name}: {error}") from None


def _resolver_of(registry: Registry, settings: DriverSettings) -> NameResolver:
    if settings.resolver_fallback == _GOSSIP:
        raise ConfigurationError(f"resolver_fallback={_GOSSIP}: must be another one, not gossip itself")
    options = settings.resolver_fallback_init_args or ""
    fallback = registry.name_resolver(settings.resolver_fallback, NameResolverParams(options=options))
    params = replace(_resolver_params(settings), fallback=fallback)
    return registry.name_resolver(settings.name_resolver, params)


def _sections_of(registry: Registry, given: Sections) -> dict[str, SettingsModel]:
    models = registry.section_models()
    for name in given:
        if name not in models:
            raise ConfigurationError(
                f"section {name!r}: installed plugins have {', '.join(models) or 'none'}"
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


def _all_agents(assembly: Assembly) -> Agent:
    return CompositeAgent([assembly.sender, assembly.receiver, PythonAgent(assembly.conductor)])

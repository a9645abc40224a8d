"""Media driver: embedded in an application, alone in a process, or run by its owner one duty cycle at a time.

Not here: the parts of a driver (`assembly`).
Invariant: all threads end before the sockets and the memory that they use are freed.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Final, Self

from aeron_core._native.clock import Clock
from aeron_core.agent.agent import Agent, CompositeAgent
from aeron_core.agent.idle_strategies import BackoffIdleStrategy, SignalIdleStrategy
from aeron_core.agent.invoker import AgentInvoker
from aeron_core.agent.runner import AgentRunner
from aeron_core.concurrent.flag import Flag
from aeron_core.concurrent.wake_up import CONDUCTOR, semaphore_name, share_semaphore, sweep_semaphores
from aeron_core.driver.assembly import Assembly
from aeron_core.driver.conductor.log_storage import sweep_shared_memory
from aeron_core.driver.conductor.names.lookups import LookupThreads
from aeron_core.driver.directory import delete_directory, prepare_directory
from aeron_core.driver.private_directory import new_private_directory, sweep_private_directories
from aeron_core.driver.startup_settings import PluginSections, check_strategies, resolver_of, settings_of
from aeron_core.errors import ConfigurationError
from aeron_core.file_locks import fault_of_child
from aeron_core.registry import Registry
from aeron_core.settings import Storage, ThreadingMode
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.settings.driver import DriverFields
from aeron_core.spi.idle_strategy import IdleStrategyParams

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from aeron_core._native.commands import CommandRing
    from aeron_core.driver.conductor.names.lookups import StartLookup
    from aeron_core.driver.startup_settings import GivenSections
    from aeron_core.settings import DriverSettings
    from aeron_core.spi.idle_strategy import IdleStrategy
    from aeron_core.spi.media import ConnectionNetwork, OpenDatagrams
    from aeron_core.spi.name_resolver import NameResolver

#: Longest sleep of a thread while it has nothing to do. Invented: timers take 100 ms and more. A command of a client
#: that does not ring waits up to this time. Clients of the reference poll for the answer every 16 ms, too.
_REST_NS: Final = 16_000_000


class MediaDriver:
    """Media driver: moves frames between log buffers and media for all clients of its directory.

    `launch` and `launch_embedded` start the threads of its agents; `MediaDriver(settings, invoker=True)` runs them in
    `do_work` instead. Close it with `close` or by leaving its `with` block.
    """

    def __init__(  # noqa: PLR0913 - all have defaults
        self,
        settings: DriverFields | Mapping[str, Any] | None = None,
        *,
        invoker: bool = False,
        clock: Clock | None = None,
        registry: Registry | None = None,
        sections: GivenSections | None = None,
        open_datagrams: OpenDatagrams | None = None,
        connections: ConnectionNetwork | None = None,
        start_lookup: StartLookup | None = None,
    ) -> None:
        """Take the directory and create files, rings and agents, but do not start the threads of the agents.

        `sections`: settings of plugins by section, as objects or mappings; otherwise from the environment.
        `clock`, `open_datagrams`, `connections` and `start_lookup` replace the clocks, the sockets and the name-lookup
        threads in simulations. Raises ActiveDriverError if another driver uses the directory, StorageError if it or a
        file in it cannot be created, ConfigurationError or PluginError if a setting or plugin is wrong.
        """
        self._settings = settings_of(settings)
        self._mode = ThreadingMode.INVOKER if invoker else self._settings.threading_mode
        # Acquired by the first call of `close`, and never released.
        self._closing = threading.Lock()
        self._process_id = os.getpid()
        self._terminated = Flag()
        self._registry = registry or Registry.load()
        self.sections = PluginSections(self._registry, sections or {})
        # Checked before the directory is touched: a misspelt name must not cause the deletion of what is in it.
        check_strategies(self._registry, self._settings)
        resolver = resolver_of(self._registry, self._settings, self.sections)
        self._invoker: AgentInvoker | None = None
        self._runners: list[AgentRunner] = []
        prepare_directory(self._settings)
        sweep_semaphores()
        try:
            self._assembly: Assembly | None = self._assemble(
                resolver, clock or Clock(), open_datagrams, connections, start_lookup or LookupThreads()
            )
        except BaseException:
            # A half-made directory would look like that of a driver that is starting.
            delete_directory(self.aeron_dir)
            raise

    def _assemble(
        self,
        resolver: NameResolver,
        clock: Clock,
        open_datagrams: OpenDatagrams | None,
        connections: ConnectionNetwork | None,
        start_lookup: StartLookup,
    ) -> Assembly:
        if self._settings.storage is Storage.POSIX:
            sweep_shared_memory()
        assembly = Assembly(
            self._settings,
            mode=self._mode.name,
            clock=clock,
            registry=self._registry,
            resolver=resolver,
            open_datagrams=open_datagrams,
            connections=connections,
            start_lookup=start_lookup,
            terminate=self._on_terminate,
        )
        if self._mode is ThreadingMode.INVOKER:
            self._invoker = AgentInvoker(_all_agents(assembly, assembly.conductor_agent), assembly.on_error)
        # From now on clients find the driver. Their commands wait in the ring until the threads start or
        # the owner calls `do_work`.
        assembly.publish()
        return assembly

    @classmethod
    def launch(
        cls,
        settings: DriverFields | Mapping[str, Any] | None = None,
        *,
        registry: Registry | None = None,
        sections: GivenSections | None = None,
    ) -> Self:
        """Return a running driver for clients of any process; `sections` are settings of plugins.

        With `threading_mode` INVOKER its agents have no threads: call `do_work`. Raises what the constructor raises;
        PluginError or ConfigurationError if an idle strategy cannot be created; and errors of plugins in
        `aeron_driver_started`.
        """
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
        settings: DriverFields | Mapping[str, Any] | None = None,
        *,
        registry: Registry | None = None,
        sections: GivenSections | None = None,
    ) -> Self:
        """Return a running driver for this process.

        If `settings` is None or a mapping without `aeron_dir`, the driver gets a private directory and, unless the
        mapping sets `storage` or `dir_delete_on_shutdown`, keeps its log buffers in POSIX shared memory and deletes
        both when it is closed. It also deletes what killed drivers of this kind left behind.
        Raises what `launch` raises.
        """
        if isinstance(settings, DriverFields):
            return cls.launch(settings, registry=registry, sections=sections)
        arguments = dict(settings or {})
        if "aeron_dir" not in arguments:
            # Clients of other processes are not expected: a directory of its own never conflicts with
            # another driver.
            arguments["aeron_dir"] = new_private_directory(default_aeron_dir())
            arguments.setdefault("storage", "posix")
            arguments.setdefault("dir_delete_on_shutdown", True)
            sweep_private_directories(default_aeron_dir(), settings_of(arguments).driver_timeout_ms)
        return cls.launch(arguments, registry=registry, sections=sections)

    @property
    def settings(self) -> DriverSettings:
        """The settings of this driver; each access returns the same object."""
        from aeron_core.settings.models import DriverSettings  # noqa: PLC0415 - imports pydantic: drivers start without

        # The converted settings are kept, so that each access returns the same object.
        self._settings = DriverSettings.of(self._settings)
        return self._settings

    @property
    def aeron_dir(self) -> Path:
        """The directory through which clients find this driver."""
        return self._settings.aeron_dir

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closing.locked()

    def do_work(self) -> int:
        """Run one duty cycle of all agents; return 0 if there was nothing to do or the driver is closed.

        One thread at a time may call it. An exception of an agent is recorded in the error log, not raised. Raises
        ConfigurationError in a forked child, and unless the driver was created with `invoker=True` or `threading_mode`
        INVOKER.
        """
        if self._mode is not ThreadingMode.INVOKER:
            raise ConfigurationError(
                f"do_work: the agents of this driver run in threads, threading_mode={self._mode.name}: do not call "
                f"it, or create the driver with MediaDriver(settings, invoker=True)"
            )
        # Read once: another thread may close the driver meanwhile.
        invoker = self._invoker
        if invoker is None:
            return 0
        if fault := fault_of_child(self._process_id, f"aeron.dir={self.aeron_dir}"):
            raise ConfigurationError(fault)
        return invoker.do_work()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for `terminate`, `close` or a permitted termination request of a client.

        Returns True then, False after `timeout` seconds without any of them; None waits without limit.
        """
        return self._terminated.wait(timeout)

    def terminate(self) -> None:
        """Make `await_termination` return True, now and later; any thread or signal handler may call this."""
        self._terminated.set()

    def record_error(self, error: BaseException) -> None:
        """Count an error of a plugin and add it to the driver's error log; any thread may call this.

        After `close` the error goes to `logging` instead.
        """
        # Read once: another thread may close the driver meanwhile.
        assembly = self._assembly
        if assembly is None:
            import logging  # noqa: PLC0415 - slow to import: only this error needs it

            logging.getLogger(__name__).error("%s", error)
        else:
            assembly.context.errors.record_exception(error)

    def _on_terminate(self, token: bytes) -> None:
        # Runs on the conductor's thread, for which `close` would wait: only wake the owner, which closes
        # the driver. Any process that can map cnc.dat can send the request.
        if self._settings.termination_validator == "allow":
            self._terminated.set()

    def _start(self) -> None:
        assert self._assembly is not None
        assembly, context = self._assembly, self._assembly.context
        conductor = assembly.conductor_agent
        if self._mode is ThreadingMode.SHARED:
            # A single thread polls all rings itself: only clients have to wake it.
            self._run(_all_agents(assembly, conductor), "shared", (CONDUCTOR, "sender"), waits_as=CONDUCTOR)
        elif self._mode is ThreadingMode.SHARED_NETWORK:
            sender = context.senders.first
            network = CompositeAgent([sender.agent, assembly.receiver])
            self._run(network, "sharednetwork", ("sender",), sender.commands, assembly.to_receiver)
            self._run(conductor, CONDUCTOR, (CONDUCTOR,), sender.events, context.from_receiver)
        elif self._mode is ThreadingMode.DEDICATED:
            self._run(assembly.receiver, "receiver", ("receiver",), assembly.to_receiver)
            # Clients know one bell for messages. Several senders look for these themselves: without a bell by its name,
            # no client rings.
            agents = ("sender",) if self._settings.sender_threads == 1 else ()
            for sender in context.senders:
                self._run(sender.agent, "sender", agents, sender.commands, name=sender.agent.role_name)
            self._run(conductor, CONDUCTOR, (CONDUCTOR,), *assembly.from_senders, context.from_receiver)
        self._registry.hook.aeron_driver_started(driver=self)

    def _run(
        self,
        agent: Agent,
        role: str,
        agents: tuple[str, ...],
        *rings: CommandRing,
        name: str | None = None,
        waits_as: str | None = None,
    ) -> None:
        strategy = self._idle_strategy(role, name or role, waits_as or name or role)
        # Only these strategies sleep until they are woken. With the others, the agent polls its rings at intervals.
        if isinstance(strategy, (BackoffIdleStrategy, SignalIdleStrategy)):
            self._attach(strategy, agent, role, agents, rings)
        assert self._assembly is not None
        runner = AgentRunner(agent, strategy, self._assembly.on_error)
        self._runners.append(runner)
        runner.start()

    def _attach(
        self,
        strategy: BackoffIdleStrategy | SignalIdleStrategy,
        agent: Agent,
        role: str,
        agents: tuple[str, ...],
        rings: tuple[CommandRing, ...],
    ) -> None:
        assert self._assembly is not None
        bells = self._assembly.context.bells
        if isinstance(strategy, SignalIdleStrategy):
            share_semaphore(strategy.semaphore.name, self._settings.file_access)
            for ring in rings:
                ring.wake_with(strategy.semaphore)
        if bells is None:
            return
        try:
            bell = bells.add(agents)
        except OSError:
            # The file system has no named pipes, for example: the agents sleep for limited times.
            return
        # The system limits how many descriptors a user watches. The others are watched all the same.
        unwatched = [descriptor for descriptor in agent.descriptors() if not bell.watch(descriptor)]
        for ring in rings:
            ring.wake_with(bell=bell)
        if isinstance(strategy, SignalIdleStrategy):
            strategy.attach(agent, bell)
        else:
            # The longest sleep is kept if a user has set it.
            is_set = bool(getattr(self._settings, f"{role}_idle_strategy_init_args"))
            strategy.attach(agent, bell, _REST_NS if not unwatched and not is_set else 0)

    def _idle_strategy(self, role: str, agent: str, waits_as: str) -> IdleStrategy:
        name = getattr(self._settings, f"{role}_idle_strategy")
        options = getattr(self._settings, f"{role}_idle_strategy_init_args") or ""
        params = IdleStrategyParams(
            agent=agent, options=options, signal_name=semaphore_name(self.aeron_dir, waits_as)
        )
        return self._registry.idle_strategy(name, params)

    def close(self) -> None:
        """Stop the agents, close the sockets, free the shared memory.

        Deletes the directory if `dir_delete_on_shutdown` is set. Waits for the current duty cycle and at most
        one idle period of each agent, for the event log, and for plugins. A `memoryview` of shared memory
        that a program kept stays valid. Only the first call has an effect; a further one returns at once. No effect in
        a forked child: the files are those of the driver of its process.
        """
        if os.getpid() != self._process_id:
            return
        # A signal handler may call this while the thread that it interrupts is in this method, so it must not wait for
        # the other call. A flag that is tested and set in two steps could be tested by both calls before it is set.
        if not self._closing.acquire(blocking=False):
            return
        # All threads end before the assembly frees the sockets and the memory that they use.
        for runner in self._runners:
            runner.close()
        if self._invoker is not None:
            self._invoker.close()
        if self._assembly is not None:
            self._assembly.close()
        # Drop the last references to mapped memory and descriptors: a closed driver may still be referenced.
        self._runners.clear()
        self._invoker = None
        self._assembly = None
        self._terminated.set()
        self._registry.hook.aeron_driver_closed(driver=self)
        if self._settings.dir_delete_on_shutdown:
            delete_directory(self.aeron_dir)

    def __enter__(self) -> Self:
        return self

    def __repr__(self) -> str:
        if self.is_closed:
            state = "closed"
        elif self._mode is ThreadingMode.INVOKER:
            state = "run by do_work"
        else:
            state = "running" if self._runners else "not started"
        return f"{type(self).__name__}({str(self.aeron_dir)!r}, {state})"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _all_agents(assembly: Assembly, conductor: Agent) -> Agent:
    senders = [sender.agent for sender in assembly.context.senders]
    return CompositeAgent([*senders, assembly.receiver, conductor])

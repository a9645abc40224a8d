"""Assembly of a driver: creates the shared files, the rings and the agents, and closes them. Runs no agent."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Final

from aeron_core._native.commands import CommandRing
from aeron_core._native.counter import AtomicCounter
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core.agent.duty_cycle import DutyCycleTracker
from aeron_core.concurrent.broadcast_transmitter import BroadcastTransmitter
from aeron_core.concurrent.counters import CountersManager
from aeron_core.concurrent.error_log import DistinctErrorLog
from aeron_core.concurrent.loss_report import LOSS_REPORT_FILE
from aeron_core.concurrent.loss_writer import LossReport
from aeron_core.concurrent.mapped_file import create_mapped_file
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.concurrent.wake_up import Bells
from aeron_core.driver.agents.conductor_input import ConductorInput
from aeron_core.driver.agents.counter_labels import SystemCounterLabels
from aeron_core.driver.agents.data_agent import AgentParams, ConductorAgent
from aeron_core.driver.agents.system_counters import SystemCounters
from aeron_core.driver.conductor.agent_proxy import AgentProxy
from aeron_core.driver.conductor.client_proxy import ClientProxy
from aeron_core.driver.conductor.conductor import Conductor
from aeron_core.driver.conductor.context import DriverContext
from aeron_core.driver.conductor.endpoints.protection import open_resolver_protector
from aeron_core.driver.conductor.error_sink import Cause, ErrorSink
from aeron_core.driver.conductor.log_storage import LogStorage
from aeron_core.driver.conductor.names.name_resolution import NameResolution
from aeron_core.driver.conductor.senders import SenderLink, Senders
from aeron_core.driver.conductor.unknown_keys import UnknownKeys
from aeron_core.driver.directory import lock_directory
from aeron_core.driver.event_log import EventLog
from aeron_core.driver.events import choose_events
from aeron_core.driver.random_bits import random_bits
from aeron_core.driver.receiver.awaited_images import AwaitedImages, NetworkCounts
from aeron_core.driver.receiver.receiver import Receiver
from aeron_core.driver.socket_lengths import cut_lengths
from aeron_core.protocol.cnc import CNC_FILE, CncFile, CncLayout
from aeron_core.settings import Offload, ThreadingMode
from aeron_core.spi.name_resolver import NameResolverContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO

    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.clock import Clock
    from aeron_core.driver.conductor.names.lookups import StartLookup
    from aeron_core.registry import Registry
    from aeron_core.settings.driver import DriverFields
    from aeron_core.spi.media import ConnectionNetwork, OpenDatagrams
    from aeron_core.spi.name_resolver import NameResolver

# Chosen here: an agent cannot wait for space, so its ring holds the events of many cycles of the conductor. The ring to
# an agent may be shorter, because `AgentProxy` queues the commands that do not fit.
_EVENT_RING_CAPACITY: Final = 4096
_COMMAND_RING_CAPACITY: Final = 1024
_NS_PER_MS: Final = 1_000_000


class Assembly:
    """The parts of one driver; used by its owner, which runs the agents.

    The constructor raises StorageError if a file cannot be created; errors of the name resolver are passed on.
    """

    #: `cnc.dat` from `publish` to `close`, locked; see `lock_directory`.
    _lock: FileIO | None = None

    def __init__(  # noqa: PLR0913 - the parts of a driver
        self,
        settings: DriverFields,
        *,
        mode: str,
        clock: Clock,
        registry: Registry,
        resolver: NameResolver,
        open_datagrams: OpenDatagrams | None,
        connections: ConnectionNetwork | None,
        start_lookup: StartLookup,
        terminate: Callable[[bytes], None],
    ) -> None:
        self._settings = settings
        self._clock = clock
        if open_datagrams is None:
            # Replaced sockets, as in a simulation, have no kernel buffers to check.
            _warn_of_socket_lengths(settings)
        # A simulation starts many drivers, and uses a small part of the 11 MB that would be allocated for each.
        self._fills_files = open_datagrams is None
        self.cnc = self._create_cnc()
        counters = self._create_counters()
        system = SystemCounters(counters, _labels(settings, mode))
        errors = ErrorSink(DistinctErrorLog(self.cnc.error_log, clock), system)
        events = _open_event_log(settings, clock, errors)
        from_receiver, self.to_receiver = (
            CommandRing(_EVENT_RING_CAPACITY),
            CommandRing(_COMMAND_RING_CAPACITY),
        )
        self.context = DriverContext(
            settings=settings,
            clock=clock,
            registry=registry,
            counters=counters,
            system_counters=system,
            errors=errors,
            working_protectors=[],
            unknown_keys=UnknownKeys(errors),
            bells=None if mode == ThreadingMode.INVOKER.name else _open_bells(settings),
            events=events,
            loss_report=LossReport(self._create_loss_report()),
            to_driver=ManyToOneRingBuffer(self.cnc.to_driver),
            clients=ClientProxy(BroadcastTransmitter(self.cnc.to_clients), events),
            senders=Senders(self._new_sender(number, system) for number in range(settings.sender_threads)),
            receiver=AgentProxy(self.to_receiver, system.receiver_proxy_fails),
            from_receiver=from_receiver,
            logs=LogStorage(settings, system, errors),
            awaited_images=_image_permits(settings),
            receive_batch=ReceiveBatch(settings.receiver_io_vector_capacity),
            open_datagrams=open_datagrams,
            connections=connections,
            uses_gso=settings.udp_gso is not Offload.OFF,
            uses_gro=settings.udp_gro is not Offload.OFF,
        )
        # The files that are mapped until the driver closes; each log adds its own length.
        system.bytes_currently_mapped.set(self.cnc.layout.file_length + settings.loss_report_buffer_length)
        self._resolution = self._make_resolution(resolver, start_lookup, open_datagrams)
        self._create_agents(from_receiver, system, terminate)

    def _create_counters(self) -> CountersManager:
        return CountersManager(
            self.cnc.counters_metadata,
            self.cnc.counters_values,
            self._clock,
            self._settings.counters_free_to_reuse_timeout_ns // _NS_PER_MS,
        )

    def _make_resolution(
        self, resolver: NameResolver, start_lookup: StartLookup, open_datagrams: OpenDatagrams | None
    ) -> NameResolution:
        resolution = NameResolution(
            resolver,
            start_lookup,
            self._clock,
            self.context.system_counters,
            self.context.events,
            self._settings.name_resolver_threshold_ns,
        )
        # The resolver may open sockets and allocate counters, so it starts before any agent runs.
        resolution.start_resolver(self._resolver_context(open_datagrams, start_lookup))
        return resolution

    def _new_sender(self, number: int, system: SystemCounters) -> SenderLink:
        return SenderLink(
            number,
            self._agent_params(
                "sender", CommandRing(_COMMAND_RING_CAPACITY), CommandRing(_EVENT_RING_CAPACITY), system
            ),
            system,
            self._settings.sender_io_vector_capacity,
        )

    def _create_agents(
        self, from_receiver: CommandRing, system: SystemCounters, terminate: Callable[[bytes], None]
    ) -> None:
        self.receiver = Receiver(
            self._agent_params("receiver", self.to_receiver, from_receiver, system),
            self.context.receive_batch,
        )
        duty_cycle = self._duty_cycle("conductor", system)
        self.conductor = Conductor(self.context, self._resolution, duty_cycle, terminate)
        ring = self.context.to_driver
        #: Runs the conductor in a thread.
        self.conductor_agent = ConductorAgent(
            self.conductor,
            self._clock,
            duty_cycle,
            ConductorInput(
                to_driver=ring.buffer,
                capacity=ring.capacity,
                from_senders=self.from_senders,
                from_receiver=from_receiver,
            ),
        )

    def _resolver_context(
        self, open_datagrams: OpenDatagrams | None, start_lookup: StartLookup
    ) -> NameResolverContext:
        counters, errors = self.context.counters, self.context.errors

        def report(text: str, *, peer: str = "") -> None:
            # A resolver may report what other drivers sent, so its texts are recorded as those of peers.
            errors.record_variable(Cause.PEER, 0, text, "name resolver", peer=peer)

        return NameResolverContext(
            clock=self._clock,
            system_counters=self.context.system_counters.by_name(),
            open_datagrams=open_datagrams,
            new_counter=lambda type_id, label, key: AtomicCounter(
                counters.values, counters.allocate(type_id, label, key)
            ),
            set_label=lambda counter, label: counters.set_label(counter.id, label),
            start_lookup=start_lookup,
            report=report,
            protector=open_resolver_protector(self.context),
        )

    def _create_cnc(self) -> CncFile:
        settings = self._settings
        layout = CncLayout.of(
            to_driver_length=settings.conductor_buffer_length,
            to_clients_length=settings.clients_buffer_length,
            counters_values_length=settings.counters_buffer_length,
            error_log_length=settings.error_buffer_length,
            page_size=settings.file_page_size,
        )
        return CncFile.create(
            settings.aeron_dir / CNC_FILE,
            layout,
            # Clients read this timeout from cnc.dat: a client whose conductor has not run for longer must
            # assume that the driver has timed it out.
            client_liveness_timeout_ns=settings.client_liveness_timeout_ns,
            start_timestamp_ms=self._clock.epoch_ms(),
            pid=os.getpid(),
            fill=self._fills_files,
            access=settings.file_access,
        )

    def _create_loss_report(self) -> AtomicBuffer:
        return create_mapped_file(
            self._settings.aeron_dir / LOSS_REPORT_FILE,
            self._settings.loss_report_buffer_length,
            sparse=not self._fills_files,
            access=self._settings.file_access,
        )

    @property
    def from_senders(self) -> list[CommandRing]:
        """The rings with the events of the senders."""
        return [sender.events for sender in self.context.senders]

    def _duty_cycle(self, role: str, system: SystemCounters) -> DutyCycleTracker:
        counters: dict[str, AtomicCounter] = system.by_name()
        return DutyCycleTracker(
            counters[f"{role}_max_cycle_time"],
            counters[f"{role}_cycle_time_threshold_exceeded"],
            getattr(self._settings, f"{role}_cycle_threshold_ns"),
        )

    def _agent_params(
        self, role: str, commands: CommandRing, conductor: CommandRing, system: SystemCounters
    ) -> AgentParams:
        return AgentParams(
            clock=self._clock,
            duty_cycle=self._duty_cycle(role, system),
            commands=commands,
            conductor=conductor,
            status_message_timeout_ns=self._settings.rcv_status_message_timeout_ns,
            send_to_status_poll_ratio=self._settings.send_to_status_poll_ratio,
            # Random: those of the drivers of a host, which have the same clock, are not due at the same time.
            first_phase=random_bits(16),
        )

    def publish(self) -> None:
        """Begin the event log and mark cnc.dat as ready for clients; call once everything else is initialized."""
        self.context.events.start()
        # Use up id 0: in the protocol 0 means "no id", so no client may get it.
        self.context.next_correlation_id()
        # Store the heartbeat before the version: a process that opens the file while the heartbeat is 0 treats the
        # driver as not running.
        self.context.to_driver.consumer_heartbeat_ms = self._clock.epoch_ms()
        self._lock = lock_directory(self._settings.aeron_dir)
        self.cnc.publish()

    def close(self) -> None:
        """Delete the logs, close the sockets and free what the agents shared; call after all agents stopped."""
        # First set the heartbeat to -1: clients detect that the driver stops while the rest is still being closed.
        self.conductor.on_close()
        self.context.logs.delete_all()
        self._resolution.close()
        # No agent is left to confirm a removal: run the pending callbacks, which close sockets and free
        # counters.
        for proxy in (*(sender.proxy for sender in self.context.senders), self.context.receiver):
            proxy.release_all()
        for endpoint in self.conductor.registrars.endpoints():
            endpoint.close_sockets()
        self.context.events.close()
        # This comes last, because the steps above use the tables that it clears.
        self.conductor.dispose()
        if self._lock is not None:
            self._lock.close()

    def on_error(self, error: BaseException) -> None:
        """Record an exception of an agent; any thread may call this."""
        self.context.errors.record_exception(error, "duty cycle")


def _warn_of_socket_lengths(settings: DriverFields) -> None:
    for text in cut_lengths(settings):
        warnings.warn(text, stacklevel=6)


def _open_event_log(settings: DriverFields, clock: Clock, errors: ErrorSink) -> EventLog:
    wanted, faults = choose_events(settings.event_log, settings.event_log_disable)
    # A misspelt event causes a warning only: it must not prevent the start of the driver.
    for fault in faults:
        warnings.warn(f"event log: {fault} (AERON_EVENT_LOG, AERON_EVENT_LOG_DISABLE)", stacklevel=2)
    return EventLog(
        clock,
        wanted,
        settings.event_log_filename,
        settings.event_log_file_max_length,
        errors.record_exception,
        settings.file_access,
    )


def _image_permits(settings: DriverFields) -> AwaitedImages:
    return AwaitedImages(
        NetworkCounts(settings.awaited_images_limit, settings.awaited_images_source_limit),
        NetworkCounts(settings.images_limit, settings.images_source_limit),
    )


def _open_bells(settings: DriverFields) -> Bells | None:
    try:
        return Bells(settings.aeron_dir, settings.file_access)
    except OSError:
        # The agents sleep for limited times then.
        return None


def _labels(settings: DriverFields, mode: str) -> SystemCounterLabels:
    return SystemCounterLabels(
        threading_mode=mode,
        driver_name=settings.resolver_name or "",
        conductor_threshold_ns=settings.conductor_cycle_threshold_ns,
        sender_threshold_ns=settings.sender_cycle_threshold_ns,
        receiver_threshold_ns=settings.receiver_cycle_threshold_ns,
        name_resolver_threshold_ns=settings.name_resolver_threshold_ns,
    )

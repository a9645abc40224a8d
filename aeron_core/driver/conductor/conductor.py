"""The driver's housekeeping: commands of clients, lives of streams, timers. Runs the duty cycle and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from aeron_core._native.commands import Command
from aeron_core.driver._native import operations
from aeron_core.driver.conductor.commands.clients import Clients
from aeron_core.driver.conductor.commands.command_handler import CommandHandler
from aeron_core.driver.conductor.commands.resources import Resources
from aeron_core.driver.conductor.names.re_resolution import ReResolution
from aeron_core.protocol import responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.commands import CommandRing
    from aeron_core.agent.duty_cycle import DutyCycleTracker
    from aeron_core.driver.conductor.agent_proxy import AgentProxy
    from aeron_core.driver.conductor.commands.client import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.names.resolution import Resolution
    from aeron_core.driver.sender.network_publication import NetworkPublication

#: Events of an agent that are handled in one duty cycle.
EVENT_DRAIN_LIMIT = 64


class Conductor:
    """Owns every resource of the driver; runs on one thread, which holds the GIL."""

    role_name = "conductor"

    def __init__(
        self,
        context: DriverContext,
        resolution: Resolution,
        duty_cycle: DutyCycleTracker,
        terminate: Callable[[bytes], None],
    ) -> None:
        self._context = context
        self._duty_cycle = duty_cycle
        self._resolution = resolution
        self.resources = Resources(context, resolution)
        self._re_resolution = ReResolution(context, resolution, self.resources)
        self.clients = Clients(context, self._release)
        self._commands = CommandHandler(context, self.clients, self.resources, terminate)
        self._event = Command()
        self._timer_deadline_ns = context.clock.nano_time()
        self._blocked_position = -1
        self._blocked_since_ns = 0

    def _release(self, client: Client) -> None:
        self._commands.forget(client.client_id)
        self.resources.release(client)

    def do_work(self) -> int:
        """Run one duty cycle; return 0 if there was nothing to do."""
        now_ns = self._context.clock.nano_time()
        self._duty_cycle.measure_and_update(now_ns)
        work = self._drain(self._context.from_sender, self._context.sender)
        work += self._drain(self._context.from_receiver, self._context.receiver)
        work += self._commands.do_work()
        work += self._resolve(now_ns) + self._re_resolution.do_work(now_ns)
        work += self._context.logs.free_ended()
        if now_ns >= self._timer_deadline_ns:
            self._on_timer(now_ns)
            work += 1
        return work

    def _resolve(self, now_ns: int) -> int:
        try:
            return self._resolution.do_work(now_ns)
        except Exception as error:
            # A plugin's: it must not keep the conductor from its other work.
            self._context.errors.record_exception(error, "name resolver")
            return 0

    def _drain(self, ring: CommandRing, proxy: AgentProxy) -> int:
        work = proxy.flush()
        for _ in range(EVENT_DRAIN_LIMIT):
            if not ring.receive(self._event):
                break
            work += 1
            self._on_event(proxy)
        return work

    def _on_event(self, proxy: AgentProxy) -> None:
        code = self._event.code
        if code == operations.RELEASED:
            proxy.on_released(self._event)
        elif code == operations.LINKED:
            proxy.on_linked(self._event)
        elif code == operations.CREATE_IMAGE:
            self.resources.images.on_create_image(self._event)
        elif code == operations.CREATE_IMAGE_REFUSED:
            self._context.errors.record(
                11, f"exceeded session limit, stream id={self._event.numbers[1]} from {self._event.source}"
            )
        elif code == operations.PUBLICATION_ERROR:
            self._on_publication_error()
        elif code == operations.RECEIVERS_REFUSED:
            self._on_receivers_refused()
        elif code == operations.RESPONSE_SETUP:
            publication = cast("NetworkPublication", self._event.target)
            self.resources.response_channels.on_response_setup(publication, self._event.numbers[0])
        elif code == operations.RESPONSE_CONNECTED:
            self.resources.response_channels.announce_all()

    def _on_publication_error(self) -> None:
        event = self._event
        publication = cast("NetworkPublication", event.target)
        source = event.source
        error_code, has_group_tag = event.numbers[:2]
        receiver_id, group_tag, destination_registration_id = event.values[:3]
        packed = source.packed
        self._context.clients.send(
            responses.OnPublicationError(
                publication.registration_id,
                destination_registration_id,
                publication.session_id,
                publication.stream_id,
                receiver_id,
                group_tag if has_group_tag else -1,
                {4: 1, 16: 2}.get(len(packed), 0),
                source.port,
                packed.ljust(16, b"\0"),
                error_code,
                event.text.decode("utf-8", "replace"),
            )
        )

    def _on_receivers_refused(self) -> None:
        publication = cast("NetworkPublication", self._event.target)
        self._context.errors.record(
            11,
            f"more than {operations.MAX_TRACKED_RECEIVERS} receivers, session id={publication.session_id} "
            f"stream id={publication.stream_id}: status messages of others are ignored",
        )

    def _on_timer(self, now_ns: int) -> None:
        self._timer_deadline_ns = now_ns + self._context.settings.timer_interval_ns
        self._context.to_driver.consumer_heartbeat_ms = self._context.clock.epoch_ms()
        self.clients.on_timer()
        self.resources.on_timer(now_ns)
        self._unblock_commands(now_ns)

    def _unblock_commands(self, now_ns: int) -> None:
        # A client that died while it wrote a command would block all others for ever.
        ring = self._context.to_driver
        position = ring.consumer_position
        if position != self._blocked_position or ring.producer_position <= position:
            self._blocked_position = position
            self._blocked_since_ns = now_ns
        elif (
            now_ns > self._blocked_since_ns + self._context.settings.client_liveness_timeout_ns
            and ring.unblock()
        ):
            self._context.system_counters.unblocked_commands.get_and_add(1)

    def on_close(self) -> None:
        """Tell clients that the driver is gone."""
        self._context.to_driver.consumer_heartbeat_ms = -1

    def dispose(self) -> None:
        """Break the reference cycles of the conductor's parts, so that mapped memory is freed with its last user.

        Call after everything is closed. Without it, the memory would stay until the cycle collector runs.
        """
        resources = self.resources
        for part in (
            resources.subscriptions,
            resources.ipc,
            resources.network,
            resources.images,
            resources.receive_destinations,
            self.clients,
            # What waits for an answer of an agent, such as a new subscriber of an image.
            self._context.sender,
            self._context.receiver,
        ):
            vars(part).clear()

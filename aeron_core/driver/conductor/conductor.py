"""The conductor agent: the duty cycle that runs client commands, events of other agents, lookups and timers.

Invariant: it alone creates and frees resources; the sender and the receiver get borrowed references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from aeron_core._native import wire
from aeron_core._native.commands import Command
from aeron_core.driver._native import operations
from aeron_core.driver.conductor.commands.client_resources import ClientResources
from aeron_core.driver.conductor.commands.clients import Clients
from aeron_core.driver.conductor.commands.command_handler import CommandHandler
from aeron_core.driver.conductor.commands.media_imports import MediaImports
from aeron_core.driver.conductor.names.re_resolution import ReResolution
from aeron_core.driver.conductor.registrars import Registrars
from aeron_core.driver.conductor.stream_errors import record_stream_error
from aeron_core.errors import ErrorCode, ProtocolError
from aeron_core.protocol import responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.commands import CommandRing
    from aeron_core.agent.duty_cycle import DutyCycleTracker
    from aeron_core.driver.conductor.agent_proxy import AgentProxy
    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.names.name_resolution import NameResolution
    from aeron_core.driver.sender.network_publication import NetworkPublication

#: Maximum number of events of one agent that are handled in one duty cycle. Our choice: commands and timers must not
#: wait for a flood of events.
EVENT_DRAIN_LIMIT: Final = 64

#: Address types of a response by the length of the address.
_ADDRESS_TYPES: Final = {
    wire.RES_IP4_ADDRESS_LENGTH: wire.RESPONSE_ADDRESS_TYPE_IP4,
    wire.RES_IP6_ADDRESS_LENGTH: wire.RESPONSE_ADDRESS_TYPE_IP6,
}


class Conductor:
    """Owner of every resource of the driver; runs on one thread, which holds the GIL."""

    role_name = "conductor"

    def __init__(
        self,
        context: DriverContext,
        resolution: NameResolution,
        duty_cycle: DutyCycleTracker,
        terminate: Callable[[bytes], None],
    ) -> None:
        self._context = context
        self._duty_cycle = duty_cycle
        self._resolution = resolution
        self.registrars = Registrars(context)
        self._resources = ClientResources(context, resolution, self.registrars)
        self._re_resolution = ReResolution(context, resolution, self.registrars)
        self._clients = Clients(context, self._release)
        imports = MediaImports(context.registry, resolution.start_helper)
        self._commands = CommandHandler(context, self._clients, self._resources, imports, terminate)
        self._event = Command()
        self._timer_deadline_ns = context.clock.nano_time()
        self._blocked_position = -1
        self._blocked_since_ns = 0

    def _release(self, client: Client) -> None:
        self._commands.forget(client.client_id)
        self._resources.release(client)

    def do_work(self) -> int:
        """Run one duty cycle; return the work count, the number of items handled, 0 if there was nothing to do."""
        now_ns = self._context.clock.nano_time()
        self._duty_cycle.measure_and_update(now_ns)
        # Events come before commands, because a release may free what the next command needs, such as a port.
        work = 0
        for sender in self._context.senders:
            work += self._drain(sender.events, sender.proxy)
        work += self._drain(self._context.from_receiver, self._context.receiver)
        work += self.registrars.images.create_waiting()
        work += self._commands.do_work()
        work += self._resolve(now_ns) + self._re_resolution.do_work(now_ns)
        work += self._protect(now_ns)
        work += self._context.logs.free_ended()
        # Timeouts of clients and of their resources are checked here only, so a state may last one timer interval
        # longer than its timeout.
        if now_ns >= self._timer_deadline_ns:
            self._on_timer(now_ns)
            work += 1
        return work

    def pause_until_ns(self, now_ns: int) -> int:
        """Return when the next duty cycle has something to do if no command and no event arrives.

        `now_ns` if that is unknown. Called after a duty cycle without work.
        """
        context = self._context
        if (
            self._commands.is_busy
            or self._resolution.is_working
            or context.working_protectors
            or context.logs.has_ended
            or self.registrars.images.has_waiting
            or context.senders.has_waiting
            or context.receiver.has_waiting
        ):
            return now_ns
        return min(self._timer_deadline_ns, self._re_resolution.next_time_ns(now_ns, self._timer_deadline_ns))

    def _resolve(self, now_ns: int) -> int:
        try:
            return self._resolution.do_work(now_ns)
        except Exception as error:
            # The resolver is a plugin: its failure must not stop the conductor's other work.
            self._context.errors.record_exception(error, "name resolver")
            return 0

    def _protect(self, now_ns: int) -> int:
        work = 0
        for protector in self._context.working_protectors:
            try:
                work += protector.do_work(now_ns)
            except Exception as error:
                # The protector is a plugin: its failure must not stop the conductor's other work.
                self._context.errors.record_exception(error, "datagram protector")
        return work

    def _drain(self, ring: CommandRing, proxy: AgentProxy) -> int:
        # The ring to the agent may have space now for commands that are queued in the proxy.
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
            # The receiver creates no files: it drops the frames of the session until it gets ADD_IMAGE.
            self.registrars.images.on_create_image(self._event)
        elif code == operations.CREATE_IMAGE_REFUSED:
            self._on_image_refused()
        elif code == operations.PUBLICATION_ERROR:
            self._on_publication_error()
        elif code == operations.RECEIVERS_REFUSED:
            self._on_receivers_refused()
        elif code == operations.RESPONSE_SETUP:
            publication = cast("NetworkPublication", self._event.target)
            self._resources.response_channels.on_response_setup(publication, self._event.numbers[0])
        elif code == operations.RESPONSE_CONNECTED:
            self._resources.response_channels.announce_all()

    def _on_image_refused(self) -> None:
        settings = self._context.settings
        reason, stream_id = self._event.values[1], self._event.numbers[1]
        if reason == operations.SESSION_REFUSED_BY_LIMIT:
            text = (
                f"exceeded session limit, stream-id={stream_id}: at most {settings.stream_session_limit} images of a "
                f"stream id; raise stream_session_limit"
            )
        elif reason == operations.PERMIT_REFUSED_TO_SOURCE:
            text = (
                f"refused images: {settings.awaited_images_source_limit} images of one source wait for their first "
                f"data; its SETUP frames may be forged; otherwise raise awaited_images_source_limit"
            )
        elif reason == operations.IMAGE_REFUSED_TO_SOURCE:
            text = (
                f"refused images: one source has {settings.images_source_limit} images; its frames may be forged; "
                f"otherwise raise images_source_limit"
            )
        elif reason == operations.IMAGE_REFUSED:
            text = (
                f"refused images: there are {settings.images_limit} images; their frames may be forged; otherwise "
                f"raise images_limit"
            )
        else:
            text = (
                f"refused images: {settings.awaited_images_limit} images wait for their first data; their SETUP "
                f"frames may be forged; otherwise raise awaited_images_limit"
            )
        # The stream ids are those of subscriptions: clients, not peers, determine how many texts there are.
        self._context.errors.record(ErrorCode.GENERIC_ERROR, text, str(self._event.source))

    def _on_publication_error(self) -> None:
        event = self._event
        # An ERR frame of a receiver. Agents create no Python objects, so its fields arrive as numbers and bytes.
        publication = cast("NetworkPublication", event.target)
        source = event.source
        error_code, has_group_tag = event.numbers[:2]
        receiver_id, group_tag, destination_registration_id = event.values[:3]
        packed = source.packed
        self._context.report_publication_error(
            responses.OnPublicationError(
                publication.registration_id,
                destination_registration_id,
                publication.session_id,
                publication.stream_id,
                receiver_id,
                group_tag if has_group_tag else wire.NO_GROUP_TAG,
                _ADDRESS_TYPES.get(len(packed), wire.RESPONSE_ADDRESS_TYPE_NONE),
                source.port,
                # The field always has the length of an IPv6 address; its type gives the number of
                # significant bytes.
                packed.ljust(wire.RESPONSE_ADDRESS_LENGTH, b"\0"),
                error_code,
                event.text.decode("utf-8", "replace"),
            )
        )

    def _on_receivers_refused(self) -> None:
        publication = cast("NetworkPublication", self._event.target)
        text = (
            f"more than {operations.MAX_TRACKED_RECEIVERS} receivers of a stream: status messages of further "
            f"receivers are ignored until a tracked one times out; divide a larger group among several streams"
        )
        record_stream_error(self._context, publication, text)

    def _on_timer(self, now_ns: int) -> None:
        self._timer_deadline_ns = now_ns + self._context.settings.timer_interval_ns
        # Clients measure the age of this heartbeat. If it exceeds their driver timeout, they treat the driver as dead,
        # and close themselves.
        self._context.to_driver.consumer_heartbeat_ms = self._context.clock.epoch_ms()
        # Clients come first, so that the streams of a client that has timed out begin to drain in the same call.
        self._clients.on_timer()
        self._resources.on_timer(now_ns)
        try:
            self._resolution.on_timer(now_ns)
        except Exception as error:
            self._context.errors.record_exception(error, "protector of the name resolver")
        try:
            self._unblock_commands(now_ns)
        except ProtocolError as error:
            # The positions of the ring were damaged: measure anew how long it is blocked.
            self._blocked_position = -1
            self._context.errors.record_command(error, "to-driver ring buffer")

    def _unblock_commands(self, now_ns: int) -> None:
        # A client that died while it wrote a command would block the ring for all other clients.
        ring = self._context.to_driver
        ring.head.check_producers()
        position = ring.consumer_position
        if position != self._blocked_position or ring.producer_position <= position:
            self._blocked_position = position
            self._blocked_since_ns = now_ns
        elif (
            # As in the reference: a client that needs longer than the liveness timeout of clients for one record counts
            # as dead, and the record becomes padding.
            now_ns > self._blocked_since_ns + self._context.settings.client_liveness_timeout_ns
            and ring.unblock()
        ):
            self._context.system_counters.unblocked_commands.get_and_add(1)

    def on_close(self) -> None:
        """Set the heartbeat to -1, by which clients detect that the driver has stopped."""
        # Not 0, which means that the driver has not started its duty cycle yet.
        self._context.to_driver.consumer_heartbeat_ms = -1

    def dispose(self) -> None:
        """Break the reference cycles of the conductor's parts, so that mapped memory is freed with its last user.

        Call after everything is closed. Without it, the memory would stay until the cycle collector runs.
        """
        registrars = self.registrars
        # Break the reference cycles between callbacks and registrars, which keep the buffers of all logs alive.
        for part in (
            registrars.subscriptions,
            registrars.ipc,
            registrars.network,
            registrars.images,
            self._resources,
            self._clients,
        ):
            vars(part).clear()

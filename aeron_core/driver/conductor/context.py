"""Objects that all parts of the conductor share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.conductor.error_sink import Cause
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.frozen import frozen
from aeron_core.registry import LOADED_AT_START

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core._native.commands import CommandRing
    from aeron_core._native.datagrams import ReceiveBatch
    from aeron_core._native.park import Bell
    from aeron_core.concurrent.counters import CountersManager
    from aeron_core.concurrent.loss_writer import LossReport
    from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
    from aeron_core.concurrent.wake_up import Bells
    from aeron_core.driver.agents.system_counters import SystemCounters
    from aeron_core.driver.conductor.agent_proxy import AgentProxy
    from aeron_core.driver.conductor.client_proxy import ClientProxy
    from aeron_core.driver.conductor.error_sink import ErrorSink
    from aeron_core.driver.conductor.log_storage import LogStorage
    from aeron_core.driver.conductor.senders import Senders
    from aeron_core.driver.conductor.unknown_keys import UnknownKeys
    from aeron_core.driver.event_log import EventLog
    from aeron_core.driver.receiver.awaited_images import AwaitedImages
    from aeron_core.protocol.responses import OnPublicationError
    from aeron_core.registry import Registry
    from aeron_core.settings.driver import DriverFields
    from aeron_core.spi.media import ConnectionNetwork, MediaTransport, OpenDatagrams
    from aeron_core.spi.protection import DatagramProtector
    from aeron_core.uri.channel_uri import ChannelUri


@frozen(kw_only=True)
class DriverContext:
    """Objects that the parts of the conductor share, fixed until the driver closes.

    Used on the conductor's thread. Any thread that holds the GIL may call `events.record`, `errors.record` and
    `errors.record_exception`.
    """

    settings: DriverFields
    clock: Clock
    registry: Registry
    counters: CountersManager
    system_counters: SystemCounters
    errors: ErrorSink
    # Protectors that work in each duty cycle of the conductor.
    working_protectors: list[DatagramProtector]
    unknown_keys: UnknownKeys
    # None without threads of its own, or if the directory cannot have named pipes.
    bells: Bells | None
    events: EventLog
    # The conductor prepares the entry of each image; the receiver writes it.
    loss_report: LossReport
    to_driver: ManyToOneRingBuffer
    clients: ClientProxy
    senders: Senders
    # Commands to the receiver, queued while the ring is full.
    receiver: AgentProxy
    # Events of the receiver: each ring has one producer, its agent, and one consumer, the conductor.
    from_receiver: CommandRing
    logs: LogStorage
    # Permits of images without data: the receiver takes and releases them, the conductor reads whether they are scarce.
    awaited_images: AwaitedImages
    # Passed to new endpoints; only the receiver uses it, for one at a time.
    receive_batch: ReceiveBatch
    # Replacements for the sockets of the operating system, in simulations.
    open_datagrams: OpenDatagrams | None
    connections: ConnectionNetwork | None
    uses_gso: bool
    uses_gro: bool

    def bell_of(self, correlation_id: int) -> Bell | None:
        """Return the bell of the subscribers of a stream, None without bells."""
        return None if self.bells is None else self.bells.of_stream(correlation_id)

    def media_of(self, uri: ChannelUri) -> MediaTransport:
        """Return the medium of a channel.

        Raises ChannelUriError if it is not installed, or does not have the security that `uri` asks for, PluginError if
        it is broken.
        """
        names = self.registry.names("aeron_media_transports")
        if uri.media not in names:
            raise ChannelUriError(
                f"invalid URI scheme or transport: {uri}: media {uri.media!r} must be one of "
                f"{', '.join(names)}; other media need a plugin; {LOADED_AT_START}"
            )
        medium = self.registry.media(uri.media)
        # Ignored as an unknown key is, the key would leave a stream in the clear.
        if "security" in uri and not medium.protects_datagrams:
            raise ChannelUriError(
                f"security={uri.get('security')} in {uri}: the medium {uri.media!r} cannot be secured by the driver: "
                f"leave security out, or use aeron:udp",
                ErrorCode.INVALID_CHANNEL,
            )
        return medium

    def report_publication_error(self, error: OnPublicationError) -> None:
        """Log the error of a receiver, or of an IPC subscriber, that rejects a publication, and send it to the clients.

        Source: aeron_driver_conductor.c, aeron_driver_conductor_on_publication_error.
        """
        self.errors.record_variable(
            Cause.PEER,
            error.error_code,
            f"onPublicationError: registrationId={error.registration_id}, "
            f"destinationRegistrationId={error.destination_registration_id}, sessionId={error.session_id}, "
            f"streamId={error.stream_id}, receiverId={error.receiver_id}, groupId={error.group_tag}, "
            f"errorCode={int(error.error_code)}, errorMessage={error.error_message}",
            kind=f"onPublicationError: registrationId={error.registration_id}",
        )
        self.clients.send(error)

    def next_correlation_id(self) -> int:
        """Return an id that is unique among the clients and resources of this driver."""
        # Clients take their ids from the same counter, which is in the trailer of the ring.
        return self.to_driver.next_correlation_id()

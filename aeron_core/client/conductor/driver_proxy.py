"""Commands a driver: every method puts one command into the ring of cnc.dat and returns its correlation id.

Not here: answers (driver_listener). Any thread.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.errors import ClientError
from aeron_core.protocol import commands

if TYPE_CHECKING:
    from aeron_core._native.semaphore import NamedSemaphore
    from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer

# Source: aeron_client_conductor.c, aeron_client_conductor_command_offer.
_MAX_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.001


class DriverProxy:
    """The driver as one client sees it. Raises ClientError where the ring stays full."""

    def __init__(self, ring: ManyToOneRingBuffer, wake_up: NamedSemaphore | None = None) -> None:
        """Post `wake_up` after each command, where the driver waits for it."""
        self._ring = ring
        self._wake_up = wake_up
        self.client_id: Final = ring.next_correlation_id()

    @property
    def heartbeat_ms(self) -> int:
        """When the driver last said it is alive, in ms since the epoch; -1 after it left in order."""
        return self._ring.consumer_heartbeat_ms

    def next_correlation_id(self) -> int:
        """Return a number that no other client of the driver gets."""
        return self._ring.next_correlation_id()

    def add_publication(self, channel: str, stream_id: int) -> int:
        """Ask for a publication that clients share."""
        id_ = self.next_correlation_id()
        return self._send(commands.AddPublication(self.client_id, id_, stream_id, channel))

    def add_exclusive_publication(self, channel: str, stream_id: int) -> int:
        """Ask for a publication of one's own."""
        id_ = self.next_correlation_id()
        return self._send(commands.AddExclusivePublication(self.client_id, id_, stream_id, channel))

    def remove_publication(self, registration_id: int, *, revoke: bool) -> int:
        """Give a publication back."""
        flags = wire.COMMAND_REMOVE_PUBLICATION_FLAG_REVOKE if revoke else 0
        id_ = self.next_correlation_id()
        return self._send(commands.RemovePublication(self.client_id, id_, registration_id, flags))

    def add_subscription(self, channel: str, stream_id: int) -> int:
        """Ask for a subscription."""
        id_ = self.next_correlation_id()
        return self._send(commands.AddSubscription(self.client_id, id_, -1, stream_id, channel))

    def remove_subscription(self, registration_id: int) -> int:
        """Give a subscription back."""
        id_ = self.next_correlation_id()
        return self._send(commands.RemoveSubscription(self.client_id, id_, registration_id))

    def add_destination(self, registration_id: int, channel: str) -> int:
        """Send a publication to one more place."""
        id_ = self.next_correlation_id()
        return self._send(commands.AddDestination(self.client_id, id_, registration_id, channel))

    def remove_destination(self, registration_id: int, channel: str) -> int:
        """Send a publication to one place less."""
        id_ = self.next_correlation_id()
        return self._send(commands.RemoveDestination(self.client_id, id_, registration_id, channel))

    def remove_destination_by_id(self, registration_id: int, destination_registration_id: int) -> int:
        """Send a publication to one place less, known by the id of the command that added it."""
        id_ = self.next_correlation_id()
        return self._send(
            commands.RemoveDestinationById(self.client_id, id_, registration_id, destination_registration_id)
        )

    def add_rcv_destination(self, registration_id: int, channel: str) -> int:
        """Receive a subscription from one more place."""
        id_ = self.next_correlation_id()
        return self._send(commands.AddRcvDestination(self.client_id, id_, registration_id, channel))

    def remove_rcv_destination(self, registration_id: int, channel: str) -> int:
        """Receive a subscription from one place less."""
        id_ = self.next_correlation_id()
        return self._send(commands.RemoveRcvDestination(self.client_id, id_, registration_id, channel))

    def add_counter(self, type_id: int, key: bytes, label: str) -> int:
        """Ask for a counter that lives as long as the client."""
        id_ = self.next_correlation_id()
        return self._send(commands.AddCounter(self.client_id, id_, type_id, key, label))

    def add_static_counter(self, type_id: int, registration_id: int, key: bytes, label: str) -> int:
        """Ask for a counter that outlives the client."""
        id_ = self.next_correlation_id()
        return self._send(
            commands.AddStaticCounter(self.client_id, id_, registration_id, type_id, key, label)
        )

    def remove_counter(self, registration_id: int) -> int:
        """Give a counter back."""
        id_ = self.next_correlation_id()
        return self._send(commands.RemoveCounter(self.client_id, id_, registration_id))

    def reject_image(self, image_correlation_id: int, position: int, reason: str) -> int:
        """Refuse an image from a position on."""
        id_ = self.next_correlation_id()
        return self._send(commands.RejectImage(self.client_id, id_, image_correlation_id, position, reason))

    def next_session_id(self, stream_id: int) -> int:
        """Ask for a session id that no publication of the stream uses."""
        id_ = self.next_correlation_id()
        return self._send(commands.GetNextAvailableSessionId(self.client_id, id_, stream_id))

    def terminate_driver(self, token: bytes) -> int:
        """Ask the driver to end."""
        return self._send(commands.TerminateDriver(self.client_id, self.next_correlation_id(), token))

    def close_client(self, client_id: int | None = None) -> int:
        """Give everything back that this client has, or another one."""
        closed = self.client_id if client_id is None else client_id
        return self._send(commands.ClientClose(closed, self.next_correlation_id()))

    def _send(self, command: commands.Command) -> int:
        message = command.encode()
        for _ in range(_MAX_ATTEMPTS):
            if self._ring.write(command.TYPE_ID, message):
                if self._wake_up is not None:
                    self._wake_up.signal()
                return command.correlation_id
            time.sleep(_PAUSE_S)
        raise ClientError(
            f"{type(command).__name__}: no room among the commands of the media driver, which reads none"
        )

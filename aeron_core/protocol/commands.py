"""What clients ask a driver through the ring buffer of cnc.dat.

Not here: what a driver does about it, and the record that carries a command.
Source: aeron_control_protocol.h; lengths that the driver demands: aeron_driver_conductor_on_command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.message import (
    I32,
    I64,
    Blob,
    DriverMessage,
    OptionalI64,
    PaddedBlob,
    Text,
    decode_by_type,
)


@dataclass(frozen=True, slots=True)
class Command(DriverMessage):
    """What all commands begin with; both ids come from the correlation counter of the ring buffer."""

    client_id: I64
    correlation_id: I64


@dataclass(frozen=True, slots=True)
class _AddAnyPublication(Command):
    stream_id: I32
    channel: Text


@dataclass(frozen=True, slots=True)
class AddPublication(_AddAnyPublication):
    """Add a publication that clients share; answered by OnPublicationReady."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_PUBLICATION


@dataclass(frozen=True, slots=True)
class AddExclusivePublication(_AddAnyPublication):
    """Add a publication of one's own; answered by OnExclusivePublicationReady."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_EXCLUSIVE_PUBLICATION


@dataclass(frozen=True, slots=True)
class RemovePublication(Command):
    """Give a publication back; answered by OnOperationSuccess.

    Clients before 1.48 end the command before its flags: `flags` is None then, and writes the same.
    """

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_PUBLICATION
    registration_id: I64
    flags: OptionalI64 = 0

    @property
    def revoke(self) -> bool:
        """Whether subscribers shall drop what they have not consumed yet."""
        return bool((self.flags or 0) & wire.COMMAND_REMOVE_PUBLICATION_FLAG_REVOKE)


@dataclass(frozen=True, slots=True)
class AddSubscription(Command):
    """Subscribe to a stream; answered by OnSubscriptionReady, then OnAvailableImage for each image."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_SUBSCRIPTION
    registration_correlation_id: I64
    """Means nothing; clients send -1 or 0."""
    stream_id: I32
    channel: Text


@dataclass(frozen=True, slots=True)
class RemoveSubscription(Command):
    """End a subscription; answered by OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_SUBSCRIPTION
    registration_id: I64


@dataclass(frozen=True, slots=True)
class ClientKeepalive(Command):
    """Say that the client is alive, as clients before 1.22 do; never answered."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_CLIENT_KEEPALIVE


@dataclass(frozen=True, slots=True)
class _Destination(Command):
    registration_id: I64
    """Of the publication or subscription."""
    channel: Text


@dataclass(frozen=True, slots=True)
class AddDestination(_Destination):
    """Send a publication to one more place; answered by OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_DESTINATION


@dataclass(frozen=True, slots=True)
class RemoveDestination(_Destination):
    """Send a publication to one place less; answered by OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_DESTINATION


@dataclass(frozen=True, slots=True)
class RemoveDestinationById(Command):
    """Send a publication to one place less, known by the correlation id of the command that added it."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_DESTINATION_BY_ID
    resource_registration_id: I64
    destination_registration_id: I64


@dataclass(frozen=True, slots=True)
class AddRcvDestination(_Destination):
    """Receive a subscription from one more place; answered by OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_RCV_DESTINATION


@dataclass(frozen=True, slots=True)
class RemoveRcvDestination(_Destination):
    """Receive a subscription from one place less; answered by OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_RCV_DESTINATION


@dataclass(frozen=True, slots=True)
class AddCounter(Command):
    """Allocate a counter that lives as long as the client; answered by OnCounterReady."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_COUNTER
    counter_type_id: I32
    key: PaddedBlob
    label: Text


@dataclass(frozen=True, slots=True)
class AddStaticCounter(Command):
    """Allocate, or find, a counter that outlives the client; answered by OnStaticCounter."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_STATIC_COUNTER
    registration_id: I64
    counter_type_id: I32
    key: PaddedBlob
    label: Text


@dataclass(frozen=True, slots=True)
class RemoveCounter(Command):
    """Free a counter; answered by OnOperationSuccess, then OnUnavailableCounter."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_COUNTER
    registration_id: I64


@dataclass(frozen=True, slots=True)
class ClientClose(Command):
    """Give everything back; never answered."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_CLIENT_CLOSE


@dataclass(frozen=True, slots=True)
class TerminateDriver(Command):
    """Ask the driver to end, if its validator likes the token; never answered."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_TERMINATE_DRIVER
    token: Blob


@dataclass(frozen=True, slots=True)
class RejectImage(Command):
    """Refuse an image from a position on; answered by OnOperationSuccess.

    Written as the C client does, for C drivers demand the length of a padded struct. Read as the Java driver
    does: Java clients end the command behind the reason.
    """

    TYPE_ID: ClassVar[int] = wire.COMMAND_REJECT_IMAGE
    MINIMUM_LENGTH: ClassVar[int] = wire.COMMAND_REJECT_IMAGE_MIN_LENGTH
    TAIL_LENGTH: ClassVar[int] = wire.COMMAND_REJECT_IMAGE_TAIL_LENGTH
    image_correlation_id: I64
    position: I64
    reason: Text


@dataclass(frozen=True, slots=True)
class GetNextAvailableSessionId(Command):
    """Ask for a session id that no publication of the stream uses; answered by OnNextAvailableSessionId."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_GET_NEXT_AVAILABLE_SESSION_ID
    stream_id: I32


_TYPES: tuple[type[Command], ...] = (
    AddPublication,
    RemovePublication,
    AddExclusivePublication,
    AddSubscription,
    RemoveSubscription,
    ClientKeepalive,
    AddDestination,
    RemoveDestination,
    AddCounter,
    RemoveCounter,
    ClientClose,
    AddRcvDestination,
    RemoveRcvDestination,
    TerminateDriver,
    AddStaticCounter,
    RejectImage,
    RemoveDestinationById,
    GetNextAvailableSessionId,
)
COMMANDS: Final[Mapping[int, type[Command]]] = MappingProxyType(
    {command.TYPE_ID: command for command in _TYPES}
)


def decode_command(type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> Command:
    """Return the command in a record of this type.

    ProtocolError has the code UNKNOWN_COMMAND_TYPE_ID or MALFORMED_COMMAND.
    """
    return decode_by_type(COMMANDS, type_id, buffer, offset, length)

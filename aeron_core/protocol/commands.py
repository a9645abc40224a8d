"""Commands from clients to a driver, in the ring buffer of cnc.dat.

Not here: their execution, and the record that carries a command.
Source: aeron_control_protocol.h; lengths that the driver demands: aeron_driver_conductor_on_command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ErrorCode, ProtocolError
from aeron_core.frozen import frozen
from aeron_core.protocol.message import (
    I32,
    I64,
    Blob,
    ControlMessage,
    OptionalI64,
    PaddedBlob,
    Text,
    decode_by_type,
)


@frozen(slots=True)
class DriverCommand(ControlMessage):
    """The fields that all commands begin with; both ids come from the correlation counter of the ring buffer.

    A command that fails has the response OnError, in place of the response that the class of the command names.
    """

    client_id: I64  # taken once by each client; the driver groups the resources of a client by this id
    correlation_id: I64  # repeated in the response; id of what is created, unless it is a static counter


@frozen(slots=True)
class _AddAnyPublication(DriverCommand):
    stream_id: I32  # chosen by the application; any int32
    channel: Text  # a URI, which carries all parameters of the publication


@frozen(slots=True)
class AddPublication(_AddAnyPublication):
    """Add a publication that clients may share; the response is OnPublicationReady."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_PUBLICATION


@frozen(slots=True)
class AddExclusivePublication(_AddAnyPublication):
    """Add a publication for one client alone; the response is OnExclusivePublicationReady."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_EXCLUSIVE_PUBLICATION


@frozen(slots=True)
class RemovePublication(DriverCommand):
    """Remove a publication; the response is OnOperationSuccess.

    Clients before 1.48 send no flags: `flags` is then None, which encodes to the same bytes.
    """

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_PUBLICATION
    registration_id: I64  # correlation id of the command that added the publication
    flags: OptionalI64 = 0  # a bit set; only the lowest bit, REVOKE, is defined

    @property
    def revoke(self) -> bool:
        """Whether the flag REVOKE is set: subscribers discard what they have not consumed yet."""
        return bool((self.flags or 0) & wire.COMMAND_REMOVE_PUBLICATION_FLAG_REVOKE)


@frozen(slots=True)
class AddSubscription(DriverCommand):
    """Subscribe to a stream; the response is OnSubscriptionReady, then OnAvailableImage for each image."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_SUBSCRIPTION
    registration_correlation_id: I64
    """Unused; clients send -1 or 0."""
    stream_id: I32  # publications with the same id match
    channel: Text  # a URI; the prefix aeron-spy: subscribes to publications of the same driver


@frozen(slots=True)
class RemoveSubscription(DriverCommand):
    """Remove a subscription; the response is OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_SUBSCRIPTION
    registration_id: I64  # correlation id of the AddSubscription


@frozen(slots=True)
class ClientKeepalive(DriverCommand):
    """Keep the client alive, as clients before 1.22 do; no response."""

    # Later clients store the time in their heartbeat counter instead, which costs no command.
    TYPE_ID: ClassVar[int] = wire.COMMAND_CLIENT_KEEPALIVE


@frozen(slots=True)
class _Destination(DriverCommand):
    registration_id: I64
    """Of the publication or subscription."""
    channel: Text  # the URI of the destination, not of the publication or subscription


@frozen(slots=True)
class AddDestination(_Destination):
    """Add a destination to a publication; the response is OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_DESTINATION


@frozen(slots=True)
class RemoveDestination(_Destination):
    """Remove a destination from a publication; the response is OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_DESTINATION


@frozen(slots=True)
class RemoveDestinationById(DriverCommand):
    """Remove a destination from a publication by its registration id; the response is OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_DESTINATION_BY_ID
    resource_registration_id: I64  # of the publication
    destination_registration_id: I64  # correlation id of the AddDestination


@frozen(slots=True)
class AddRcvDestination(_Destination):
    """Add a destination to a subscription; the response is OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_RCV_DESTINATION


@frozen(slots=True)
class RemoveRcvDestination(_Destination):
    """Remove a destination from a subscription; the response is OnOperationSuccess."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_RCV_DESTINATION


@frozen(slots=True)
class AddCounter(DriverCommand):
    """Allocate a counter that is freed with the client at the latest; the response is OnCounterReady."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_COUNTER
    counter_type_id: I32  # chosen by the application, for tools: see concurrent.counter_types
    key: PaddedBlob  # the driver keeps the first 112 bytes
    label: Text  # the driver keeps the first 380 bytes


@frozen(slots=True)
class AddStaticCounter(DriverCommand):
    """Allocate, or find, a counter that outlives the client; the response is OnStaticCounter."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_STATIC_COUNTER
    registration_id: I64  # chosen by the client; together with the type it identifies a static counter
    counter_type_id: I32  # refused if a counter of a client has this type and registration id
    key: PaddedBlob  # ignored if the counter exists
    label: Text  # ignored if the counter exists


@frozen(slots=True)
class RemoveCounter(DriverCommand):
    """Free a counter that AddCounter allocated; the response is OnOperationSuccess, then OnUnavailableCounter."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_REMOVE_COUNTER
    registration_id: I64  # correlation id of the AddCounter


@frozen(slots=True)
class ClientClose(DriverCommand):
    """Release all resources of the client; no response."""

    # The driver only marks the client as closed; the next timer check of the conductor releases the resources.
    TYPE_ID: ClassVar[int] = wire.COMMAND_CLIENT_CLOSE


@frozen(slots=True)
class TerminateDriver(DriverCommand):
    """Shut the driver down if its termination validator accepts the token; no response."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_TERMINATE_DRIVER
    token: Blob  # opaque here; each validator defines its own format


@frozen(slots=True)
class RejectImage(DriverCommand):
    """Reject an image; the response is OnOperationSuccess.

    Encoded as by the C client, because C drivers demand the length of a padded struct. Decoded as by the Java driver,
    because Java clients end the command after the reason.
    """

    TYPE_ID: ClassVar[int] = wire.COMMAND_REJECT_IMAGE
    MINIMUM_LENGTH: ClassVar[int] = wire.COMMAND_REJECT_IMAGE_MIN_LENGTH
    TAIL_LENGTH: ClassVar[int] = wire.COMMAND_REJECT_IMAGE_TAIL_LENGTH
    image_correlation_id: I64  # of OnAvailableImage
    position: I64  # not used by this driver: it rejects the image at once
    reason: Text  # at most 1023 bytes, the limit of an ERR frame; a longer one is refused


@frozen(slots=True)
class GetNextAvailableSessionId(DriverCommand):
    """Request a session id that no publication of the stream uses; the response is OnNextAvailableSessionId."""

    TYPE_ID: ClassVar[int] = wire.COMMAND_GET_NEXT_AVAILABLE_SESSION_ID
    stream_id: I32  # session ids are compared within this stream only


_TYPES: tuple[type[DriverCommand], ...] = (
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
COMMANDS: Final[Mapping[int, type[DriverCommand]]] = MappingProxyType(
    {command.TYPE_ID: command for command in _TYPES}
)


def decode_command(type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> DriverCommand:
    """Return the command of type `type_id` in the `length` bytes at `offset`.

    Raises ProtocolError with the code UNKNOWN_COMMAND_TYPE_ID or MALFORMED_COMMAND.
    """
    try:
        return decode_by_type("command", COMMANDS, type_id, buffer, offset, length)
    except ProtocolError as error:
        if error.code is not ErrorCode.MALFORMED_COMMAND:
            raise
        raise ProtocolError(
            f"command={type_id} too short: length={length}: {error}: update the client that sent it",
            error.code,
        ) from None

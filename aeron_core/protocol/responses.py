"""Responses and events from a driver to its clients, in the broadcast buffer of cnc.dat.

Every client receives every response; it handles those with an id of its own command, resource or client.
Not here: the record that carries a response.
Source: aeron_control_protocol.h.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.frozen import frozen
from aeron_core.protocol.message import (
    I16,
    I32,
    I64,
    U16,
    Bytes16,
    ControlMessage,
    PaddedText,
    Text,
    decode_by_type,
)


@frozen(slots=True)
class Response(ControlMessage):
    """Base of all responses and events; the driver sends them, clients only decode them."""


@frozen(slots=True)
class OnError(Response):
    """A command or a channel endpoint failed; `error_code`: one of `errors.ErrorCode`, or one of a later driver."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_ERROR
    offending_correlation_id: I64
    """Of the command; with CHANNEL_ENDPOINT_ERROR, the id of the channel status counter."""
    error_code: I32
    error_message: Text  # for people; programs use `error_code`


@frozen(slots=True)
class OnAvailableImage(Response):
    """An image can be mapped by one subscription; `correlation_id` is the image's."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_AVAILABLE_IMAGE
    correlation_id: I64  # the same for all subscriptions of one image
    session_id: I32  # of the publication
    stream_id: I32  # of the publication and the subscription
    subscriber_registration_id: I64  # the subscription: there is one event for each
    subscriber_position_id: I32
    """The counter that the subscription stores its position in."""
    log_file: PaddedText  # path to map; padded, so that the length after it is aligned to 4
    source_identity: Text
    """`address:port`, or `aeron:ipc`."""


@frozen(slots=True)
class OnUnavailableImage(Response):
    """An image is no longer available to one subscription; `correlation_id` is the image's."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_UNAVAILABLE_IMAGE
    correlation_id: I64  # as in OnAvailableImage
    subscription_registration_id: I64  # other subscriptions of the image get their own events
    stream_id: I32
    channel: Text  # of the subscription


@frozen(slots=True)
class _OnAnyPublicationReady(Response):
    correlation_id: I64  # of the command
    registration_id: I64
    """Of the command that created the publication: an earlier one if it is shared."""
    session_id: I32  # chosen by the driver, unless the URI sets it
    stream_id: I32
    position_limit_counter_id: I32  # the publisher limit: appenders start no message at or after it
    channel_status_indicator_id: I32
    """A counter, or -1 for IPC."""
    log_file: Text  # path to map; the last field, hence without padding


@frozen(slots=True)
class OnPublicationReady(_OnAnyPublicationReady):
    """A shared publication can be mapped."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_PUBLICATION_READY


@frozen(slots=True)
class OnExclusivePublicationReady(_OnAnyPublicationReady):
    """An exclusive publication can be mapped."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_EXCLUSIVE_PUBLICATION_READY


@frozen(slots=True)
class OnSubscriptionReady(Response):
    """A subscription was added; images follow."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_SUBSCRIPTION_READY
    correlation_id: I64  # of the command: the registration id of the subscription
    channel_status_indicator_id: I32
    """A counter, or -1 for IPC and spies."""


@frozen(slots=True)
class OnOperationSuccess(Response):
    """A command without a response of its own succeeded."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_OPERATION_SUCCESS
    correlation_id: I64  # of the command


@frozen(slots=True)
class OnCounterReady(Response):
    """A counter was allocated; a client's heartbeat counter has the client id as its correlation id."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_COUNTER_READY
    correlation_id: I64  # of the AddCounter, or a client id
    counter_id: I32  # index of its records in the counter sections of cnc.dat


@frozen(slots=True)
class OnStaticCounter(Response):
    """A static counter was allocated or found."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_STATIC_COUNTER
    correlation_id: I64  # of the command; not the registration id of the counter
    counter_id: I32


@frozen(slots=True)
class OnUnavailableCounter(Response):
    """A counter is about to be freed; clients must stop using its id."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_UNAVAILABLE_COUNTER
    registration_id: I64  # of the AddCounter, or a client id for a heartbeat
    counter_id: I32  # not reused before AERON_COUNTERS_FREE_TO_REUSE_TIMEOUT has passed


@frozen(slots=True)
class OnClientTimeout(Response):
    """The driver timed a client out."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_CLIENT_TIMEOUT
    client_id: I64  # the driver releases the resources of this client: it must stop using them


@frozen(slots=True)
class OnPublicationError(Response):
    """A receiver, or a subscriber of an IPC stream, rejected a publication.

    Padded, because C clients treat a message shorter than the padded struct as malformed.
    """

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_PUBLICATION_ERROR
    MINIMUM_LENGTH: ClassVar[int] = wire.RESPONSE_ON_PUBLICATION_ERROR_MIN_LENGTH
    registration_id: I64  # of the publication
    destination_registration_id: I64
    """-1 for none."""
    session_id: I32
    stream_id: I32
    receiver_id: I64  # -1 for IPC, which has no receivers
    group_tag: I64
    """-1 for none."""
    address_type: I16
    """One of `wire.RESPONSE_ADDRESS_TYPE_…`."""
    source_port: U16
    source_address: Bytes16
    """In network byte order; for IPv4, four bytes and zeros."""
    error_code: I32  # one of errors.ErrorCode
    error_message: Text

    @property
    def source(self) -> tuple[str, int] | None:
        """Host and port of the receiver; None if the address type is neither IPv4 nor IPv6, as for IPC."""
        if self.address_type == wire.RESPONSE_ADDRESS_TYPE_IP4:
            return str(ipaddress.IPv4Address(self.source_address[:4])), self.source_port
        if self.address_type == wire.RESPONSE_ADDRESS_TYPE_IP6:
            return str(ipaddress.IPv6Address(self.source_address)), self.source_port
        return None


@frozen(slots=True)
class OnNextAvailableSessionId(Response):
    """A session id that no publication of the stream uses."""

    TYPE_ID: ClassVar[int] = wire.RESPONSE_ON_NEXT_AVAILABLE_SESSION_ID
    correlation_id: I64
    next_session_id: I32  # not reserved: another client may take it first


_TYPES: tuple[type[Response], ...] = (
    OnError,
    OnAvailableImage,
    OnPublicationReady,
    OnOperationSuccess,
    OnUnavailableImage,
    OnExclusivePublicationReady,
    OnSubscriptionReady,
    OnCounterReady,
    OnUnavailableCounter,
    OnClientTimeout,
    OnStaticCounter,
    OnPublicationError,
    OnNextAvailableSessionId,
)
RESPONSES: Final[Mapping[int, type[Response]]] = MappingProxyType({type_.TYPE_ID: type_ for type_ in _TYPES})


def decode_response(type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> Response:
    """Return the response of type `type_id` in the `length` bytes at `offset`.

    Raises ProtocolError for a malformed response, and for a type that is not in RESPONSES: later drivers may
    send more types.
    """
    return decode_by_type("response", RESPONSES, type_id, buffer, offset, length)

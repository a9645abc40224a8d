"""Parameters of a publication or subscription: its channel URI, completed with the driver's defaults.

Not here: conflicts with existing publications and subscriptions, which the conductor checks.
Invariant: checks are in the reference's order, so that a client receives the same error.

Source: aeron_driver_uri.c (aeron_diver_uri_publication_params, aeron_driver_uri_subscription_params).
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.frozen import frozen
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import (
    Inferable,
    PublicationDefaults,
    SubscriptionDefaults,
    TaggedPublication,
)
from aeron_core.uri.endpoint_parameters import EndpointParameters
from aeron_core.uri.session_ids import (
    FindTagged,
    tagged_publication,
    untagged_session_id,
    wanted_session_id,
)
from aeron_core.uri.socket_buffers import SocketBuffer, check_mtu_fits_socket, check_window_fits_socket
from aeron_core.uri.start_position import StartPosition
from aeron_core.uri.untethered_timeouts import UntetheredTimeouts

NULL_CORRELATION_ID: Final = -1
PROTOTYPE_CORRELATION_ID: Final = -2

TERM_LENGTH_ALLOWED: Final = f"must be a power of two from {wire.TERM_MIN_LENGTH} to {wire.TERM_MAX_LENGTH}"
MTU_ALLOWED: Final = (
    f"must be a multiple of {wire.FRAME_ALIGNMENT} "
    f"from {wire.MIN_MTU_LENGTH} to {wire.MAX_UDP_PAYLOAD_LENGTH}"
)


@frozen(slots=True, kw_only=True)
class PublicationParameters:
    """Parameters of a publication, lengths in bytes; `has_x` is true if the URI itself sets x."""

    endpoint: EndpointParameters
    session_id: int | None
    session_tag: int | None  # entity tag of the publication whose session id is used
    entity_tag: int
    linger_timeout_ns: int
    term_length: int
    has_term_length: bool
    max_resend: int
    has_max_resend: bool
    mtu: int
    has_mtu: bool
    publication_window_length: int
    has_publication_window_length: bool
    start: StartPosition | None
    is_sparse: bool
    signal_eos: bool
    spies_simulate_connection: bool
    response_correlation_id: int  # or NULL_CORRELATION_ID, or PROTOTYPE_CORRELATION_ID
    untethered: UntetheredTimeouts
    is_response: bool
    flow_control: str | None  # text of `fc`, parsed by the strategy

    @classmethod
    def parse(
        cls,
        uri: ChannelUri,
        defaults: PublicationDefaults,
        find_tagged: FindTagged | None = None,
        *,
        compares_sockets: bool = True,
    ) -> PublicationParameters:
        """Return the parameters of `uri`; `find_tagged` returns the network publication with an entity tag.

        Raises ChannelUriError for a wrong value or combination; with `compares_sockets`, also if the send buffer of the
        socket is shorter than the mtu.
        """
        if uri.is_spy:
            raise ChannelUriError(
                f"invalid URI scheme or transport: {uri}: a publication cannot be a spy: must start with aeron:"
            )
        endpoint = EndpointParameters.parse(uri)
        _check_control_has_company(uri)
        session_tag, tagged = tagged_publication(uri, find_tagged)
        session_id = tagged.session_id if tagged else untagged_session_id(uri, session_tag)
        entity_tag = uri.entity_tag
        linger_timeout_ns = uri.get_duration_ns("linger", defaults.linger_timeout_ns)
        term_length = _term_length(uri, tagged, defaults)
        max_resend = _max_resend(uri, defaults)
        mtu = _mtu(uri, tagged, defaults)
        window_length = _publication_window_length(uri, mtu, term_length, defaults)
        is_response = endpoint.is_response and not uri.is_ipc
        if is_response and uri.get("response-correlation-id") == "prototype":
            # A prototype only keeps the socket open for later responses: nothing is ever offered to it.
            term_length = wire.TERM_MIN_LENGTH
            window_length = min(window_length, term_length // 2)
        start = StartPosition.parse(uri, term_length)
        params = cls(
            endpoint=endpoint,
            session_id=session_id,
            session_tag=session_tag,
            entity_tag=entity_tag,
            linger_timeout_ns=linger_timeout_ns,
            term_length=term_length,
            has_term_length="term-length" in uri,
            max_resend=max_resend,
            has_max_resend="max-resend" in uri,
            mtu=mtu,
            has_mtu="mtu" in uri,
            publication_window_length=window_length,
            has_publication_window_length="pub-wnd" in uri,
            start=start,
            is_sparse=uri.get_bool("sparse", defaults.is_sparse),
            signal_eos=uri.get_bool("eos", True),
            spies_simulate_connection=uri.get_bool("ssc", defaults.spies_simulate_connection),
            response_correlation_id=_response_correlation_id(uri),
            untethered=UntetheredTimeouts.parse(uri, defaults),
            is_response=is_response,
            flow_control=uri.get("fc"),
        )
        if compares_sockets:
            sndbuf = SocketBuffer(endpoint.socket_sndbuf_length, defaults.socket_sndbuf_length)
            check_mtu_fits_socket(uri, mtu, sndbuf)
        return params


@frozen(slots=True, kw_only=True)
class SubscriptionParameters:
    """Parameters of a subscription, lengths in bytes."""

    endpoint: EndpointParameters
    is_reliable: bool
    is_sparse: bool
    is_tether: bool
    is_rejoin: bool
    group: Inferable
    group_tag: int | None
    session_id: int | None  # the only session to receive, None for any
    initial_window_length: int
    nak_delay_ns: int | None  # None for the driver's delay
    congestion_control: str | None  # text of `cc`, None for the driver's default
    untethered: UntetheredTimeouts
    is_response: bool

    @classmethod
    def parse(
        cls,
        uri: ChannelUri,
        defaults: SubscriptionDefaults,
        find_tagged: FindTagged | None = None,
        *,
        compares_sockets: bool = True,
    ) -> SubscriptionParameters:
        """Return the parameters of `uri`; `find_tagged` returns the network publication with an entity tag.

        Raises ChannelUriError for a wrong value or combination; with `compares_sockets`, also if the receive buffer of
        the socket is shorter than the initial window.
        """
        if uri.is_spy and uri.is_ipc:
            raise ChannelUriError(
                f"UDP channels must use UDP URIs: {str(uri)!r} cannot be spied upon: subscribe to aeron:ipc "
                "without aeron-spy:"
            )
        endpoint = EndpointParameters.parse(uri)
        # Keys of a receiver: as in the reference, their values are not even parsed for IPC and spies.
        has_receiver = not (uri.is_ipc or uri.is_spy)
        params = cls(
            endpoint=endpoint,
            is_reliable=uri.get_bool("reliable", defaults.is_reliable),
            is_sparse=uri.get_bool("sparse", defaults.is_sparse),
            is_tether=uri.get_bool("tether", defaults.is_tether),
            is_rejoin=uri.get_bool("rejoin", defaults.is_rejoin),
            group=_group(uri, defaults),
            session_id=wanted_session_id(uri, find_tagged),
            initial_window_length=uri.get_size("rcv-wnd", defaults.initial_window_length),
            is_response=endpoint.is_response,
            untethered=UntetheredTimeouts.parse(uri, defaults),
            group_tag=uri.get_int64("gtag", defaults.group_tag) if has_receiver else None,
            nak_delay_ns=uri.get_duration_ns("nak-delay", None) if has_receiver else None,
            congestion_control=uri.get("cc"),
        )
        if compares_sockets:
            rcvbuf = SocketBuffer(endpoint.socket_rcvbuf_length, defaults.socket_rcvbuf_length)
            check_window_fits_socket(uri, params.initial_window_length, rcvbuf)
        return params


def _check_control_has_company(uri: ChannelUri) -> None:
    if uri.is_udp and "control" in uri and "endpoint" not in uri and "control-mode" not in uri:
        raise ChannelUriError(
            f"'control' parameter requires that either 'endpoint' or 'control-mode' is specified, channel={uri}",
            ErrorCode.GENERIC_ERROR,
        )


def _term_length(uri: ChannelUri, tagged: TaggedPublication | None, defaults: PublicationDefaults) -> int:
    length = uri.get_size("term-length", None)
    if length is None:
        if tagged is not None:
            return tagged.term_length
        return defaults.ipc_term_length if uri.is_ipc else defaults.term_length
    text = None
    if length < wire.TERM_MIN_LENGTH:
        text = f"term length less than min length of {wire.TERM_MIN_LENGTH}: length={length}"
    elif length > wire.TERM_MAX_LENGTH:
        text = f"term length greater than max length of {wire.TERM_MAX_LENGTH}: length={length}"
    elif length & (length - 1):
        text = f"term length not a power of 2: length={length}"
    if text is not None:
        raise uri.error(text, f"term-length {TERM_LENGTH_ALLOWED}")
    return length


def _max_resend(uri: ChannelUri, defaults: PublicationDefaults) -> int:
    try:
        # As in the reference, the text of a size; but the number is one of retransmits, not of bytes.
        count = uri.get_size("max-resend", None)
    except ChannelUriError:
        raise uri.error(
            f"could not parse max-resend={uri.get('max-resend')} in URI",
            f"must be a number from 1 to {wire.MAX_RESEND_LIMIT}",
        ) from None
    if count is None:
        return defaults.max_resend
    if not 1 <= count <= wire.MAX_RESEND_LIMIT:
        raise ChannelUriError(
            f"invalid max-resend={count}, must be > 0 and <= {wire.MAX_RESEND_LIMIT}: channel={uri}",
            ErrorCode.GENERIC_ERROR,
        )
    return count


def _mtu(uri: ChannelUri, tagged: TaggedPublication | None, defaults: PublicationDefaults) -> int:
    length = uri.get_size("mtu", None)
    if length is None:
        if tagged is not None:
            return tagged.mtu
        return defaults.ipc_mtu if uri.is_ipc else defaults.mtu
    text = None
    if not wire.DATA_HEADER_LENGTH < length <= wire.MAX_UDP_PAYLOAD_LENGTH:
        text = f"mtuLength must be a > HEADER_LENGTH and <= MAX_UDP_PAYLOAD_LENGTH: mtuLength={length}"
    elif length % wire.FRAME_ALIGNMENT:
        text = f"mtuLength must be a multiple of FRAME_ALIGNMENT: mtuLength={length}"
    if text is not None:
        raise uri.error(text, f"mtu {MTU_ALLOWED}")
    return length


def _publication_window_length(
    uri: ChannelUri, mtu: int, term_length: int, defaults: PublicationDefaults
) -> int:
    half_term_length = term_length // 2
    length = uri.get_size("pub-wnd", None)
    if length is None:
        window = defaults.ipc_publication_window_length if uri.is_ipc else defaults.publication_window_length
        return min(window, half_term_length) if window else half_term_length
    if length < mtu:
        raise ChannelUriError(
            f"pub-wnd={length} cannot be less than the mtu={mtu}: must be from {mtu} to half the "
            f"term-length={term_length}: channel={uri}",
            ErrorCode.GENERIC_ERROR,
        )
    if length > half_term_length:
        raise ChannelUriError(
            f"pub-wnd={length} must not exceed half the term-length={term_length}: must be from the "
            f"mtu={mtu} to {half_term_length}: channel={uri}",
            ErrorCode.GENERIC_ERROR,
        )
    return length


def _response_correlation_id(uri: ChannelUri) -> int:
    if uri.get("response-correlation-id") == "prototype":
        return PROTOTYPE_CORRELATION_ID
    try:
        correlation_id = uri.get_int64("response-correlation-id", NULL_CORRELATION_ID)
    except ChannelUriError:
        correlation_id = PROTOTYPE_CORRELATION_ID
    if correlation_id < NULL_CORRELATION_ID:
        raise ChannelUriError(
            f"invalid response-correlation-id, must be a number greater than or equal to -1, or 'prototype': "
            f"channel={uri}",
            ErrorCode.GENERIC_ERROR,
        )
    return correlation_id


def _group(uri: ChannelUri, defaults: SubscriptionDefaults) -> Inferable:
    text = uri.get("group")
    if text is None:
        return defaults.group
    # As in the reference: any text other than true and infer counts as false.
    return {"true": Inferable.TRUE, "infer": Inferable.INFER}.get(text, Inferable.FALSE)

"""Settings: defaults of streams."""

from typing import Annotated

from aeron_core._native import wire
from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.timeouts import MS, US
from aeron_core.settings.variables import Choice, Duration, Integer, Switch
from aeron_core.uri.defaults import Inferable
from aeron_core.uri.values import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN


class StreamSettings(SettingsFields):
    """Subscriptions, retransmits, NAKs and session ids."""

    reliable_stream: Annotated[bool, Switch("AERON_RELIABLE_STREAM")] = setting(
        True, description="Request retransmission of lost data; false fills gaps with padding."
    )
    tether_subscriptions: Annotated[bool, Switch("AERON_TETHER_SUBSCRIPTIONS")] = setting(
        True, description="Let a slow subscriber limit its stream."
    )
    rejoin_stream: Annotated[bool, Switch("AERON_REJOIN_STREAM")] = setting(
        True, description="Let a subscription rejoin a stream after it became unavailable."
    )
    spies_simulate_connection: Annotated[bool, Switch("AERON_SPIES_SIMULATE_CONNECTION")] = setting(
        False, description="Treat a publication that has only spies as connected."
    )
    receiver_group_consideration: Annotated[
        Inferable, Choice("AERON_RECEIVER_GROUP_CONSIDERATION", Inferable, Inferable.FALSE)
    ] = setting(
        Inferable.INFER,
        description="Whether a receiver assumes other receivers of the stream: true, false or infer.",
    )
    receiver_group_tag: Annotated[
        int | None, Integer("AERON_RECEIVER_GROUP_TAG", INT64_MIN, INT64_MAX, optional=True)
    ] = setting(None, description="Group tag in status messages; default: none.")
    max_resend: Annotated[int, Integer("AERON_MAX_RESEND", 1, wire.MAX_RESEND_LIMIT, is_long=True)] = setting(
        16, description="Maximum active retransmits of one publication."
    )
    retransmit_unicast_delay_ns: Annotated[int, Duration("AERON_RETRANSMIT_UNICAST_DELAY")] = setting(
        0, description="Delay between a NAK and its retransmit."
    )
    retransmit_unicast_linger_ns: Annotated[int, Duration("AERON_RETRANSMIT_UNICAST_LINGER", US)] = setting(
        10 * MS, description="Time for which further NAKs for the same loss are ignored."
    )
    nak_multicast_group_size: Annotated[
        int, Integer("AERON_NAK_MULTICAST_GROUP_SIZE", 1, INT32_MAX, is_unsigned=True)
    ] = setting(10, description="Estimated receivers of a group, for the random delay of their NAKs.")
    nak_multicast_max_backoff_ns: Annotated[int, Duration("AERON_NAK_MULTICAST_MAX_BACKOFF", US)] = setting(
        10 * MS, description="Maximum delay of a NAK of a receiver in a group."
    )
    nak_unicast_delay_ns: Annotated[int, Duration("AERON_NAK_UNICAST_DELAY", US)] = setting(
        1 * US, description="Delay of a NAK of a single receiver."
    )
    nak_unicast_retry_delay_ratio: Annotated[
        int, Integer("AERON_NAK_UNICAST_RETRY_DELAY_RATIO", 1, INT64_MAX)
    ] = setting(100, description="Delay of a repeated NAK, as a multiple of nak_unicast_delay_ns.")
    publication_reserved_session_id_low: Annotated[
        int, Integer("AERON_PUBLICATION_RESERVED_SESSION_ID_LOW", INT32_MIN, INT32_MAX)
    ] = setting(-1, description="First session id that the driver never chooses.")
    publication_reserved_session_id_high: Annotated[
        int, Integer("AERON_PUBLICATION_RESERVED_SESSION_ID_HIGH", INT32_MIN, INT32_MAX)
    ] = setting(1000, description="Last session id that the driver never chooses.")
    stream_session_limit: Annotated[int, Integer("AERON_DRIVER_STREAM_SESSION_LIMIT", 1, INT32_MAX)] = (
        setting(INT32_MAX, description="Maximum sessions of one stream of a receive endpoint.")
    )
    awaited_images_limit: Annotated[int, Integer("AERON_CORE_AWAITED_IMAGES_LIMIT", 1, INT32_MAX)] = setting(
        128,
        description="Maximum images that wait for their first data, of all streams: a SETUP is easily forged, and "
        "its image takes about 50 KiB of memory in the driver and 40 KiB in each client.",
    )
    awaited_images_source_limit: Annotated[
        int, Integer("AERON_CORE_AWAITED_IMAGES_SOURCE_LIMIT", 1, INT32_MAX)
    ] = setting(
        32, description="Maximum images of awaited_images_limit from one IPv4 address or IPv6 /64 network."
    )
    images_limit: Annotated[int, Integer("AERON_CORE_IMAGES_LIMIT", 1, INT32_MAX)] = setting(
        8192,
        description="Maximum images of datagram channels, of all streams: data is forged as easily as a SETUP.",
    )
    images_source_limit: Annotated[int, Integer("AERON_CORE_IMAGES_SOURCE_LIMIT", 1, INT32_MAX)] = setting(
        4096, description="Maximum images of images_limit from one IPv4 address or IPv6 /64 network."
    )
    resource_free_limit: Annotated[
        int, Integer("AERON_DRIVER_RESOURCE_FREE_LIMIT", 1, INT32_MAX, is_long=True)
    ] = setting(1, description="Maximum log buffers freed in one duty cycle.")

"""Settings: timeouts and intervals of the driver."""

from typing import Annotated, Final

from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.variables import Duration

US: Final = 1_000
MS: Final = 1_000_000
S: Final = 1_000_000_000


class TimeoutSettings(SettingsFields):
    """Timeouts, intervals and thresholds of stalls, in nanoseconds."""

    client_liveness_timeout_ns: Annotated[int, Duration("AERON_CLIENT_LIVENESS_TIMEOUT", US)] = setting(
        10 * S,
        description="Time without a keepalive after which a client counts as dead; more than timer_interval_ns.",
    )
    publication_unblock_timeout_ns: Annotated[int, Duration("AERON_PUBLICATION_UNBLOCK_TIMEOUT", US)] = (
        setting(
            15 * S,
            description="Age at which an unfinished claim is unblocked; more than client_liveness_timeout_ns.",
        )
    )
    publication_connection_timeout_ns: Annotated[
        int, Duration("AERON_PUBLICATION_CONNECTION_TIMEOUT", US)
    ] = setting(
        5 * S, description="Time without a status message after which a publication is no longer connected."
    )
    publication_linger_timeout_ns: Annotated[int, Duration("AERON_PUBLICATION_LINGER_TIMEOUT", US)] = setting(
        5 * S, description="Time for which a drained publication remains available for retransmits."
    )
    image_liveness_timeout_ns: Annotated[int, Duration("AERON_IMAGE_LIVENESS_TIMEOUT", US)] = setting(
        10 * S, description="Time without data or heartbeats after which an image counts as dead."
    )
    timer_interval_ns: Annotated[int, Duration("AERON_TIMER_INTERVAL", US)] = setting(
        1 * S, description="Interval of the conductor's checks and of the driver's heartbeat."
    )
    counters_free_to_reuse_timeout_ns: Annotated[int, Duration("AERON_COUNTERS_FREE_TO_REUSE_TIMEOUT")] = (
        setting(1 * S, description="Time before the id of a freed counter is reused.")
    )
    rcv_status_message_timeout_ns: Annotated[int, Duration("AERON_RCV_STATUS_MESSAGE_TIMEOUT", US)] = setting(
        200 * MS, description="Maximum interval between status messages of a receiver."
    )
    untethered_window_limit_timeout_ns: Annotated[int, Duration("AERON_UNTETHERED_WINDOW_LIMIT_TIMEOUT")] = (
        setting(
            5 * S,
            description="Time for which an untethered subscriber may limit its stream; more than timer_interval_ns.",
        )
    )
    untethered_linger_timeout_ns: Annotated[
        int | None, Duration("AERON_UNTETHERED_LINGER_TIMEOUT", optional=True)
    ] = setting(
        None,
        description="Time for which an untethered subscriber lingers; default: untethered_window_limit_timeout_ns.",
    )
    untethered_resting_timeout_ns: Annotated[int, Duration("AERON_UNTETHERED_RESTING_TIMEOUT")] = setting(
        10 * S, description="Time for which an untethered subscriber rests; more than timer_interval_ns."
    )
    conductor_cycle_threshold_ns: Annotated[int, Duration("AERON_DRIVER_CONDUCTOR_CYCLE_THRESHOLD")] = (
        setting(100 * MS, description="Duration above which a duty cycle of the conductor counts as a stall.")
    )
    sender_cycle_threshold_ns: Annotated[int, Duration("AERON_DRIVER_SENDER_CYCLE_THRESHOLD")] = setting(
        100 * MS, description="Duration above which a duty cycle of the sender counts as a stall."
    )
    receiver_cycle_threshold_ns: Annotated[int, Duration("AERON_DRIVER_RECEIVER_CYCLE_THRESHOLD")] = setting(
        100 * MS, description="Duration above which a duty cycle of the receiver counts as a stall."
    )
    name_resolver_threshold_ns: Annotated[int, Duration("AERON_DRIVER_NAME_RESOLVER_THRESHOLD")] = setting(
        5 * S, description="Duration above which a name resolution counts as a stall."
    )

"""Timeouts of untethered subscribers, from a channel URI or the driver's defaults.

Source: aeron_driver_uri.c (aeron_driver_uri_subscription_params).
"""

from __future__ import annotations

from aeron_core.frozen import frozen
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults


@frozen(slots=True)
class UntetheredTimeouts:
    """Timeouts of an untethered subscriber: while at the window limit, while lingering, and while resting."""

    window_limit_timeout_ns: int
    linger_timeout_ns: int
    resting_timeout_ns: int

    @classmethod
    def parse(
        cls, uri: ChannelUri, defaults: PublicationDefaults | SubscriptionDefaults
    ) -> UntetheredTimeouts:
        """Return the timeouts of a publication or subscription; raise ChannelUriError for a wrong duration.

        If neither the URI nor the defaults have a linger timeout, it is the window limit timeout. In the URI, 0 counts
        as none.
        """
        window_limit_timeout_ns = uri.get_duration_ns(
            "untethered-window-limit-timeout", defaults.untethered_window_limit_timeout_ns
        )
        linger_timeout_ns = uri.get_duration_ns("untethered-linger-timeout", 0)
        if not linger_timeout_ns:
            default_ns = defaults.untethered_linger_timeout_ns
            linger_timeout_ns = window_limit_timeout_ns if default_ns is None else default_ns
        resting_timeout_ns = uri.get_duration_ns(
            "untethered-resting-timeout", defaults.untethered_resting_timeout_ns
        )
        return cls(window_limit_timeout_ns, linger_timeout_ns, resting_timeout_ns)

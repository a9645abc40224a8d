"""Defaults for channel URIs, taken from the driver's settings.

Source: aeron_driver_context.c, aeron_driver_uri.c.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from aeron_core.frozen import frozen

_SECOND_NS: Final = 1_000_000_000


class Inferable(Enum):
    """Value of `group`: a boolean, or INFER for the driver to decide."""

    FALSE = "false"
    TRUE = "true"
    INFER = "infer"


@frozen(slots=True)
class TaggedPublication:
    """The values that `session-id=tag:<entity tag>` copies from another network publication; lengths are bytes."""

    session_id: int
    mtu: int
    term_length: int


@frozen(slots=True)
class PublicationDefaults:
    """Values for keys missing from a publication's URI; the defaults are the reference driver's. Lengths are bytes."""

    term_length: int = 16 * 1024 * 1024
    ipc_term_length: int = 64 * 1024 * 1024
    mtu: int = 1408
    ipc_mtu: int = 1408
    publication_window_length: int = 0  # 0 for half a term
    ipc_publication_window_length: int = 0  # 0 for half a term
    linger_timeout_ns: int = 5 * _SECOND_NS
    untethered_window_limit_timeout_ns: int = 5 * _SECOND_NS
    untethered_linger_timeout_ns: int | None = None  # None for the window limit timeout
    untethered_resting_timeout_ns: int = 10 * _SECOND_NS
    max_resend: int = 16
    is_sparse: bool = True
    spies_simulate_connection: bool = False
    socket_sndbuf_length: int = 0  # 0 for the operating system's default


@frozen(slots=True)
class SubscriptionDefaults:
    """Values for keys missing from a subscription's URI; the defaults are the reference driver's. Lengths are bytes."""

    is_reliable: bool = True
    is_sparse: bool = True
    is_tether: bool = True
    is_rejoin: bool = True
    group: Inferable = Inferable.INFER
    group_tag: int | None = None
    initial_window_length: int = 128 * 1024
    socket_rcvbuf_length: int = 128 * 1024  # 0 for the operating system's default
    untethered_window_limit_timeout_ns: int = 5 * _SECOND_NS
    untethered_linger_timeout_ns: int | None = None  # None for the window limit timeout
    untethered_resting_timeout_ns: int = 10 * _SECOND_NS

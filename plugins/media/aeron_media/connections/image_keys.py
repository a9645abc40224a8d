"""Checks of the URI keys that set the memory layout of images: `term-length`, `mtu`, `rcv-wnd`.

Not here: filling the images (`image_feed`).
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import positions, wire
from aeron_core.errors import ConfigurationError
from aeron_core.logbuffer.limits import check_mtu_length, check_term_length
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.parameters import MTU_ALLOWED, TERM_LENGTH_ALLOWED

#: Invented: enough for short messages with any mtu.
MIN_WINDOW_LENGTH: Final = 4096


def check_image_keys(uri: ChannelUri, *, term_length: int, mtu: int, receiver_window: int | None) -> None:
    """Raise ChannelUriError if one of the lengths, in bytes, is not allowed for images."""
    try:
        check_term_length(term_length)
    except ConfigurationError as error:
        raise uri.fault("term-length", TERM_LENGTH_ALLOWED) from error
    try:
        check_mtu_length(mtu)
    except ConfigurationError as error:
        raise uri.fault("mtu", MTU_ALLOWED) from error
    if receiver_window is not None and receiver_window < MIN_WINDOW_LENGTH:
        raise uri.fault(
            "rcv-wnd",
            f"must be at least {MIN_WINDOW_LENGTH} bytes; more than half of term-length= counts as half of it",
        )


def longest_message(term_length: int, mtu: int, receiver_window: int | None) -> int:
    """Return the length in bytes of the longest message that fits at any offset of a term.

    It fits once subscribers have consumed the messages before it. `receiver_window` None is half a term.
    """
    window = min(receiver_window or term_length, term_length // 2)
    # A message never spans two terms: padding nearly as long as its frames may have to precede it.
    frames, rest = divmod(window // 2, mtu)
    payload_length = frames * (mtu - wire.DATA_HEADER_LENGTH)
    payload_length += max((rest & -wire.FRAME_ALIGNMENT) - wire.DATA_HEADER_LENGTH, 0)
    return min(positions.max_message_length(term_length), payload_length)

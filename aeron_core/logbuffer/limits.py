"""Checks of the lengths that make up a log, in bytes; the limits are constants of `_native.wire`."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core.errors import ConfigurationError


def check_term_length(term_length: int) -> int:
    """Return `term_length`; raise ConfigurationError unless it is a power of two from 64k to 1g bytes."""
    # A power of two, because positions are split into term count and term offset by shift and mask.
    return _check_power_of_two("term length", term_length, wire.TERM_MIN_LENGTH, wire.TERM_MAX_LENGTH)


def check_page_size(page_size: int) -> int:
    """Return `page_size`; raise ConfigurationError unless it is a power of two from 4k to 1g bytes."""
    return _check_power_of_two("page size", page_size, wire.PAGE_MIN_SIZE, wire.PAGE_MAX_SIZE)


def check_mtu_length(mtu_length: int) -> int:
    """Return `mtu_length`, in bytes; raise ConfigurationError unless it is a multiple of 32 from 64 to 65504."""
    low, high = wire.MIN_MTU_LENGTH, wire.MAX_UDP_PAYLOAD_LENGTH
    if not low <= mtu_length <= high or mtu_length % wire.FRAME_ALIGNMENT:
        raise ConfigurationError(
            f"mtu={mtu_length}: must be a multiple of {wire.FRAME_ALIGNMENT} from {low} to {high} bytes"
        )
    return mtu_length


def check_term_offset(term_offset: int, term_length: int) -> int:
    """Return `term_offset`; raise ConfigurationError unless it is a multiple of 32 bytes from 0 to `term_length`."""
    # The end is allowed: in a full term, the first offer rotates the log.
    if not 0 <= term_offset <= term_length or term_offset % wire.FRAME_ALIGNMENT:
        raise ConfigurationError(
            f"term offset={term_offset}: must be a multiple of {wire.FRAME_ALIGNMENT} from 0 to {term_length} bytes"
        )
    return term_offset


def _check_power_of_two(name: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high or value & (value - 1):
        raise ConfigurationError(f"{name}={value}: must be a power of two from {low} to {high} bytes")
    return value

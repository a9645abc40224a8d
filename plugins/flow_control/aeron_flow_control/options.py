"""What stands behind a strategy's name in `fc=`: `key:value`, separated by commas."""

from __future__ import annotations

from collections.abc import Sequence

from aeron_core.errors import ChannelUriError


def parse_options(text: str, *, allowed: Sequence[str], channel: str) -> dict[str, int]:
    """Return the numeric options by key; raises ChannelUriError for any other."""
    options: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition(":")
        if key not in allowed or not separator:
            raise ChannelUriError(
                f"fc option {part!r} in {channel}: must be one of {', '.join(f'{name}:<number>' for name in allowed)}"
            )
        if not value.isdigit() or int(value) < 1:
            raise ChannelUriError(f"fc option {part!r} in {channel}: must be a number from 1 on")
        options[key] = int(value)
    return options

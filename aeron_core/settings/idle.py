"""Arguments of idle strategies, as text such as `10-20-1us-1ms`.

Source: aeron_agent.c (aeron_idle_strategy_backoff_state_init_args, aeron_idle_strategy_sleeping_init_args).
"""

from __future__ import annotations

import re
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri import values

DEFAULT_SLEEP_NS: Final = 1
_BACKOFF: Final = re.compile(r"([0-9]{1,16})-([0-9]{1,16})-([0-9]+(?:[mun]?s)?)-([0-9]+(?:[mun]?s)?)")


@frozen(slots=True)
class BackoffArgs:
    """Limits of a backoff strategy: spins, then yields, then parks for increasing times."""

    max_spins: int = 10
    max_yields: int = 20
    min_park_ns: int = 1_000
    max_park_ns: int = 1_000_000


def parse_backoff_args(text: str | None) -> BackoffArgs:
    """Parse `spins-yields-minPark-maxPark`; return the reference's defaults for None.

    A park time without a unit is nanoseconds. Raises ConfigurationError for text of another form.
    """
    if text is None:
        return BackoffArgs()
    match = _BACKOFF.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"{text!r}: must be spins-yields-minPark-maxPark, counts of at most 16 digits and times in ns, us, ms or "
            "s, such as 10-20-1us-1ms"
        )
    spins, yields, min_park, max_park = match.groups()
    return BackoffArgs(
        int(spins), int(yields), values.parse_duration_ns(min_park), values.parse_duration_ns(max_park)
    )


def parse_sleep_ns(text: str | None) -> int:
    """Return the sleep of a sleeping strategy in nanoseconds, the reference's default of 1 for None.

    Raises ConfigurationError for text that is no duration.
    """
    return DEFAULT_SLEEP_NS if text is None else values.parse_duration_ns(text)

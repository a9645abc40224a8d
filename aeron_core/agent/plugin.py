"""Plugin of the core itself: idle strategies, thread placement, and closing at exit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from aeron_core.agent.at_exit import DRIVER, close_at_exit
from aeron_core.agent.idle_strategies import (
    BackoffIdleStrategy,
    NoOpIdleStrategy,
    SignalIdleStrategy,
    SleepIdleStrategy,
    SpinIdleStrategy,
    YieldIdleStrategy,
)
from aeron_core.agent.placement import place_threads
from aeron_core.settings.idle import parse_backoff_args, parse_sleep_ns
from aeron_core.spi.hookspecs import IdleStrategyFactory, hookimpl
from aeron_core.spi.idle_strategy import IdleStrategy, IdleStrategyParams

# Maximum wait without a signal. Invented: an idle thread then wakes up less than a hundred times per second.
SIGNAL_BOUND_NS: Final = 16_000_000


def _sleep(params: IdleStrategyParams) -> IdleStrategy:
    return SleepIdleStrategy(parse_sleep_ns(params.options or None))


def _backoff(params: IdleStrategyParams) -> IdleStrategy:
    args = parse_backoff_args(params.options or None)
    return BackoffIdleStrategy(args.max_spins, args.max_yields, args.min_park_ns, args.max_park_ns)


def _signal(params: IdleStrategyParams) -> IdleStrategy:
    bound_ns = parse_sleep_ns(params.options) if params.options else SIGNAL_BOUND_NS
    return SignalIdleStrategy(params.signal_name or f"/aeron-core-{os.getpid()}-{params.agent}", bound_ns)


@hookimpl
def aeron_idle_strategies() -> Mapping[str, IdleStrategyFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {
        "noop": lambda _: NoOpIdleStrategy(),
        "spin": lambda _: SpinIdleStrategy(),
        "yield": lambda _: YieldIdleStrategy(),
        "sleep-ns": _sleep,
        "sleeping": _sleep,
        "backoff": _backoff,
        "signal": _signal,
    }


@hookimpl
def aeron_driver_started(driver: Any) -> None:
    """See `aeron_core.spi.hookspecs`."""
    place_threads(driver._runners, driver._settings)
    close_at_exit(driver.close, DRIVER)

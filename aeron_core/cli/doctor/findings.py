"""Findings: what a check has found, what a driver wants, and how to change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from aeron_core.cli.doctor.machine import Machine

if TYPE_CHECKING:
    from aeron_core.settings.driver import DriverFields
    from aeron_core.uri.channel_uri import ChannelUri


class Health(StrEnum):
    """Result of a check: `problem` stops a driver or a given channel, `advice` costs performance or safety."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report, as text for users."""

    what: str
    found: str
    wanted: str = ""
    health: Health = Health.OK
    #: How to change what was found; shown unless the health is OK.
    change: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """What is examined: a machine, for a driver with these settings and for these channels."""

    machine: Machine
    settings: DriverFields
    channels: list[ChannelUri] = field(default_factory=list)


Check = Callable[[Examination], Iterator[Finding]]


def judged(what: str, found: str, wanted: str, change: str, *, is_good: bool) -> Finding:
    """Return a finding that is OK if `is_good`, else advice."""
    return Finding(what, found, wanted, Health.OK if is_good else Health.ADVICE, change)


def unknown(what: str, why: str, wanted: str = "", change: str = "") -> Finding:
    """Return a finding about a fact that cannot be read; `why` names its source."""
    return Finding(what, why, wanted, Health.UNKNOWN, change)

"""Observation of media drivers: finds them, reads their counters, and determines what holds a stream back.

    drivers = find_drivers()                            # directories of drivers on this machine, alive or dead
    observer = DriverObserver(drivers[0].aeron_dir)
    first = observer.snapshot()                         # counters, streams, clients, errors, losses at one time
    second = observer.snapshot()
    rates_between(first, second)                        # bytes per second of each party
    limitations(second, first)                          # for each log, the party that limits it, also as a sentence

`CounterHistoryWriter` stores snapshots in a file, and `CounterHistory` returns them; both need pyarrow.
Only files are read: nothing is written, no command is sent, and drivers of Aeron in C or Java are read like ours.
Functions of this package may run on any thread; a `DriverObserver` is for one thread at a time.
The names are imported at first use: commands need only parts of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aeron_core.observation.clients import ObservedClient as ObservedClient
    from aeron_core.observation.counter_fields import fields_of as fields_of
    from aeron_core.observation.drivers import DriverState as DriverState
    from aeron_core.observation.drivers import find_drivers as find_drivers
    from aeron_core.observation.history import CounterHistory as CounterHistory
    from aeron_core.observation.history_writer import CounterHistoryWriter as CounterHistoryWriter
    from aeron_core.observation.limitation import Limitation as Limitation
    from aeron_core.observation.limitation import Party as Party
    from aeron_core.observation.limits import limitations as limitations
    from aeron_core.observation.log_parameters import LogParameters as LogParameters
    from aeron_core.observation.rates import CounterRates as CounterRates
    from aeron_core.observation.rates import rates_between as rates_between
    from aeron_core.observation.snapshots import DriverObserver as DriverObserver
    from aeron_core.observation.snapshots import DriverSnapshot as DriverSnapshot
    from aeron_core.observation.streams import ReceivedStream as ReceivedStream
    from aeron_core.observation.streams import SentStream as SentStream
    from aeron_core.observation.streams import StreamKind as StreamKind
    from aeron_core.observation.streams import StreamSession as StreamSession
    from aeron_core.observation.streams import Subscriber as Subscriber
    from aeron_core.observation.streams import streams_of as streams_of

#: Module of each name.
_HOMES: Final = {
    "CounterHistory": "history",
    "CounterHistoryWriter": "history_writer",
    "CounterRates": "rates",
    "DriverObserver": "snapshots",
    "DriverSnapshot": "snapshots",
    "DriverState": "drivers",
    "Limitation": "limitation",
    "LogParameters": "log_parameters",
    "ObservedClient": "clients",
    "Party": "limitation",
    "ReceivedStream": "streams",
    "SentStream": "streams",
    "StreamKind": "streams",
    "StreamSession": "streams",
    "Subscriber": "streams",
    "fields_of": "counter_fields",
    "find_drivers": "drivers",
    "limitations": "limits",
    "rates_between": "rates",
    "streams_of": "streams",
}

__all__ = [*_HOMES]  # noqa: PLE0604 - all strings


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: must be one of {', '.join(__all__)}"
        )
    return getattr(import_module(f"{__name__}.{home}"), name)

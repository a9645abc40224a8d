"""Reference page of `aeron_core.observation`, generated from its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from client_page import Source, rendered

from aeron_core import observation

#: Headings of the page, with modules and their documented names.
SECTIONS: Final = {
    "Drivers": {"drivers": ("find_drivers", "DriverState")},
    "Snapshots": {
        "snapshots": ("DriverObserver", "DriverSnapshot"),
        "counter_fields": ("fields_of",),
        "clients": ("ObservedClient",),
        "log_parameters": ("LogParameters",),
    },
    "Streams": {
        "streams": (
            "streams_of",
            "StreamSession",
            "SentStream",
            "ReceivedStream",
            "Subscriber",
            "StreamKind",
        ),
    },
    "Rates": {"rates": ("rates_between", "CounterRates")},
    "Histories": {
        "history_writer": ("CounterHistoryWriter",),
        "history": ("CounterHistory",),
    },
}
LIMITS: Final = ("limitations", "Limitation", "Party")


def observation_page() -> Iterator[str]:
    """Yield the page."""
    _, example, *rest = (observation.__doc__ or "").strip().split("\n\n")
    yield "# Observation\n"
    yield (
        "`aeron_core.observation` finds media drivers, reads their counters, and determines what holds a stream "
        "back.\n"
    )
    # Two spaces before a comment, as ruff formats examples.
    lines = "\n".join(re.sub(r" {2,}#", "  #", line.strip()) for line in example.splitlines())
    yield f"```python\nfrom aeron_core.observation import *\n\n{lines}\n```\n"
    for paragraph in rest:
        yield " ".join(paragraph.split()) + "\n"
    yield "See also [record and plot counters](../how-to/record-and-plot-counters.md).\n"
    for title, modules in SECTIONS.items():
        yield f"## {title}\n"
        for module, names in modules.items():
            source = Source(f"observation.{module}")
            for name in names:
                yield from rendered(source.describe(name))
    yield "## Limits\n"
    limits = Source("observation.limits")
    yield f"```text\n{limits.doc.partition(chr(10) * 2)[2]}\n```\n"
    for name in LIMITS:
        yield from rendered(limits.describe(name))
    yield "## Columns of a history\n"
    yield f"```text\n{Source('observation.history_format').doc.partition(chr(10) * 2)[2]}\n```\n"

"""Text of a distinct error log, as the tools of the reference print it and its C driver saves it.

Source: error_stat.c; aeron_driver.c, error_log_reader_save_to_file; aeron_strutil.c, aeron_format_date.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from aeron_core.concurrent.error_log import ErrorRecord


def date_of(epoch_ms: int) -> str:
    """Return a time such as `2024-01-31 12:00:00.123+0100`, in the time zone of this machine."""
    seconds, milliseconds = divmod(epoch_ms, 1000)
    moment = time.localtime(seconds)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', moment)}.{milliseconds:03d}{time.strftime('%z', moment)}"


def lines_of(records: Sequence[ErrorRecord]) -> Iterator[str]:
    """Yield the lines of a report; counts of 1 have the plural too, because scripts match the reference's text."""
    for record in records:
        first, last = date_of(record.first_observation_ms), date_of(record.last_observation_ms)
        yield "***"
        yield f"{record.observation_count} observations from {first} to {last} for:"
        yield f" {record.line}"
    yield ""
    yield f"{len(records)} distinct errors observed."

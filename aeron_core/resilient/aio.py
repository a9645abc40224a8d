"""The asyncio interface of a resilient client: its events. The functions of `aeron_core.aio` work with it, too.

async for event in aeron_core.resilient.aio.events(aeron): ...
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from aeron_core.aio import Backoff

if TYPE_CHECKING:
    from aeron_core.resilient.aeron import ResilientAeron
    from aeron_core.resilient.events import Event

# Invented: events are rare, and a loss takes longer than this to be detected.
_MAX_SLEEP_S: Final = 0.05


async def events(aeron: ResilientAeron, *, max_sleep_s: float = _MAX_SLEEP_S) -> AsyncIterator[Event]:
    """Yield the events of the client from the first step on, until the client is closed.

    Those that are not yet yielded when the client closes or gives up are yielded before the iteration ends.
    """
    # The thread of the client appends, and the event loop removes: a deque allows both without a lock.
    arrived: deque[Event] = deque()
    aeron.add_event_handler(arrived.append)
    backoff = Backoff(max_sleep_s)
    try:
        while True:
            # Read this before the events: those of the close come first.
            has_ended = aeron.is_closed and not aeron._supervisor.is_giving_up
            while arrived:
                backoff.reset()
                yield arrived.popleft()
            if has_ended:
                return
            await backoff.idle()
    finally:
        aeron.remove_event_handler(arrived.append)

"""The real C client (by pyaeron), which echoes messages.

    c_echo.py DIR CHANNEL STREAM COUNT

Prints `ready`, then the number of echoed messages when it is COUNT, and runs until killed.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque

import pyaeron

DEADLINE_S = 60


def echo(directory: str, channel: str, stream_id: int, count: int) -> None:
    pending: deque[bytes] = deque()
    answered = 0

    def on_message(buffer: pyaeron.BufferView, header: pyaeron.Header) -> None:
        pending.append(buffer.tobytes())

    with pyaeron.Aeron(dir=directory) as aeron:
        subscription = aeron.add_subscription(channel, stream_id)
        publication = aeron.add_exclusive_publication(channel, stream_id)
        print("ready", flush=True)
        publication.await_connected(DEADLINE_S)
        idle = pyaeron.IdleStrategy.backoff()
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            idle.idle(subscription.poll(on_message, 50))
            while pending and publication.offer(pending[0]):
                pending.popleft()
                answered += 1
                if answered == count:
                    print(json.dumps({"answered": answered}), flush=True)


if __name__ == "__main__":
    echo(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

"""The real C client (by pyaeron), subscribed to events.

    c_client.py DIR CHANNEL STREAM COUNT

Prints `ready`, then the messages when COUNT have arrived, and runs until killed.
"""

from __future__ import annotations

import json
import sys

import pyaeron


def subscribe(directory: str, channel: str, stream_id: int, count: int) -> None:
    payloads: list[str] = []

    def on_message(buffer: pyaeron.BufferView, header: pyaeron.Header) -> None:
        payloads.append(buffer.tobytes().decode())
        if len(payloads) == count:
            print(json.dumps({"payloads": payloads}), flush=True)

    with pyaeron.Aeron(dir=directory) as aeron:
        subscription = aeron.add_subscription(channel, stream_id)
        print("ready", flush=True)
        idle = pyaeron.IdleStrategy.backoff()
        while True:
            idle.idle(subscription.poll(on_message, 50))


if __name__ == "__main__":
    subscribe(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

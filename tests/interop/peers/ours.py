"""Our client, in a process of its own; the same commands as `foreign.py`, without `driver`."""

from __future__ import annotations

import json
import sys
import time

from messages import Checksum, message

import aeron_core

DEADLINE_S = 120


def send(
    directory: str, channel: str, stream_id: int, count: int, kind: str = "concurrent"
) -> dict[str, object]:
    with aeron_core.connect(directory) as aeron:
        add = aeron.add_exclusive_publication if kind == "exclusive" else aeron.add_publication
        publication = add(channel, stream_id)
        print("ready", flush=True)
        publication.await_connected(timeout=60)
        deadline = time.monotonic() + DEADLINE_S
        for index in range(count):
            data = message(index)
            while publication.offer(data) < 0:
                if time.monotonic() > deadline:
                    return {"sent": index, "error": "deadline"}
                time.sleep(0.00005)
        publication.close()
    return {"sent": count}


def receive(directory: str, channel: str, stream_id: int, count: int) -> dict[str, object]:
    checksum = Checksum()
    received = 0
    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription(channel, stream_id)
        print("ready", flush=True)
        deadline = time.monotonic() + DEADLINE_S
        while received < count and time.monotonic() < deadline:
            batch = subscription.poll_batch()
            for data in batch:
                checksum.add(bytes(data))
                received += 1
            if not len(batch):
                time.sleep(0.00005)
    return {"received": received, "checksum": checksum.hexdigest()}


if __name__ == "__main__":
    command, directory, *rest = sys.argv[1:]
    action = send if command == "send" else receive
    print(json.dumps(action(directory, rest[0], int(rest[1]), int(rest[2]), *rest[3:])), flush=True)

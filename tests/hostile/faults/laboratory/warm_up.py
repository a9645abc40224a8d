"""A client that fills the queues between the agents of a driver: `warm_up.py DIR`. See docs/explanation/memory.md.

The kernel provides a page of them when it is first used, so that a driver with few commands grows for an hour, which no
slope distinguishes from a leak. Each stream here is a command and an event at least: one of the sender for IPC, one of
the receiver for UDP. After 4,500 of each, the drivers' memory stays the same to the page.
"""

from __future__ import annotations

import shutil
import sys
import time

import aeron_core

STREAMS = 4_500  # more than the 4,096 events of a queue
IPC = "aeron:ipc?term-length=64k|linger=0s"
SPACE = 8 << 20  # bytes of the disk in memory that are left to the other clients
UDP = "aeron:udp?endpoint=localhost:20201"


def main(directory: str) -> None:
    with aeron_core.connect(directory) as aeron, aeron.add_subscription(UDP, 1):
        for _ in range(STREAMS):
            while shutil.disk_usage(directory).free < SPACE:
                time.sleep(0.05)  # until the driver has deleted the logs of closed publications
            aeron.add_publication(IPC, 2).close()
            # The endpoint exists, so that no socket is opened.
            aeron.add_subscription(UDP, 2).close()


if __name__ == "__main__":
    main(*sys.argv[1:])

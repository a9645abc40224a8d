"""Processor time of sealed datagrams beside the cipher alone; run as a program by `run.py`.

    sealing.py ours|openssl LENGTH SECONDS

`ours` sends datagrams of LENGTH bytes over loopback on one thread, sealed and plain in turn; what the sealed ones take
more is for sealing and opening each byte once. `openssl` runs `openssl speed`. Both print megabytes per second of the
processor for one operation.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aeron_security.key_files import write_secret

sys.path.insert(0, str(Path(__file__).parents[1]))
from udp_endpoints import Loop

SEGMENTS_LENGTH = 60_000
CIPHER = "aes-128-gcm"
TURNS = 20


def seconds_of(loop: Loop, seconds: float) -> tuple[float, int]:
    """Return the processor time of at least `seconds`, and the bytes that arrived in it."""
    before = loop.counters["bytes_received"].get()
    begin = time.thread_time()
    while (used := time.thread_time() - begin) < seconds:
        loop.sender.send_batch(loop.stream, loop.batch)
        while loop.receiver.poll():
            pass
    return used, loop.counters["bytes_received"].get() - before


def ours(length: int, seconds: float) -> float:
    """Return the megabytes that are sealed, or opened, in a processor second."""
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "key"
        write_secret(key)
        shape = {"offload": True, "entries": 1, "segments": SEGMENTS_LENGTH // length, "frame_length": length}
        loops = (Loop(**shape), Loop(**shape, options={"secret_file": str(key), "cipher": CIPHER}))
        used, arrived = [0.0, 0.0], [0, 0]
        for turn in range(-2, TURNS):
            for index, loop in enumerate(loops):
                time_s, count = seconds_of(loop, seconds / TURNS)
                # The first turns warm up.
                if turn >= 0:
                    used[index] += time_s
                    arrived[index] += count
        plain, sealed = (time_s / count for time_s, count in zip(used, arrived, strict=True))
        return 2 / (sealed - plain) / 1e6


def openssl(length: int, seconds: float) -> float:
    """Return the megabytes that the cipher encrypts in a processor second."""
    whole = str(max(round(seconds), 1))
    command = ["openssl", "speed", "-mr", "-evp", CIPHER, "-bytes", str(length), "-seconds", whole]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("+F:"))
    return float(line.rpartition(":")[2]) / 1e6


if __name__ == "__main__":
    made = (ours if sys.argv[1] == "ours" else openssl)(int(sys.argv[2]), float(sys.argv[3]))
    print(json.dumps({"MB/s": made}))

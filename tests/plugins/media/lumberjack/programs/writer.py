"""A writer that numbers its events and resends them until they are acknowledged: `writer.py PORT FIRST LAST`.

Prints `sent FIRST LAST` before each window that it sends, and `acked FIRST LAST` after its acknowledgement. It is plain
Python, independent of the code under test.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
import zlib

WINDOW = 100


def frames(first: int, last: int) -> bytes:
    """Return the window of events `first` to `last`."""
    events = b"".join(
        b"2J" + struct.pack(">II", index + 1, len(payload)) + payload
        for index, payload in enumerate(
            json.dumps({"n": number, "message": "x" * (number % 300)}).encode()
            for number in range(first, last + 1)
        )
    )
    packed = zlib.compress(events, 3)
    count = last - first + 1
    return b"2W" + struct.pack(">I", count) + b"2C" + struct.pack(">I", len(packed)) + packed


def deliver(connection: socket.socket, first: int, last: int) -> None:
    """Send a window and wait for its acknowledgement; raises OSError if the connection ends before."""
    print("sent", first, last, ".", flush=True)
    connection.sendall(frames(first, last))
    while True:
        answer = b""
        while len(answer) < 6:
            received = connection.recv(6 - len(answer))
            if not received:
                raise ConnectionError("the reader has gone")
            answer += received
        if answer[:2] != b"2A":
            raise SystemExit(f"no acknowledgement: {answer!r}")
        sequence = struct.unpack(">I", answer[2:])[0]
        if sequence == last - first + 1:
            print("acked", first, last, ".", flush=True)
            return
        if sequence != 0:
            raise SystemExit(f"acknowledged {sequence} of {last - first + 1} events")


def main(port: int, first: int, end: int) -> None:
    """Deliver all events, over as many connections as necessary."""
    # A killed predecessor can have left half a line; a full stop marks the end of a complete one.
    print(flush=True)
    while first <= end:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                while first <= end:
                    last = min(first + WINDOW - 1, end)
                    deliver(connection, first, last)
                    first = last + 1
        except OSError:
            time.sleep(0.05)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

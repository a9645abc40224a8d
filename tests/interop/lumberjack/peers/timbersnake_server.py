"""The server of timbersnake.

    timbersnake_server.py [COUNT]

Prints `listening HOST:PORT`, then the events when COUNT have arrived, and runs until killed. Without
COUNT, it keeps nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import sys

from timbersnake.server import Server


class Recorder(logging.Handler):
    """Collects events from the server's log, its only output."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._events: list[object] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == "recv JSON: %s":
            # `logging` unpacks a single mapping: it replaces the tuple of arguments.
            self._events.append(record.args)
            if len(self._events) == self._count:
                print(json.dumps({"events": self._events}), flush=True)


async def serve(count: int) -> None:
    log = logging.getLogger("timbersnake")
    log.propagate = False
    if count:
        log.setLevel(logging.DEBUG)
        log.addHandler(Recorder(count))
    with contextlib.redirect_stdout(io.StringIO()):  # the server prints its configuration
        callback = Server("127.0.0.1", 0).handle_client_callback
    server = await asyncio.start_server(callback, "127.0.0.1", 0)
    print("listening {}:{}".format(*server.sockets[0].getsockname()), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if sys.argv[1:] else 0))

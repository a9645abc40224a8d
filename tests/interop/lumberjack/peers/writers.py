"""Writers from PyPI.

    writers.py pylogbeat PORT COUNT WINDOW [LENGTH]
                                               windows on one connection, numbered continuously
    writers.py logstash_async PORT COUNT       a handler of `logging`
    writers.py timbersnake PORT COUNT WINDOW   one connection per window, announced as three events

Prints the encoded events when all are acknowledged. Connections are encrypted if LUMBERJACK_CA
names an authority in the environment; LUMBERJACK_CERT and LUMBERJACK_KEY name a certificate to show.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
import sys
import time

HOST = "127.0.0.1"
CA = os.environ.get("LUMBERJACK_CA")
CERT = os.environ.get("LUMBERJACK_CERT")
KEY = os.environ.get("LUMBERJACK_KEY")
TLS = {"ssl_enable": CA is not None, "ca_certs": CA, "certfile": CERT, "keyfile": KEY}


def event(index: int, length: int = 0) -> dict[str, object]:
    message = "<é & 🦀>" * (index % 23) + "x" * length
    return {"n": index, "@metadata": {"beat": "python"}, "message": message}


def pylogbeat(port: int, count: int, window: int, length: int = 0) -> list[str]:
    from pylogbeat import PyLogBeatClient  # noqa: PLC0415 - each program needs what it is about

    payloads = [json.dumps(event(index, length)) for index in range(count)]
    with PyLogBeatClient(HOST, port, timeout=20, **TLS) as client:
        for begin in range(0, count, window):
            client.send(payloads[begin : begin + window])
    return payloads


def logstash_async(port: int, count: int) -> list[str]:
    from logstash_async.constants import constants  # noqa: PLC0415
    from logstash_async.formatter import LogstashFormatter  # noqa: PLC0415
    from logstash_async.handler import AsynchronousLogstashHandler  # noqa: PLC0415
    from logstash_async.transport import BeatsTransport  # noqa: PLC0415

    constants.QUEUE_CHECK_INTERVAL = 0.05
    constants.QUEUED_EVENTS_FLUSH_INTERVAL = 0.05
    payloads: list[str] = []

    class Recorder(BeatsTransport):
        def send(self, events: list[bytes], *, use_logging: bool = False) -> None:
            super().send(events, use_logging=use_logging)
            payloads.extend(event.decode() for event in events)

    handler = AsynchronousLogstashHandler(
        HOST, port, database_path=None, transport=Recorder, ssl_verify=True, **TLS
    )
    handler.setFormatter(LogstashFormatter(extra_prefix=""))
    logger = logging.getLogger("interop")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    for index in range(count):
        # Its queue sorts events of one millisecond by their text.
        logger.info("event %05d", index, extra={"n": index})
    while len(payloads) < count:
        # On close it drops events that it cannot send.
        time.sleep(0.05)
    handler.close()
    return payloads


def timbersnake(port: int, count: int, window: int) -> list[str]:
    from timbersnake.client import Client  # noqa: PLC0415

    events = [event(index) for index in range(count)]
    context = ssl.create_default_context(cafile=CA) if CA else None
    if context and CERT:
        context.load_cert_chain(CERT, KEY)

    async def send() -> None:
        client = Client(HOST, port, ssl=context)
        for begin in range(0, count, window):
            await client.send(events[begin : begin + window])

    asyncio.run(asyncio.wait_for(send(), 20))
    return [json.dumps(each) for each in events]


WRITERS = {"pylogbeat": pylogbeat, "logstash_async": logstash_async, "timbersnake": timbersnake}

if __name__ == "__main__":
    sent = WRITERS[sys.argv[1]](*map(int, sys.argv[2:]))
    print(json.dumps({"payloads": sent}))

"""Run a stream with one third-party strategy; print how often it was called and the errors."""

import json
import sys
import time

from stranger_flow import compiled, plain

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.protocol.cnc import CncFile

name, port = sys.argv[1:]
channel = f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k"
with (
    aeron_core.MediaDriver.launch_embedded() as driver,
    aeron_core.connect(driver.aeron_dir) as aeron,
):
    subscription = aeron.add_subscription(channel, 1)
    publication = aeron.add_publication(f"{channel}|fc={name}", 1)
    publication.await_connected(timeout=10)
    received = []
    deadline = time.monotonic() + 60
    sent = 0
    while len(received) < 2000 and time.monotonic() < deadline:
        if sent < 2000 and publication.offer(b"%d" % sent) > 0:
            sent += 1
        subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 100)
    cnc = CncFile.open(driver.aeron_dir / "cnc.dat", read_only=True)
    print(
        json.dumps(
            {
                "in_order": received == [b"%d" % index for index in range(2000)],
                "calls": sum(strategy.calls for strategy in compiled.MADE + plain.MADE),
                "errors": [record.text for record in read_errors(cnc.error_log)],
            }
        )
    )

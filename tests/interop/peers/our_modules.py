"""Imports what drivers and clients of ours use, by running both: some modules are imported when they are needed."""

from __future__ import annotations

import tempfile

import aeron_core
import aeron_core.cli.driver.process
import aeron_core.cli.main

with (
    tempfile.TemporaryDirectory() as folder,
    aeron_core.MediaDriver({"aeron_dir": f"{folder}/driver"}, invoker=True) as driver,
    aeron_core.connect(driver.aeron_dir, driver_invoker=driver.do_work) as client,
):
    for channel in ("aeron:ipc", "aeron:udp?endpoint=127.0.0.1:0"):
        client.add_subscription(channel, 1)
    client.add_publication("aeron:ipc", 1)

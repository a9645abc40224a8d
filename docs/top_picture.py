"""Draw docs/images/top.svg: `aeron-core top` on a driver of this process, with a slow subscriber.

Run it after a change of the view: numbers differ from run to run, so no test compares the picture.
"""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path

import aeron_core
from aeron_core.cli.top.app import TopApp
from aeron_core.cli.top.sources import LiveSource
from aeron_core.settings import ClientSettings

PICTURE = Path(__file__).parent / "images" / "top.svg"
SIZE = (132, 18)
UDP = "aeron:udp?endpoint=localhost:20121"


def publish(publications: list[aeron_core.Publication], readers: list[aeron_core.Subscription]) -> None:
    """Offer to all publications, and poll those subscriptions that are read."""
    for publication in publications:
        publication.offer(bytes(1000))
    for reader in readers:
        reader.poll(lambda *_: None, 10)


async def draw() -> None:
    """Run the view for two seconds, and write what it shows."""
    stop = threading.Event()
    with (
        aeron_core.MediaDriver.launch_embedded() as driver,
        aeron_core.connect(driver.aeron_dir, ClientSettings(client_name="prices")) as client,
    ):
        readers = [client.add_subscription(UDP, 1001), client.add_subscription("aeron:ipc", 12)]
        slow = client.add_subscription("aeron:ipc", 1002)
        publications = [client.add_publication(UDP, 1001), client.add_publication("aeron:ipc", 12)]
        publications += [client.add_publication("aeron:ipc", 1002), client.add_publication("aeron:ipc", 1003)]

        def work() -> None:
            while not stop.wait(0.0005):
                publish(publications, readers)
            while slow.poll(lambda *_: None, 100):
                pass

        thread = threading.Thread(target=work)
        thread.start()
        while publications[2].offer(bytes(1000)) > 0:
            pass
        app = TopApp(LiveSource([driver.aeron_dir]), 1.0)
        async with app.run_test(size=SIZE) as pilot:
            await asyncio.sleep(2.5)
            await pilot.pause()
            picture = app.export_screenshot(title="aeron-core top")
        stop.set()
        thread.join()
    # The fonts would be loaded from elsewhere; those of the reader's system do as well.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(draw())

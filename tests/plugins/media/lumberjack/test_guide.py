"""The examples of docs/how-to/receive-from-beats.md, connected to each other over TCP."""

import os
import re
import threading
import time
from pathlib import Path

import pytest

import aeron_core

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "receive-from-beats.md"
EVENTS = [{"message": f"line {number}"} for number in range(1000)]


@pytest.mark.system
def test_the_examples_of_the_guide_run(capsys):
    # A loopback address used only here, on which no other program has the documented port.
    host = f"127.10.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    subscribe, ship = (block.replace("127.0.0.1", host) for block in blocks)
    names = {}
    exec(ship, names)

    def run():
        with (
            aeron_core.MediaDriver.launch_embedded() as driver,
            aeron_core.connect(driver.aeron_dir) as aeron,
        ):
            names["ship"](aeron, EVENTS)

    shipper = threading.Thread(target=run)
    shipper.start()
    shown = []

    def is_wanted():
        # Until the shipper has the acknowledgement of the last event, which is sent after the event was read.
        shown.append(capsys.readouterr().out)
        assert time.monotonic() < deadline_s, "".join(shown)[-500:]
        return shipper.is_alive()

    deadline_s = time.monotonic() + 60
    assert "while True:" in subscribe
    exec(subscribe.replace("while True:", "while is_wanted():"), {"is_wanted": is_wanted})
    shipper.join()
    shown.append(capsys.readouterr().out)

    lines = "".join(shown).splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [event["message"] for event in EVENTS]
    assert lines[0].startswith("1 ")

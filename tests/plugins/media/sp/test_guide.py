"""Runs the examples of docs/how-to/talk-to-nng.md against nng."""

import os
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.system, pytest.mark.interop]

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "talk-to-nng.md"
SHOWN = {
    "One peer": "b'from nng' after 1 hop\nb'from Aeron'\n",
    "Dial a listening peer": "b'from Aeron'\n",
    "Several peers": "b'hello, first' b'hello, second'\n2 peers\n",
    "Peer events": "b'welcome'\npeer disconnected\n",
    "Devices": "b'through the device'\n",
}


@pytest.mark.parametrize("section", SHOWN)
def test_an_example_of_the_guide_runs(section, capfd):
    # A loopback address derived from the process id, so that the ports of the page are free.
    host = f"127.11.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
    [text] = re.findall(
        rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code.replace("127.0.0.1", host), {})
    assert capfd.readouterr().out == SHOWN[section]

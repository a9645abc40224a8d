"""The real C client uses an SP channel of our driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from sp_messages import checksum_of
from sp_peers import channel_keys

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.compatible("SP PAIR1 over {transport}", "pynng ↔ our driver ↔ C client")
def test_the_c_client_answers_pynng(start, peer, our_driver, foreign_python, url, transport):
    their, count = peer("pynng"), 1000
    where = their.listen(url(transport))
    client = start(
        foreign_python,
        PEERS / "c_echo.py",
        our_driver(),
        f"aeron:sp?{channel_keys(where)}|mode=dial",
        7,
        count,
    )
    client.await_line("ready")
    their.await_event("joined")

    their.command("receive", count=count, timeout=30)
    their.send(first=0, count=count)

    assert their.await_event("received")["checksum"] == checksum_of(count)
    client.await_line("{")

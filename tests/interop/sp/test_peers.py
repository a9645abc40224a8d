"""Foreign peers without our driver: they execute commands correctly, so other tests test our side only."""

from __future__ import annotations

import pytest
from sp_messages import checksum_of

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize(("one", "other"), [("pynng", "nng"), ("nng", "mangos"), ("mangos", "pynng")])
def test_peers_exchange_messages(peer, url, one, other, transport):
    listener, dialer = peer(one), peer(other)

    dialer.dial(listener.listen(url(transport)))
    listener.command("receive", count=200, timeout=20)
    dialer.command("receive", count=200, timeout=20)
    sent = [each.send(first=first, count=200) for each, first in ((listener, 0), (dialer, 500))]

    assert [each["checksum"] for each in sent] == [checksum_of(200), checksum_of(200, 500)]
    assert dialer.await_event("received")["checksum"] == checksum_of(200)
    assert listener.await_event("received")["checksum"] == checksum_of(200, 500)


def test_a_polyamorous_peer_addresses_a_message(peer):
    listener = peer("pynng", "poly")
    url = listener.listen("tcp://127.0.0.1:0")
    dialers = []
    for _ in range(2):
        dialer = peer("pynng")
        dialer.dial(url)
        dialers.append((dialer, listener.await_event("joined")["pipe"]))

    for _, pipe in reversed(dialers):
        listener.send(f"to {pipe}", pipe=pipe)

    assert [dialer.texts() for dialer, _ in dialers] == [[f"to {pipe}"] for _, pipe in dialers]


def test_a_peer_reports_a_disconnected_peer(peer):
    listener, dialer = peer("pynng"), peer("nng")
    dialer.dial(listener.listen("tcp://127.0.0.1:0"))
    joined = listener.await_event("joined")

    dialer.kill()

    assert listener.await_event("left")["pipe"] == joined["pipe"]


def test_a_receive_that_times_out_returns_the_received_messages(peer):
    listener, dialer = peer("pynng"), peer("pynng")
    dialer.dial(listener.listen("tcp://127.0.0.1:0"))
    dialer.send("only one")

    came = listener.receive(2, timeout=3)

    assert [each["text"] for each in came["messages"]] == ["only one"]
    assert "Timeout" in came["error"]


@pytest.mark.parametrize("kind", ["pair0", "pair1"])
def test_nngcat_prints_what_pynng_sends(peer, start, nngcat, kind, tmp_path):
    url = f"ipc://{tmp_path}/pair"
    listener = peer("pynng", kind)
    listener.listen(url)
    cat = start(*nngcat, f"--{kind}", "--dial", url, "--quoted")
    listener.await_event("joined")

    listener.send("hello")

    cat.await_line('"hello"')


def test_nanocat_prints_what_pynng_sends(peer, start, nanocat):
    listener = peer("pynng", "pair0")
    cat = start(*nanocat, "--pair", "--connect", listener.listen("tcp://127.0.0.1:0"), "--quoted")
    listener.await_event("joined")

    listener.send("hello")

    cat.await_line('"hello"')

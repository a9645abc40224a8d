"""An endpoint with several peers: each is an image, addressed by its session id."""

from __future__ import annotations

import pytest
from sp_peers import dialed

pytestmark = pytest.mark.interop


def named_peers(our, peers):
    """Receive one number from each peer; return session ids in the order of the peers."""
    for number, each in enumerate(peers):
        each.send(str(number))
    return [message.session_id for message in sorted(our.take(len(peers)), key=lambda message: message.data)]


@pytest.mark.parametrize("transport", ["tcp", "ipc", "abstract", "tls", "ws", "wss"])
@pytest.mark.compatible("SP PAIR1, several peers", "our driver ↔ pynng, nng and mangos")
def test_a_message_goes_only_to_the_addressed_peer(ours, peer, url, secured, transport):
    keys, options = secured(transport, "listen")
    our = ours("listen", url(transport), f"|poly=true|accept-zero-hop=true{keys}")
    # The package `nng` is built without TLS.
    libraries = ["pynng", "pynng" if options else "nng", "mangos"]
    peers = [peer(library, "pair1", *options) for library in libraries]
    for each, library in zip(peers, libraries, strict=True):
        each.dial(dialed(our.url, library))
    sessions = named_peers(our, peers)
    assert len(set(sessions)) == 3

    for session in reversed(sessions):
        for number in range(100):
            our.send(f"{session} {number}", peer=session)

    expected = [[f"{session} {number}" for number in range(100)] for session in sessions]
    for each, texts in zip(peers, expected, strict=True):
        came = each.receive(100)
        assert [message["text"] for message in came["messages"]] == texts[:64]
        assert came["count"] == 100
        # It receives nothing else.
        assert each.receive(1, timeout=0.1)["count"] == 0


@pytest.mark.compatible("SP PAIR1, several peers", "our driver ↔ pynng")
def test_a_message_for_a_disconnected_peer_is_dropped_and_reported(ours, peer, url):
    our = ours("listen", url("tcp"), "|poly=true")
    gone, left = peer("pynng"), peer("pynng")
    for each in (gone, left):
        each.dial(our.url)
    session, other = named_peers(our, [gone, left])

    gone.kill()
    our.until(lambda: our.sessions() == [other])
    our.send("to nobody", peer=session)
    our.send("to the other", peer=other)

    assert left.texts() == ["to the other"]
    our.until(lambda: our.counted("unsent-no-peer") == 1)


@pytest.mark.compatible("SP PAIR1, several peers", "our driver ↔ pynng")
def test_a_message_without_an_address_goes_to_the_longest_connected_peer(ours, peer, url):
    our = ours("listen", url("tcp"), "|poly=true")
    first, second = peer("pynng"), peer("pynng")
    first.dial(our.url)
    our.await_peers(1)
    second.dial(our.url)
    our.await_peers(2)

    our.send("one")
    our.send("two")
    assert first.texts(2) == ["one", "two"]
    first.kill()
    our.await_peers(1)
    our.send("three")

    assert second.texts() == ["three"]


@pytest.mark.compatible("SP PAIR1, several peers", "our driver ↔ pynng")
def test_a_peer_that_does_not_read_does_not_block_another(ours, peer, url):
    our = ours("listen", url("ipc"), "|poly=true|peer-queue=256k")
    slow, quick = peer("pynng"), peer("pynng")
    for each in (slow, quick):
        each.dial(our.url)
    session, other = named_peers(our, [slow, quick])

    our.until(lambda: (our.send(bytes(65_536), peer=session), our.counted("unsent-peer-full"))[-1])
    for number in range(1000):
        our.send(f"{number}", peer=other)

    assert quick.receive(1000)["count"] == 1000


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.compatible("SP PAIR1, several peers", "pynng ↔ our drivers, which {role}")
def test_several_of_our_endpoints_connect_to_a_polyamorous_pynng(ours, peer, url, role):
    their = peer("pynng", "poly")
    where = [their.listen(url("tcp"))] * 3 if role == "dial" else [url("tcp")] * 3
    pairs = [ours(role, each) for each in where]
    if role == "listen":
        for our in pairs:
            their.dial(our.url)
    for our in pairs:
        our.await_peers()

    for number, our in enumerate(pairs):
        our.send(str(number))
    messages = sorted(their.receive(3)["messages"], key=lambda message: message["text"])
    for message in messages:
        their.send(f"to {message['text']}", pipe=message["pipe"])

    assert [our.texts() for our in pairs] == [["to 0"], ["to 1"], ["to 2"]]

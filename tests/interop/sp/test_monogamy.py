"""An endpoint with one peer refuses another, and accepts it when the first has disconnected."""

from __future__ import annotations

import pytest
from sp_peers import MEETINGS, dialed, listening

pytestmark = pytest.mark.interop


@pytest.mark.parametrize(("library", "transport"), MEETINGS)
@pytest.mark.compatible("SP PAIR1, one peer", "{library} → our driver")
def test_our_endpoint_refuses_a_second_peer_while_the_first_is_connected(
    ours, peer, url, secured, library, transport
):
    keys, options = secured(transport, "listen")
    our = ours("listen", url(transport), f"|accept-zero-hop=true{keys}")
    first, second = peer("pynng", "pair1", *options), peer(library, "pair1", *options)
    first.dial(dialed(our.url, "pynng"))
    (session,) = our.await_peers()

    second.dial(dialed(our.url, library))
    our.until(lambda: our.counted("refused") >= 1)
    # It assumed that it was accepted.
    second.await_event("left")
    our.send("to the first")
    assert first.texts() == ["to the first"]
    assert our.sessions() == [session]

    first.kill()
    our.until(lambda: our.sessions() not in ([], [session]))
    our.send("to the second")
    assert second.texts() == ["to the second"]


@pytest.mark.parametrize(("library", "transport"), MEETINGS)
@pytest.mark.compatible("SP PAIR1, one peer", "our driver → {library}")
def test_our_endpoint_is_refused_while_another_peer_is_connected(
    ours, peer, url, secured, library, transport
):
    keys, options = secured(transport, "dial")
    listener = peer(library, "pair1", *options)
    _, options = secured(transport, "listen")
    first = peer("pynng", "pair1", *options)
    where = listening(listener, library, url(transport))
    first.dial(dialed(where, "pynng"))
    pipe = listener.await_event("joined")["pipe"]
    first.await_event("joined")

    our = ours("dial", where, f"|backoff-init=20ms|backoff-max=100ms|accept-zero-hop=true|confirm=true{keys}")
    our.until(lambda: our.counted("refused-by-peer") >= 1)
    listener.send("to the first")
    assert first.texts() == ["to the first"]

    first.kill()
    # Some libraries also report peers that they have refused.
    while listener.await_event("left")["pipe"] != pipe:
        pass
    # A refusal is detected by a message or after a delay: with `confirm`, nothing is sent before that.
    our.send("to you")
    assert listener.texts() == ["to you"]
    listener.send("to us")
    assert our.texts() == ["to us"]

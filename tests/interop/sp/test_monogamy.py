"""An endpoint with one peer refuses another, and takes it as soon as the first is gone."""

from __future__ import annotations

import pytest
from sp_peers import MEETINGS, dialed, listening

pytestmark = pytest.mark.interop


@pytest.mark.parametrize(("library", "transport"), MEETINGS)
@pytest.mark.compatible("SP PAIR1, one peer", "{library} → our driver")
def test_we_refuse_a_second_peer_until_the_first_is_gone(ours, peer, url, secured, library, transport):
    keys, options = secured(transport, "listen")
    our = ours("listen", url(transport), f"|accept-zero-hop=true{keys}")
    first, second = peer("pynng", "pair1", *options), peer(library, "pair1", *options)
    first.dial(dialed(our.url, "pynng"))
    (session,) = our.await_peers()

    second.dial(dialed(our.url, library))
    our.until(lambda: our.counted("refused") >= 1)
    # It believed to have been taken.
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
def test_we_are_refused_until_the_first_peer_is_gone(ours, peer, url, secured, library, transport):
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
    # Before, it could still be sent to. Some tell of those, too, whom they have refused.
    while listener.await_event("left")["pipe"] != pipe:
        pass
    # Who was refused cannot know that it is not, but for a message or a while: with `confirm` nothing goes before that.
    our.send("to you")
    assert listener.texts() == ["to you"]
    listener.send("to us")
    assert our.texts() == ["to us"]

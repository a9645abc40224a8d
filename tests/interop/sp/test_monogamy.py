"""An endpoint with one peer refuses another, and takes it as soon as the first is gone."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("library", ["pynng", "nng", "mangos"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.compatible("SP PAIR1, one peer", "{library} → our driver")
def test_we_refuse_a_second_peer_until_the_first_is_gone(ours, peer, url, library, transport):
    our = ours("listen", url(transport), "|accept-zero-hop=true")
    first, second = peer("pynng"), peer(library)
    first.dial(our.url)
    (session,) = our.await_peers()

    second.dial(our.url)
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


@pytest.mark.parametrize("library", ["pynng", "nng", "mangos"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.compatible("SP PAIR1, one peer", "our driver → {library}")
def test_we_are_refused_until_the_first_peer_is_gone(ours, peer, url, library, transport):
    listener, first = peer(library), peer("pynng")
    where = listener.listen(url(transport))
    first.dial(where)
    listener.await_event("joined")
    first.await_event("joined")

    our = ours("dial", where, "|backoff-init=20ms|backoff-max=100ms|accept-zero-hop=true")
    our.until(lambda: our.counted("refused-by-peer") >= 1)
    listener.send("to the first")
    assert first.texts() == ["to the first"]

    first.kill()
    # Who was refused cannot know that it is not, but for a message or a while.
    our.await_peers()
    listener.send("to us")
    assert our.texts() == ["to us"]

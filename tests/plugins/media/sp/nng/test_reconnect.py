"""Connecting sockets as tested by nng: they retry; beyond that, with a backoff."""

from __future__ import annotations

from itertools import pairwise

from aeron_core.testing.pair import MS, S

KEYS = "|backoff-init=100ms|backoff-max=1s"


def test_it_connects_once_a_listener_starts(pairing):
    ours = pairing.endpoint("dial", KEYS)
    pairing.run(3 * S)

    pairing.serve()
    peer = pairing.accept()
    ours.offer(b"hello")
    pairing.run()

    assert peer.bodies() == [b"hello"]


def test_it_dials_again_when_the_peer_has_left(pairing):
    pairing.serve()
    ours = pairing.endpoint("dial", KEYS)
    first = pairing.accept()
    first.send_message(b"before")
    pairing.run()

    first.leave()
    second = pairing.accept()
    second.send_message(b"after")
    ours.offer(b"to the second")
    pairing.run()

    assert ours.bodies() == [b"before", b"after"]
    assert second.bodies() == [b"to the second"]
    assert ours.messages[0].session_id != ours.messages[1].session_id


def test_it_waits_longer_after_each_failure_up_to_a_limit(pairing):
    ours = pairing.endpoint("dial", KEYS)

    tried_at = []
    for _ in range(10):
        before = ours.counted("attempts")
        pairing.run_until(lambda before=before: ours.counted("attempts") > before)
        tried_at.append(pairing.now_ns)

    waits = [later - earlier for earlier, later in pairwise(tried_at)]
    assert all(wait <= 1.1 * S for wait in waits)
    assert all(wait >= 400 * MS for wait in waits[-4:])
    assert waits[0] < 300 * MS


def test_to_be_refused_is_a_failure_too(pairing):
    pairing.serve()
    ours = pairing.endpoint("dial", KEYS)

    def refusals(duration_ns):
        refused, until_ns = 0, pairing.now_ns + duration_ns
        while pairing.now_ns < until_ns:
            if (taken := pairing.listener.accept()) is not None:
                taken[0].send(b"\0SP\0\0\x11\0\0")
                pairing.run(5 * MS)
                taken[0].close()
                refused += 1
            pairing.run(5 * MS)
        return refused

    assert refusals(10 * S) <= 20
    assert ours.counted("refused-by-peer") >= 5


def test_a_connection_that_was_good_for_something_is_made_again_soon(pairing):
    pairing.serve()
    ours = pairing.endpoint("dial", KEYS)
    for _ in range(5):
        peer = pairing.accept()
        peer.send_message(b"good")
        pairing.run()
        peer.leave()
        left_ns = pairing.now_ns
        pairing.run_until(lambda: pairing.listener._waiting)
        assert pairing.now_ns - left_ns < 300 * MS

    assert ours.bodies() == [b"good"] * 5


def test_a_peer_that_never_greets_is_given_up(pairing):
    pairing.serve()
    ours = pairing.endpoint("dial", f"{KEYS}|handshake-timeout=1s")
    peer = pairing.accept(greets=False)

    pairing.run(2 * S)

    peer.greeting()
    assert peer.is_turned_away()
    assert ours.counted("silent") == 1

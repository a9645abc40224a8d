"""Reconnection: peers that are killed and restarted, also within a message."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from sp_messages import body, checksum_of
from sp_peers import DEADLINE_S, MEETINGS, channel_keys, dialed, listening

import aeron_core

pytestmark = pytest.mark.interop

SOON = "|backoff-init=10ms|backoff-max=50ms"
MEGABYTES = 16 << 20
LONG = "|max-message=16m|term-length=128m"


@pytest.mark.parametrize(("library", "transport"), MEETINGS)
@pytest.mark.compatible("SP PAIR1, restarts", "our driver → {library}")
def test_our_dialer_reconnects_to_a_restarted_peer(ours, peer, url, secured, library, transport):
    keys, options = secured(transport, "dial")
    first = peer(library, "pair1", *options)
    where = listening(first, library, url(transport))
    our = ours("dial", where, f"{SOON}|accept-zero-hop=true{keys}")
    (session,) = our.await_peers()
    first.send("before")
    assert our.texts() == ["before"]

    first.kill()
    our.await_peers(0)
    again = peer(library, "pair1", *options)
    if library == "mangos" and transport == "ipc":
        # It does not replace the socket file of a dead peer.
        Path(where.removeprefix("ipc://")).unlink()
    listening(again, library, where)

    (other,) = our.await_peers()
    assert other != session
    our.send("after")
    again.send("after")
    assert our.texts() == ["after"]
    assert again.texts() == ["after"]


@pytest.mark.parametrize(("library", "transport"), MEETINGS)
@pytest.mark.compatible("SP PAIR1, restarts", "{library} → our driver")
def test_a_peer_reconnects_to_our_restarted_listener(ours, peer, url, secured, library, transport):
    keys, options = secured(transport, "listen")
    our = ours("listen", url(transport), f"|accept-zero-hop=true{keys}")
    their = peer(library, "pair1", *options)
    their.dial(dialed(our.url, library))
    our.await_peers()
    our.send("before")
    assert their.texts() == ["before"]

    our.close()
    their.await_event("left")
    again = ours("listen", our.url, f"|accept-zero-hop=true{keys}")

    again.await_peers()
    again.send("after")
    their.send("after")
    assert their.texts() == ["after"]
    assert again.texts() == ["after"]


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.compatible("SP PAIR1, restarts", "our driver → pynng")
def test_our_restarted_dialer_reconnects(ours, peer, url, transport):
    their = peer("pynng")
    where = their.listen(url(transport))
    our = ours("dial", where)
    our.await_peers()

    our.close()
    again = ours("dial", where)

    again.await_peers()
    again.send("after")
    assert their.texts() == ["after"]


def test_our_dialer_connects_to_a_peer_that_starts_later(ours, peer, tmp_path):
    where = f"ipc://{tmp_path}/pair"
    our = ours("dial", where, SOON)
    their = peer("pynng")

    their.listen(where)

    our.await_peers()
    our.send("hello")
    assert their.texts() == ["hello"]


@pytest.mark.parametrize(
    ("library", "transport"),
    # One library with every transport, the others once: the tested code is our receive side.
    [each for each in MEETINGS if each[0] == "pynng" or each[1] == "tcp"],
)
@pytest.mark.compatible("SP PAIR1, kills", "{library} → our driver")
def test_only_complete_messages_of_a_killed_peer_are_delivered(ours, peer, url, secured, library, transport):
    keys, options = secured(transport, "listen")
    our = ours("listen", url(transport), f"{LONG}|accept-zero-hop=true{keys}")
    killed = peer(library, "pair1", *options)
    killed.dial(dialed(our.url, library))
    our.await_peers()

    # More than the buffers hold, so that a message is incomplete when the peer is killed.
    killed.command("send", first=0, count=20, length=MEGABYTES)
    our.until(lambda: _received(our) > 2 * MEGABYTES)
    killed.kill()
    our.until(lambda: (our.poll(), not our.sessions())[-1])
    our.poll()

    came = [message.data for message in our.received]
    assert 2 <= len(came) < 20
    assert came == [body(index, MEGABYTES) for index in range(len(came))]
    served = peer(library, "pair1", *options)
    served.dial(dialed(our.url, library))
    our.await_peers()
    served.send(first=0, count=100)
    our.take(len(came))
    assert our.checksum(100) == checksum_of(100)


def _received(our):
    counters = our.client.counters_reader
    ids = (number for number in counters.allocated_ids() if counters.label(number).startswith("rcv-hwm"))
    return max(map(counters.value, ids), default=0)


@pytest.mark.parametrize(
    ("library", "transport"),
    # nng 1 over TLS never detects a disconnect between two reads of one message: tls_tcp_error of its tls_common.c ends
    # the reads that wait, but no later ones.
    [("pynng", "tcp"), ("pynng", "ipc"), ("pynng", "ws"), ("mangos", "tcp"), ("mangos", "tls")],
)
@pytest.mark.compatible("SP PAIR1, kills", "our driver → {library}")
def test_only_complete_messages_of_our_killed_driver_are_delivered(
    our_driver, peer, url, secured, library, transport
):
    keys, options = secured(transport, "dial")
    their = peer(library, "pair1", *options)
    where = listening(their, library, url(transport))
    # The peer may also report the disconnect before its socket accepts the next peer: send nothing before that.
    channel = f"aeron:sp?{channel_keys(where)}|mode=dial|confirm=true{LONG}{SOON}{keys}"
    with aeron_core.connect(our_driver()) as aeron:
        publication = aeron.add_exclusive_publication(channel, 7)
        publication.await_connected(20)
        # The peer does not read, and buffers hold less than a message: one is in flight when the driver is killed.
        their.process.send_signal(signal.SIGSTOP)
        offered = 0
        while publication.offer(body(offered, MEGABYTES)) > 0:
            offered += 1
        (driver,) = our_driver.peers
        driver.kill()
        their.process.send_signal(signal.SIGCONT)

    # Before it has detected the disconnect, the peer refuses the next connection after the greeting.
    assert _received_until_left(their) < offered
    with aeron_core.connect(our_driver()) as aeron:
        publication = aeron.add_exclusive_publication(channel, 7)
        publication.await_connected(20)
        assert publication.offer(b"next") > 0
        assert their.texts() == ["next"]


def _received_until_left(their):
    """Receive the messages of `body` until the other peer has left, and return their number.

    nng reads no further while a message waits for its receiver: it detects a disconnect only if all are received.
    """
    came = 0
    for _ in range(DEADLINE_S):
        has_left = any(event["event"] == "left" for event in their.events)
        received = their.receive(1, timeout=1)
        if received["count"]:
            assert received["checksum"] == checksum_of(1, came, MEGABYTES)
            came += 1
        elif has_left:
            return came
    pytest.fail(f"the peer did not leave: {their.events}")

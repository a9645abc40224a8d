"""Publications and subscriptions of one channel share a socket: conditions, and closing some of them."""

from __future__ import annotations

import pytest
from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.connections.feed_streams import FeedParams
from aeron_media.connections.image_feed import ImageFeed
from aeron_media.connections.remote_host import RemoteHost
from aeron_media.connections.sockets import SystemConnections
from aeron_media.sp._native.tallies import Tallies
from aeron_media.sp.pair_params import PairParams
from aeron_media.sp.pair_socket import PairSocket
from pairing import ADDRESS, LISTENING, STREAM, message, received_by

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import RegistrationError
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, ReceiveDispatcher
from aeron_core.testing.pair import S


def test_the_connection_stays_without_subscriptions_and_nothing_is_lost(pairing):
    pair = pairing(subscribes=False)
    peer = pair.join()
    pair.until(lambda: pair.publication.is_connected)
    pair.send_from(peer, message(b"early"))
    pair.offer(b"out")
    assert received_by(peer) == message(b"out")

    pair.subscription = pair.subscribe()
    pair.run()
    pair.send_from(peer, message(b"late"))
    assert pair.bodies() == [b"early", b"late"]

    pair.subscription.close()
    pair.subscription = None
    pair.run(1 * S)
    pair.offer(b"still")
    assert received_by(peer) == message(b"still")


def test_the_connection_stays_without_publications(pairing):
    pair = pairing(publishes=False)
    peer = pair.join()
    pair.send_from(peer, message(b"one"))
    pair.publication = pair.publish()
    pair.until(lambda: pair.publication.is_connected)
    pair.offer(b"out")
    assert received_by(peer) == message(b"out")
    assert pair.bodies() == [b"one"]


@pytest.mark.parametrize("keys", ["", "|poly=true"])
def test_a_new_subscription_right_after_a_close_receives_messages(pairing, keys):
    pair = pairing(keys=keys)
    peer = pair.join()
    pair.send_from(peer, message(b"one"))
    for _ in range(3):
        pair.subscription.close()
        pair.subscription = pair.subscribe()
        pair.send_from(peer, message(b"more"))
        pair.run()
    assert pair.bodies() == [b"one"] + [b"more"] * 3


def test_a_new_subscription_has_an_image_of_a_silent_peer(pairing):
    pair = pairing()
    pair.join()
    pair.subscription.close()
    pair.subscription = pair.subscribe()
    pair.run(2 * S)
    assert len(pair.subscription.images) == 1


def test_an_endpoint_that_is_closed_late_leaves_the_next_one_what_it_has():
    params = PairParams(tallies=Tallies(), budget=MemoryBudget(1 << 20))
    host = RemoteHost(str(ADDRESS), ADDRESS)
    socket = PairSocket(params, 1, SystemConnections().new_connection, None, host)
    feed_params = FeedParams(packet=AtomicBuffer.allocate(1 << 17), term_length=65536, mtu=1408)
    feeds = [[ImageFeed(ReceiveChannelEndpoint(), ReceiveDispatcher(), feed_params)] for _ in range(2)]
    former, _ = (socket.connections.attach(each, 0) for each in feeds)
    socket.connections.detach(former)
    [peer] = socket.peers
    assert peer.input.feed is feeds[1][0]
    assert peer.input.is_fed
    socket.close()


def test_all_streams_of_a_channel_share_the_peer(pairing):
    pair = pairing()
    peer = pair.join()
    other = pair.publish(STREAM + 1)
    pair.until(lambda: other.is_connected)
    assert other.offer(b"of the other") > 0
    pair.offer(b"of the one")
    one, other = message(b"of the one"), message(b"of the other")
    assert received_by(peer) in (one + other, other + one)


def test_channels_that_share_a_socket_must_agree_on_its_keys(pairing):
    pair = pairing(subscribes=False)
    with pytest.raises(
        RegistrationError, match=r"ttl=9 in .*: must be 8, as in the channels that already share this address"
    ):
        pair.result(pair.client.add_subscription_async(LISTENING + "|ttl=9", STREAM))


@pytest.mark.parametrize(
    ("key", "existing"),
    [
        ("protocol=pair0", "pair1"),
        ("transport=ws", "tcp"),
        ("poly=true", "false"),
        ("max-message=5k", r"\(unset\)"),
        ("backoff-init=1s", "100ms"),
    ],
)
@pytest.mark.parametrize("adds", ["add_subscription_async", "add_publication_async"])
def test_channels_that_share_an_endpoint_must_agree_on_its_keys(pairing, adds, key, existing):
    pair = pairing()
    with pytest.raises(
        RegistrationError,
        match=rf"{key} in .*: must be {existing}, as in the channels that already share this address",
    ):
        pair.result(getattr(pair.client, adds)(f"{LISTENING}|{key}", STREAM + 1))


def test_channels_that_share_a_socket_must_have_images_for_its_longest_messages(pairing):
    pair = pairing(subscribes=False)
    with pytest.raises(
        RegistrationError, match=r"term-length.* at most 8192 bytes, but max-message is 1048576"
    ):
        pair.result(pair.client.add_subscription_async(LISTENING + "|term-length=64k", STREAM))


def test_subscriptions_to_a_socket_must_agree_on_its_keys(pairing):
    pair = pairing(publishes=False)
    with pytest.raises(RegistrationError, match=r"ttl=9 in .*: must be 8, as in the channels"):
        pair.result(pair.client.add_subscription_async(LISTENING + "|ttl=9", STREAM + 1))


@pytest.mark.parametrize(
    ("key", "existing"), [("term-length=16m", "8m"), ("mtu=1408", "65504"), ("rcv-wnd=3m", r"\(unset\)")]
)
def test_subscriptions_to_a_socket_must_agree_on_its_images(pairing, key, existing):
    pair = pairing(publishes=False)
    with pytest.raises(RegistrationError, match=rf"{key} in .*: must be {existing}, as in the channels"):
        pair.result(pair.client.add_subscription_async(f"{LISTENING}|{key}", STREAM + 1))


def test_publications_may_have_another_term_length_than_the_images_of_the_socket(pairing):
    pair = pairing(publishes=False)
    publication = pair.result(pair.client.add_publication_async(LISTENING + "|term-length=1m", STREAM))
    assert publication.term_buffer_length == 1 << 20


@pytest.mark.parametrize(
    "key", ["handshake-timeout=0", "message-timeout=1us", "backoff-init=0", "backoff-max=0"]
)
def test_an_interval_must_be_long_enough_for_something_to_happen(pairing, key):
    pair = pairing(publishes=False, subscribes=False)
    with pytest.raises(RegistrationError, match=f"{key} in .*must be at least 1ms"):
        pair.result(pair.client.add_subscription_async(f"{LISTENING}|{key}", STREAM))


def test_a_tag_does_not_have_a_channel_share_a_socket_of_another_transport(pairing):
    pair = pairing(publishes=False, subscribes=False)
    channel = "aeron:sp?endpoint=127.0.0.1:5050|mode=dial|tags=3"
    pair.result(pair.client.add_publication_async(channel, STREAM))
    with pytest.raises(RegistrationError, match=r"tags=3 in .*: selects the endpoint of"):
        pair.result(pair.client.add_publication_async(f"{channel}|transport=ws", STREAM))

"""Options of channels between our driver and the Java driver, in both directions."""

from __future__ import annotations

import pytest
from parties import DIRECTIONS, THERE, exchange
from party_facts import await_true

from aeron_core.concurrent.error_log import read_errors
from aeron_core.observation.driver_files import DriverFiles

pytestmark = pytest.mark.interop

#: Options of a publication and of its subscription.
OPTIONS = {
    "session-id": ("session-id=4711", "session-id=4711"),
    "start in the middle of a term": ("init-term-id=5|term-id=7|term-offset=1024|term-length=256k", ""),
    "mtu=65504": ("mtu=65504|term-length=1m", "rcv-wnd=128k"),
    "windows and buffers": ("pub-wnd=128k|so-sndbuf=256k", "rcv-wnd=64k|so-rcvbuf=256k"),
    "nak-delay, max-resend and group": ("max-resend=64", "nak-delay=1ms|group=true"),
    "alias, sparse, rejoin, linger and eos": (
        "alias=a|sparse=false|linger=1s|eos=true",
        "alias=b|rejoin=false",
    ),
}


@pytest.mark.compatible("channel options: {option}", THERE)
@pytest.mark.parametrize("option", OPTIONS)
@DIRECTIONS
def test_channel_options_take_effect(at, udp_channel, stream_id, sender, receiver, option):
    for_publication, for_subscription = OPTIONS[option]
    subscription = at(receiver).subscription(f"{udp_channel}|{for_subscription}".rstrip("|"), stream_id)
    publication = at(sender).publication(f"{udp_channel}|{for_publication}", stream_id, "exclusive")
    (image,) = subscription.await_images(1)

    exchange(publication, subscription, count=1000)

    asked = dict(pair.split("=") for pair in for_publication.split("|"))
    assert image.session_id == int(asked.get("session-id", publication.session_id))
    assert image.mtu == int(asked.get("mtu", 1408))
    if "term-offset" in asked:
        assert (image.initial_term_id, image.join_position) == (5, 2 * 262144 + 1024)


@pytest.mark.compatible("tags, of a channel and of a session", THERE)
@DIRECTIONS
def test_publications_share_a_tagged_channel_and_session(at, udp_channel, stream_id, sender, receiver):
    client, receiving = at(sender), at(receiver)
    stream_ids = (stream_id, stream_id + 10_000)
    subscriptions = [receiving.subscription(udp_channel, each) for each in stream_ids]

    options = f"tags={stream_id},{stream_id + 10_000}|session-id=99|term-length=256k|mtu=4096"
    tagged = client.publication(f"{udp_channel}|{options}", stream_ids[0], "exclusive")
    other = client.publication(
        f"aeron:udp?tags={stream_id}|session-id=tag:{stream_id + 10_000}", stream_ids[1], "exclusive"
    )

    assert other.session_id == tagged.session_id
    for publication, subscription in zip((tagged, other), subscriptions, strict=True):
        exchange(publication, subscription, count=500)
        (image,) = subscription.images
        assert (image.term_length, image.mtu) == (262144, 4096)


@pytest.mark.compatible("port 0, chosen by the receiver", THERE)
@DIRECTIONS
def test_a_publication_reaches_the_port_chosen_for_a_subscription(at, stream_id, sender, receiver):
    subscription = at(receiver).subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id)

    channel = f"aeron:udp?endpoint={subscription.resolved_endpoint()}"
    publication = at(sender).publication(channel, stream_id)

    exchange(publication, subscription, count=500)


@pytest.mark.compatible("reliable=false, gaps are filled, with loss", THERE)
@DIRECTIONS
def test_gaps_of_an_unreliable_stream_are_skipped(at, udp_channel, stream_id, sender, receiver):
    subscription = at(receiver, loss=True).subscription(f"{udp_channel}|reliable=false", stream_id)
    publication = at(sender).publication(udp_channel, stream_id)
    subscription.await_images(1)

    # Some of the last messages arrive: they follow the 1000th within the sender's window.
    received = subscription.receive_until_gap(1000)
    publication.send_numbers(1100)

    count, last, ordered = received.result(120).split()
    assert ordered == "true"
    assert int(count) < int(last)


@pytest.mark.compatible("end of stream", THERE)
@DIRECTIONS
def test_a_subscriber_gets_the_end_position_of_a_stream(at, udp_channel, stream_id, sender, receiver):
    subscription = at(receiver).subscription(udp_channel, stream_id)
    publication = at(sender).publication(udp_channel, stream_id)
    exchange(publication, subscription, count=500)
    end = publication.position
    ended = subscription.await_end()

    publication.close()

    assert ended.result(120) == f"{end} false"


@pytest.mark.compatible("publication revoked", THERE)
@DIRECTIONS
def test_a_revoked_stream_ends_at_once(at, udp_channel, stream_id, sender, receiver):
    subscription = at(receiver).subscription(udp_channel, stream_id)
    publication = at(sender).publication(udp_channel, stream_id, "exclusive")
    exchange(publication, subscription, count=500)
    end = publication.position
    ended = subscription.await_end()

    publication.revoke()

    assert ended.result(120) == f"{end} true"


@pytest.mark.compatible("SETUP refused: mtu above the receiver's window", THERE)
@DIRECTIONS
def test_a_stream_with_an_mtu_above_the_window_of_the_receiver_is_refused(
    at, shared_drivers, udp_channel, stream_id, sender, receiver
):
    # A value of this test alone: shared drivers keep the errors of earlier tests.
    mtu = 8192 + 32 * (stream_id % 1000)
    subscription = at(receiver).subscription(f"{udp_channel}|rcv-wnd=4k", stream_id)
    publication = at(sender).publication(f"{udp_channel}|mtu={mtu}", stream_id)

    errors = DriverFiles.open(shared_drivers.directory(receiver.split("/")[1])).cnc.error_log
    await_true(
        lambda: any(
            f"mtuLength={mtu} > initialWindowLength=4096" in error.text for error in read_errors(errors)
        ),
        "the error",
    )
    assert subscription.images == []
    assert not publication.is_connected

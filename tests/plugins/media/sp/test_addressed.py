"""Messages addressed to one of several peers: results of `offer`, delivery, and the list of peers."""

from __future__ import annotations

from array import array

import pytest
from pairing import LISTENING, message, received_by

import aeron_core
from aeron_core.testing.pair import MS

POLY = "|poly=true"


def sessions(pair):
    return [peer.session_id for peer in pair.publication.peers]


def joined(pair):
    """Return a new peer and its session id."""
    before = sessions(pair)
    peer = pair.join()
    [session] = [session for session in sessions(pair) if session not in before]
    return peer, session


def test_a_message_is_sent_only_to_the_peer_that_it_names(pairing):
    pair = pairing(keys=POLY)
    first, first_session = joined(pair)
    second, second_session = joined(pair)
    pair.offer(b"to the second", peer=second_session)
    pair.offer(b"to the first", peer=first_session)
    assert received_by(first) == message(b"to the first")
    assert received_by(second) == message(b"to the second")


def test_the_session_of_a_received_message_addresses_the_answer(pairing):
    pair = pairing(keys=POLY)
    pair.join()
    asking = pair.join()
    pair.send_from(asking, message(b"question"))
    pair.offer(b"answer", peer=pair.received[0].session_id)
    assert received_by(asking) == message(b"answer")


def test_hops_of_a_message_to_a_peer_are_incremented(pairing):
    pair = pairing(keys=POLY)
    peer, session = joined(pair)
    pair.offer(b"m", peer=session, reserved_value=3)
    assert received_by(peer) == message(b"m", hops=4)


@pytest.mark.parametrize("hops", [-1, 256, 1 << 40])
def test_hops_beyond_the_header_are_refused(pairing, hops):
    pair = pairing(keys=POLY)
    _peer, session = joined(pair)
    with pytest.raises(ValueError, match=f"reserved_value={hops}: must be a number of hops from 0 to 255"):
        pair.publication.offer(b"m", peer=session, reserved_value=hops)


@pytest.mark.parametrize("peer", [2**31, -(2**31) - 1, 2**64])
def test_a_peer_that_is_no_session_id_raises_with_the_range(pairing, peer):
    pair = pairing(keys=POLY)
    with pytest.raises(ValueError, match=f"peer={peer}: must be from -2147483648 to 2147483647"):
        pair.publication.offer(b"m", peer=peer)


@pytest.mark.parametrize("keys", ["", POLY])
def test_a_message_for_a_peer_that_is_not_connected_is_refused_at_once(pairing, keys):
    pair = pairing(keys=keys)
    peer, session = joined(pair)
    assert pair.publication.offer(b"m", peer=session ^ (1 << 20)) == aeron_core.NO_PEER
    peer.close()
    pair.run()
    assert pair.publication.offer(b"m", peer=session) == aeron_core.NO_PEER
    assert pair.counted("unsent-no-peer") == 0


def test_a_message_may_name_the_one_peer_of_a_monogamous_socket(pairing):
    pair = pairing()
    peer, session = joined(pair)
    pair.offer(b"m", peer=session)
    assert received_by(peer) == message(b"m")


def test_a_full_peer_is_reported_at_once_loses_nothing_and_does_not_delay_others(pairing):
    pair = pairing(keys=f"{POLY}|peer-queue=4k|max-message=1k")
    slow, slow_session = joined(pair)
    quick, quick_session = joined(pair)
    slow.capacity = 0
    accepted = 0
    for _ in range(100):
        result = pair.publication.offer(bytes(100), peer=slow_session)
        if result == aeron_core.PEER_FULL:
            break
        accepted += result > 0
        pair.run(10)
    assert result == aeron_core.PEER_FULL
    assert accepted >= 30
    pair.offer(b"quick", peer=quick_session)
    assert received_by(quick) == message(b"quick")

    slow.capacity = 1 << 20
    pair.run()
    assert pair.read_exactly(slow, accepted * len(message(bytes(100)))) == message(bytes(100)) * accepted
    assert pair.counted("unsent-peer-full") == 0
    assert pair.publication.offer(b"again", peer=slow_session) > 0


def test_a_full_peer_is_reported_for_empty_messages_too(pairing):
    pair = pairing(keys="|poly=true|peer-queue=100|max-message=50")
    peer = pair.join()
    peer.capacity = 0
    [session] = [each.session_id for each in pair.publication.peers]
    results = []
    for _ in range(20):
        results.append(pair.publication.offer(b"", peer=session))
        pair.run(2 * MS)
    # Each message has a header of 12 bytes.
    assert [result > 0 for result in results] == [True] * 8 + [False] * 12
    assert set(results[8:]) == {aeron_core.PEER_FULL}
    assert pair.counted("unsent-peer-full") == 0


def test_messages_that_the_driver_has_not_read_yet_count_as_queued(pairing):
    pair = pairing(keys=f"{POLY}|peer-queue=4k|max-message=1k")
    _peer, session = joined(pair)
    results = [pair.publication.offer(bytes(1000), peer=session) for _ in range(10)]
    assert [result for result in results if result > 0] == results[:3]
    assert set(results[3:]) == {aeron_core.PEER_FULL}
    pair.run()
    assert pair.counted("unsent-peer-full") == 0


def test_an_empty_queue_accepts_the_longest_message(pairing):
    pair = pairing(keys=f"{POLY}|peer-queue=4k|max-message=8k")
    peer, session = joined(pair)
    pair.offer(bytes(8192), peer=session)
    assert pair.read_exactly(peer, len(message(bytes(8192)))) == message(bytes(8192))


def batch_of(messages):
    offsets = array("q", [0])
    for each in messages:
        offsets.append(offsets[-1] + len(each))
    return b"".join(messages), offsets


@pytest.mark.parametrize("is_exclusive", [False, True])
def test_a_batch_may_name_its_peer(pairing, is_exclusive):
    pair = pairing(keys=POLY, publishes=False)
    adds = pair.client.add_exclusive_publication_async if is_exclusive else pair.client.add_publication_async
    pair.publication = pair.result(adds(pair.channel, 7))
    first, _session = joined(pair)
    second, session = joined(pair)
    messages = [b"one", b"", b"three", bytes(3000)]
    assert pair.publication.offer_batch(*batch_of(messages), peer=session, reserved_value=3) == 4
    pair.run()
    assert received_by(second) == b"".join(message(each, hops=4) for each in messages)
    assert received_by(first) == b""


def test_a_batch_is_accepted_as_far_as_the_queue_of_the_peer_has_space(pairing):
    pair = pairing(keys="|poly=true|peer-queue=1000|max-message=600")
    peer, session = joined(pair)
    peer.capacity = 0
    data, offsets = batch_of([b"", *(bytes(n) for n in range(100, 110))])
    number = 0
    results = []
    while not results or results[-1] > 0:
        results.append(pair.publication.offer_batch(data, offsets, first=number, peer=session))
        number += max(results[-1], 0)
        pair.run(10 * MS)
    assert results[-1] == aeron_core.PEER_FULL
    assert number >= 8

    peer.capacity = 1 << 20
    pair.run()
    assert pair.publication.offer_batch(data, offsets, first=number, peer=session) == 11 - number
    pair.run()
    assert received_by(peer) == b"".join(
        message(each) for each in [b"", *(bytes(n) for n in range(100, 110))]
    )
    assert pair.counted("unsent-peer-full") == 0


def test_a_batch_for_a_peer_that_is_not_connected_returns_no_peer(pairing):
    pair = pairing(keys=POLY)
    _peer, session = joined(pair)
    offer = pair.publication.offer_batch
    assert offer(*batch_of([b"m"]), peer=session ^ (1 << 20)) == aeron_core.NO_PEER
    assert offer(*batch_of([]), peer=session) == 0
    with pytest.raises(ValueError, match="at most 1, the number of messages"):
        offer(b"m", array("q", [0, 1]), first=7, count=1, peer=session)
    with pytest.raises(ValueError, match="boundaries must not decrease"):
        offer(b"m", array("q", [1, 0]), peer=session)


def test_a_message_beyond_the_maximum_of_the_publication_is_a_value_error(pairing):
    pair = pairing(keys=POLY)
    _peer, session = joined(pair)
    too_long = bytes(pair.publication.max_message_length + 1)
    with pytest.raises(ValueError, match=f"message of {len(too_long)} bytes: must be from 0 to"):
        pair.publication.offer(too_long, peer=session)
    with pytest.raises(ValueError, match=f"message of {len(too_long)} bytes: must be from 0 to"):
        pair.publication.offer_batch(*batch_of([too_long]), peer=session)


def test_a_claim_may_name_its_peer(pairing):
    pair = pairing(keys=POLY)
    pair.join()
    peer, session = joined(pair)
    with pair.publication.try_claim(5, peer=session) as claim:
        claim.buffer[:] = b"claim"
    pair.run()
    assert received_by(peer) == message(b"claim")


def test_a_claim_for_a_peer_that_is_not_connected_carries_the_reason(pairing):
    pair = pairing(keys=POLY)
    _peer, session = joined(pair)
    claim = pair.publication.try_claim(5, peer=session ^ (1 << 20))
    assert not claim
    assert claim.position == aeron_core.NO_PEER
    with pytest.raises(aeron_core.NoClaimError, match="the peer is not connected"):
        claim.buffer  # noqa: B018 - it raises


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_claim_of_a_wrong_length_is_a_value_error_whatever_its_peer(pairing, is_connected):
    pair = pairing(keys=POLY)
    _peer, session = joined(pair)
    maximum = pair.publication.max_payload_length
    for length in (-1, maximum + 1):
        with pytest.raises(ValueError, match=f"message of {length} bytes: must be from 0 to {maximum}"):
            pair.publication.try_claim(length, peer=session if is_connected else session ^ (1 << 20))


def test_an_exclusive_publication_may_name_peers_too(pairing):
    pair = pairing(keys=POLY, publishes=False)
    pair.publication = pair.result(pair.client.add_exclusive_publication_async(pair.channel, 7))
    pair.join()
    peer, session = joined(pair)
    pair.offer([b"in ", b"parts"], peer=session)
    assert received_by(peer) == message(b"in parts")
    assert pair.publication.offer(b"m", peer=session ^ (1 << 20)) == aeron_core.NO_PEER


def test_a_channel_without_peers_rejects_a_message_that_names_one(pairing):
    pair = pairing()
    publication = pair.result(pair.client.add_publication_async("aeron:ipc", 7))
    assert publication.peers == []
    with pytest.raises(ValueError, match="peer=1: the medium of aeron:ipc does not distinguish peers"):
        publication.offer(b"m", peer=1)


@pytest.mark.parametrize("keys", ["", POLY])
def test_a_publication_lists_its_peers_and_their_addresses(pairing, keys):
    pair = pairing(LISTENING, keys)
    assert pair.publication.peers == []
    peer, session = joined(pair)
    [shown] = pair.publication.peers
    assert shown.session_id == session
    assert shown.source_identity == str(peer.address)

    peer.close()
    pair.run()
    assert pair.publication.peers == []

"""Events of peers that connect, disconnect, or are refused."""

from __future__ import annotations

import asyncio

import pytest
from pairing import PAIR0, greeting, received_by

from aeron_core import aio
from aeron_core.client.conductor.peer_watch import PeerRefusal
from aeron_core.errors import ClosedError
from aeron_core.testing.pair import S

POLY = "|poly=true"


class PeerObserver:
    """Records the calls of the handlers of a watch."""

    def __init__(self, pair, resource, **handlers):
        self.added, self.removed, self.refused = [], [], []
        given = {
            "on_added": self.added.append,
            "on_removed": self.removed.append,
            "on_refused": self.refused.append,
        }
        self.watch = pair.client.watch_peers(resource, **{**given, **handlers})


@pytest.mark.parametrize("resource", ["publication", "subscription"])
def test_handlers_are_called_for_peers_that_connect_and_disconnect(pairing, resource):
    pair = pairing(keys=POLY)
    first = pair.join()
    observed = PeerObserver(pair, getattr(pair, resource))
    second = pair.join()
    assert [peer.source_identity for peer in observed.added] == [str(first.address), str(second.address)]
    assert observed.removed == []

    first.close()
    # An image lingers before it is released.
    pair.run(15 * S)
    assert observed.removed == observed.added[:1]


@pytest.mark.parametrize("resource", ["publication", "subscription"])
def test_a_handler_gets_the_reason_of_a_refusal(pairing, resource):
    pair = pairing()
    observed = PeerObserver(pair, getattr(pair, resource))
    pair.join()
    for protocol in (17, PAIR0):
        peer = pair.dial()
        pair.send_from(peer, greeting(protocol))
        received_by(peer)
    assert [(refusal.reason, refusal.count) for refusal in observed.refused] == [
        ("sp-refused", 1),
        ("sp-mismatched", 1),
    ]
    assert len(observed.added) == 1


def test_a_closed_watch_calls_no_handlers(pairing):
    pair = pairing(keys=POLY)
    observed = PeerObserver(pair, pair.publication)
    observed.watch.close()
    pair.join()
    assert observed.added == []


def test_a_watch_ends_with_what_it_watches(pairing):
    pair = pairing(keys=POLY, subscribes=False)
    observed = PeerObserver(pair, pair.publication)
    pair.join()
    pair.publication.close()
    pair.run()
    assert observed.removed == observed.added


def test_a_handler_that_raises_is_reported_and_the_others_are_called(pairing):
    pair = pairing()
    fault = ValueError("mine")

    def fail(_peer):
        raise fault

    observed = PeerObserver(pair, pair.publication, on_added=fail)
    peer = pair.join()
    peer.close()
    pair.run()
    assert pair.driver.client_errors == [fault]
    assert len(observed.removed) == 1


def test_a_closed_client_watches_nothing(pairing):
    pair = pairing()
    publication = pair.publication
    pair.client.close()
    with pytest.raises(ClosedError):
        pair.client.watch_peers(publication)


def test_an_event_loop_gets_peer_events_in_order_until_the_publication_is_closed(pairing):
    pair = pairing(subscribes=False)

    async def collect(events):
        async for event in aio.peer_events(pair.client, pair.publication):
            events.append(event)

    async def run():
        events = []
        collecting = asyncio.create_task(collect(events))
        await asyncio.sleep(0)
        first = pair.join()
        pair.send_from(pair.dial(), greeting())
        pair.publication.close()
        pair.run()
        await asyncio.wait_for(collecting, 60)
        return first, events

    first, [added, refused, removed] = asyncio.run(run())
    assert added == aio.PeerAdded(removed.peer)
    assert refused == PeerRefusal("sp-refused", 1)
    assert removed == aio.PeerRemoved(added.peer)
    assert added.peer.source_identity == str(first.address)


def test_a_loop_ends_with_its_client(pairing):
    pair = pairing()

    async def run():
        events = aio.peer_events(pair.client, pair.publication)
        pair.join()
        coming = [asyncio.create_task(anext(events, None))]
        await asyncio.sleep(0)
        pair.client.close()
        return await asyncio.wait_for(coming[0], 60)

    assert asyncio.run(run()) is None

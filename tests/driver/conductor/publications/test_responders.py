"""Several responders of one requester: which of them sends, and when a responder is disconnected."""

import pytest
from responding import REQUESTS, RESPONSES, Requester, connect, serve

from aeron_core import NOT_CONNECTED
from aeron_core.testing import SimulatedLink
from aeron_core.testing.pair import S


@pytest.fixture
def requests(pair):
    return pair.add_subscription(REQUESTS, 1001)


@pytest.mark.parametrize("leaves", ["subscription", "publication", "client"])
def test_a_responder_is_disconnected_when_the_requester_closes(pair, requests, leaves):
    client = pair.sender.connect()
    requester, responses = connect(pair, requests, client)

    if leaves == "client":
        client.close()
    else:
        getattr(requester, leaves).close()

    if leaves == "publication":
        # The responses continue: a requester may have sent all of its requests.
        pair.run_until(lambda: not requests.images, within_ns=30 * S)
        assert responses.is_connected
    else:
        pair.run_until(lambda: not responses.is_connected, within_ns=3 * S)
        assert responses.offer(b"too late") == NOT_CONNECTED


def test_a_responder_is_disconnected_when_the_requester_dies(pair, requests):
    _, responses = connect(pair, requests)

    pair.sender.is_stalled = True

    pair.run_until(lambda: not responses.is_connected, within_ns=7 * S)
    assert responses.offer(b"too late") == NOT_CONNECTED
    pair.run_until(lambda: not requests.images, within_ns=30 * S)


def test_a_requester_is_connected_again_after_a_partition(pair, requests):
    requester, responses = connect(pair, requests)
    pair.network.set_link(SimulatedLink(loss=1))
    pair.run_until(lambda: not responses.is_connected, within_ns=20 * S)
    pair.run_for(2 * S)

    pair.network.set_link(SimulatedLink())
    pair.run_until(lambda: responses.is_connected, within_ns=20 * S)
    responses.offer(b"back")
    pair.run_until(lambda: requester.sink.poll() == 0 and requester.sink.all)

    assert requester.sink.all == [b"back"]


def test_of_two_responders_of_one_requester_the_first_is_connected(pair, requests):
    requester, first = connect(pair, requests)
    second = serve(pair, requests)
    pair.run_for(2 * S, each=requester.sink.poll)

    assert not second.is_connected
    assert [image.session_id for image in requester.subscription.images] == [first.session_id]


def test_the_second_responder_takes_over_when_the_first_closes(pair, requests):
    requester, first = connect(pair, requests)
    second = serve(pair, requests)
    first.close()

    pair.run_until(lambda: second.is_connected, within_ns=30 * S)
    second.offer(b"from the second")
    pair.run_until(lambda: requester.sink.poll() == 0 and requester.sink.all)

    assert requester.sink.all == [b"from the second"]


def test_the_earlier_responder_takes_over_when_the_latest_closes(pair, requests):
    requester = Requester(pair)
    pair.run_until(lambda: requests.images)
    pair.network.set_link(SimulatedLink(loss=1), source=pair.RECEIVER)
    first, second = serve(pair, requests), serve(pair, requests)
    second.close()
    pair.run_for(2 * S)

    pair.network.set_link(SimulatedLink(), source=pair.RECEIVER)

    pair.run_until(lambda: first.is_connected)
    assert [image.session_id for image in requester.subscription.images] == [first.session_id]


def test_responding_clients_of_one_requester_share_a_publication(pair, requests):
    requester = Requester(pair)
    pair.run_until(lambda: requests.images)
    channel = f"{RESPONSES}|response-correlation-id={requests.images[-1].correlation_id}"

    first, second = (pair.result(pair.subscriber.add_publication_async(channel, 1002)) for _ in range(2))
    pair.run_until(lambda: first.is_connected and second.is_connected)

    assert first.original_registration_id == second.original_registration_id
    assert len(requester.subscription.images) == 1

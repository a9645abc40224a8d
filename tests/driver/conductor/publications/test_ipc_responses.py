"""Responses over shared memory: each requester has a response stream of its own."""

import pytest

from aeron_core import BACK_PRESSURED, NOT_CONNECTED
from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.testing import Sink
from aeron_core.testing.pair import MS, S

RESPONSES = "aeron:ipc?control-mode=response"


class Requester:
    """Sends requests on stream 1001 and receives responses on stream 1002."""

    def __init__(self, lone, client=None):
        client = client or lone.client
        self.subscription = lone.result(client.add_subscription_async(RESPONSES, 1002))
        channel = f"aeron:ipc?response-correlation-id={self.subscription.registration_id}"
        self.publication = lone.result(client.add_exclusive_publication_async(channel, 1001))
        self.sink = Sink(self.subscription)

    def image(self, lone, requests):
        """Return the image of the requests."""
        found = lambda: [i for i in requests.images if i.session_id == self.publication.session_id]  # noqa: E731
        lone.run_until(found)
        return found()[0]


@pytest.fixture
def requests(lone):
    return lone.add_subscription("aeron:ipc", 1001)


def answer(lone, requester, requests, stream_id=1002):
    """Return a new publication of responses to a requester."""
    image = requester.image(lone, requests)
    channel = f"{RESPONSES}|response-correlation-id={image.correlation_id}"
    return lone.add_exclusive_publication(channel, stream_id)


def connect(lone, requests, client=None):
    requester = Requester(lone, client)
    responses = answer(lone, requester, requests)
    lone.run_until(lambda: responses.is_connected and requester.subscription.is_connected)
    return requester, responses


def test_each_requester_receives_only_its_own_responses(lone, requests):
    first, to_first = connect(lone, requests)
    second, to_second = connect(lone, requests)

    to_first.offer(b"to the first")
    to_second.offer(b"to the second")
    lone.run_for(10 * MS, each=lambda: (first.sink.poll(), second.sink.poll()))

    assert first.sink.messages == {to_first.session_id: [b"to the first"]}
    assert second.sink.messages == {to_second.session_id: [b"to the second"]}


def test_nothing_is_received_before_the_first_response(lone, requests):
    requester = Requester(lone)
    other = lone.add_publication("aeron:ipc", 1002)
    lone.run_for(1 * S)

    assert requester.publication.is_connected
    assert not requester.subscription.is_connected
    assert other.offer(b"discarded") == NOT_CONNECTED


def test_a_response_to_an_unknown_request_is_not_connected(lone, requests):
    # The reference does not check this over IPC.
    requester = Requester(lone)
    strays = [
        lone.add_publication(f"{RESPONSES}{key}", 1002)
        for key in ("", "|response-correlation-id=77", "|response-correlation-id=prototype")
    ]
    requests_of_nobody = lone.add_publication("aeron:ipc?response-correlation-id=77", 1001)
    lone.run_until(lambda: requests_of_nobody.is_connected)

    assert [stray.is_connected for stray in strays] == [False] * 3
    assert not requester.subscription.is_connected


def test_a_response_added_before_its_request_is_not_connected(lone, requests):
    subscription = lone.add_subscription(RESPONSES, 1002)
    request_id = subscription.registration_id + 2
    early = lone.add_exclusive_publication(f"{RESPONSES}|response-correlation-id={request_id}", 1002)
    request = lone.add_exclusive_publication(
        f"aeron:ipc?response-correlation-id={subscription.registration_id}", 1001
    )
    lone.run_until(lambda: request.is_connected)

    assert request.registration_id == request_id
    assert not early.is_connected


def test_a_response_on_another_stream_is_not_connected_and_does_not_block_the_right_one(lone, requests):
    requester = Requester(lone)

    wrong = answer(lone, requester, requests, 1003)
    right = answer(lone, requester, requests)
    lone.run_until(lambda: right.is_connected)

    assert not wrong.is_connected
    assert [image.session_id for image in requester.subscription.images] == [right.session_id]


def test_an_ordinary_subscription_receives_all_responses(lone, requests):
    everything = lone.add_subscription("aeron:ipc", 1002)
    connect(lone, requests)
    connect(lone, requests)

    lone.run_until(lambda: len(everything.images) == 2)
    assert len({image.session_id for image in everything.images}) == 2


def test_an_ordinary_subscription_that_a_request_names_still_receives_all_responses(lone, requests):
    subscription = lone.add_subscription("aeron:ipc", 1002)
    publication = lone.add_exclusive_publication(
        f"aeron:ipc?response-correlation-id={subscription.registration_id}", 1001
    )
    lone.run_until(lambda: requests.images)
    channel = f"{RESPONSES}|response-correlation-id={requests.images[0].correlation_id}"
    lone.add_exclusive_publication(channel, 1002)
    lone.add_publication("aeron:ipc", 1002)

    lone.run_until(lambda: len(subscription.images) == 2)
    assert publication.is_connected


def test_two_responders_of_one_requester_are_both_connected(lone, requests):
    requester, first = connect(lone, requests)
    second = answer(lone, requester, requests)
    lone.run_until(lambda: second.is_connected)

    first.offer(b"first")
    second.offer(b"second")
    lone.run_for(10 * MS, each=requester.sink.poll)

    assert sorted(requester.sink.all) == [b"first", b"second"]


def test_responding_clients_of_one_requester_share_a_publication(lone, requests):
    requester = Requester(lone)
    channel = f"{RESPONSES}|response-correlation-id={requester.image(lone, requests).correlation_id}"

    first, second = lone.add_publication(channel, 1002), lone.add_publication(channel, 1002)
    apart = lone.add_publication(RESPONSES, 1002)

    assert first.original_registration_id == second.original_registration_id
    assert first.original_registration_id != apart.original_registration_id


def test_a_responder_is_disconnected_when_the_requester_closes(lone, requests):
    requester, responses = connect(lone, requests)

    requester.publication.close()
    requester.subscription.close()
    lone.run_until(lambda: not responses.is_connected and not requests.images)

    assert responses.offer(b"too late") == NOT_CONNECTED


def test_a_responder_is_disconnected_when_the_requester_dies(lone, requests):
    client = lone.driver.connect()
    _, responses = connect(lone, requests, client)

    lone.driver.abandon(client)

    lone.run_until(lambda: not responses.is_connected, within_ns=30 * S)
    assert responses.offer(b"too late") == NOT_CONNECTED


def test_a_requester_that_returns_gets_new_responses(lone, requests):
    first, responses = connect(lone, requests)
    first.publication.close()
    first.subscription.close()
    responses.close()
    lone.run_until(lambda: not requests.images)

    second, responses = connect(lone, requests)
    responses.offer(b"again")
    lone.run_until(lambda: second.sink.poll() == 0 and second.sink.all)

    assert second.sink.all == [b"again"]


def test_another_responder_can_take_over(lone, requests):
    requester, responses = connect(lone, requests)
    responses.close()
    lone.run_until(lambda: not requester.subscription.images)

    responses = answer(lone, requester, requests)
    lone.run_until(lambda: requester.subscription.is_connected)
    responses.offer(b"from another")
    lone.run_until(lambda: requester.sink.poll() == 0 and requester.sink.all)

    assert requester.sink.all == [b"from another"]


def test_a_response_that_cannot_be_created_leaves_the_subscription_waiting(lone, requests):
    requester = Requester(lone)
    image = requester.image(lone, requests)
    channel = f"{RESPONSES}|response-correlation-id={image.correlation_id}|session-id=5"
    lone.add_publication("aeron:ipc?session-id=5", 1002)
    with pytest.raises(RegistrationError, match="clashing"):
        lone.add_publication(channel, 1002)

    responses = answer(lone, requester, requests)

    lone.run_until(lambda: responses.is_connected)


def test_a_slow_requester_delays_only_its_own_responses(lone, requests):
    first, to_first = connect(lone, requests)
    second, to_second = connect(lone, requests)

    def offer(publication):
        result = publication.offer(bytes(1024))
        lone.step()
        return result

    lone.run_until(lambda: offer(to_first) == BACK_PRESSURED)
    for _ in range(100):
        assert offer(to_second) != BACK_PRESSURED
        second.sink.poll()

    assert first.subscription.is_connected


@pytest.mark.parametrize("value", ["what", "-2", "-3", "5x"])
@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:5", RESPONSES])
def test_an_invalid_correlation_id_is_refused(lone, channel, value):
    separator = "|" if "?" in channel else "?"

    with pytest.raises(RegistrationError, match="greater than or equal to -1, or 'prototype'") as refused:
        lone.add_publication(f"{channel}{separator}response-correlation-id={value}", 1001)

    assert refused.value.code is ErrorCode.GENERIC_ERROR

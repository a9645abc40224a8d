"""Response channels between our driver and the real one: requests one way, responses back."""

from __future__ import annotations

import socket
import time

import pytest

import aeron_core

pytestmark = pytest.mark.interop

DEADLINE_S = 30
COUNT = 1000


@pytest.fixture
def response_channel():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"aeron:udp?control=127.0.0.1:{probe.getsockname()[1]}|control-mode=response"


def await_that(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline


def relay(publication, subscription):
    """Send numbers and return what arrives."""
    received = []
    sent = 0

    def step():
        nonlocal sent
        if sent < COUNT and publication.offer(b"%d" % sent) > 0:
            sent += 1
        subscription.poll(lambda buffer, _: received.append(int(bytes(buffer))), 50)
        return len(received) == COUNT

    await_that(step)
    return received


@pytest.mark.parametrize(
    ("requester", "responder"),
    [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours"), ("theirs", "theirs")],
)
def test_each_of_two_requesters_is_answered_on_a_stream_of_its_own(
    our_driver, foreign_driver, udp_channel, response_channel, requester, responder
):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    with (
        aeron_core.connect(drivers[requester]()) as asking,
        aeron_core.connect(drivers[responder]()) as answering,
    ):
        requests = answering.add_subscription(udp_channel, 1001)
        pairs = []
        for count in (1, 2):
            responses = asking.add_subscription(response_channel, 1002)
            request = asking.add_exclusive_publication(
                f"{udp_channel}|response-correlation-id={responses.registration_id}", 1001
            )
            await_that(lambda count=count: len(requests.images) == count)
            image = next(image for image in requests.images if image.session_id == request.session_id)
            answer = answering.add_exclusive_publication(
                f"{response_channel}|response-correlation-id={image.correlation_id}", 1002
            )
            answer.await_connected(timeout=DEADLINE_S)
            pairs.append((answer, responses))

        for answer, responses in pairs:
            await_that(lambda responses=responses: responses.is_connected)
            assert [image.session_id for image in responses.images] == [answer.session_id]
            assert relay(answer, responses) == list(range(COUNT))

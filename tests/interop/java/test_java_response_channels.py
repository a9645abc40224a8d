"""Response channels between our and the Java client and driver."""

from __future__ import annotations

import pytest
from messages import expected_checksum
from parties import exchange
from party_facts import await_true

pytestmark = pytest.mark.interop

COUNT = 5000
IPC = "aeron:ipc?alias=requests", "aeron:ipc?control-mode=response"
OVER_IPC = "{asking} requests, {answering} responds, {driver_driver}"
OVER_UDP = "{requester} requests, {responder} responds"
each_driver = pytest.mark.parametrize("driver", ["ours", "java"])
of_two_clients = pytest.mark.parametrize(
    ("asking", "answering"), [("java", "java"), ("java", "ours"), ("ours", "java")]
)
of_two_drivers = pytest.mark.parametrize(
    ("requester", "responder"),
    [
        ("java/ours", "java/java"),
        ("java/java", "java/ours"),
        ("java/java", "ours/ours"),
        ("ours/ours", "java/java"),
    ],
)


@pytest.fixture
def udp(udp_channel, free_port):
    """Return a request channel and a response channel."""
    return udp_channel, f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=response"


class Responder:
    """A client that receives the requests of all requesters."""

    def __init__(self, client, channels, stream_id):
        self.client = client
        self.channels = channels
        self.stream_id = stream_id
        self.requests = client.subscription(channels[0], stream_id)

    def image_of(self, request):
        """Wait for the image of a request publication and return it."""

        def image():
            return next(
                (found for found in self.requests.images if found.session_id == request.session_id), None
            )

        await_true(image, "the image of a requester")
        return image()

    def respond_to(self, image):
        """Return a response publication, which may not be connected yet."""
        return self.client.publication(
            f"{self.channels[1]}|response-correlation-id={image.correlation_id}",
            self.stream_id + 10_000,
            "exclusive",
        )

    def connect(self, asking):
        """Return the request publication and the two ends of the responses of a further requester."""
        responses = asking.subscription(self.channels[1], self.stream_id + 10_000)
        request = asking.publication(
            f"{self.channels[0]}|response-correlation-id={responses.registration_id}",
            self.stream_id,
            "exclusive",
        )
        response = self.respond_to(self.image_of(request))
        response.await_connected()
        responses.await_images(1)
        return request, response, responses


def check_responses(asking, responder):
    request, response, responses = responder.connect(asking)

    answered = responder.requests.respond(response, COUNT)
    received = responses.receive(COUNT)

    assert request.send(COUNT).result(120) == str(COUNT)
    assert answered.result(120) == str(COUNT)
    assert received.result(120) == expected_checksum(COUNT)


@pytest.mark.compatible("response channel, IPC", OVER_IPC)
@each_driver
@of_two_clients
def test_requests_over_ipc_get_responses(at, stream_id, driver, asking, answering):
    check_responses(at(f"{asking}/{driver}"), Responder(at(f"{answering}/{driver}"), IPC, stream_id))


@pytest.mark.compatible("response channel, UDP", OVER_UDP)
@of_two_drivers
def test_requests_between_drivers_get_responses(at, udp, stream_id, requester, responder):
    check_responses(at(requester), Responder(at(responder), udp, stream_id))


def check_two_requesters(asking, responder):
    requesters = [responder.connect(asking) for _ in range(2)]

    for _, response, responses in requesters:
        assert [image.session_id for image in responses.images] == [response.session_id]
        exchange(response, responses, count=COUNT)


@pytest.mark.compatible("response channels, IPC, two requesters", OVER_IPC)
@each_driver
@of_two_clients
def test_each_of_two_requesters_over_ipc_has_its_own_response_stream(
    at, stream_id, driver, asking, answering
):
    check_two_requesters(at(f"{asking}/{driver}"), Responder(at(f"{answering}/{driver}"), IPC, stream_id))


@pytest.mark.compatible("response channels, UDP, two requesters", OVER_UDP)
@of_two_drivers
def test_each_of_two_requesters_has_its_own_response_stream(at, udp, stream_id, requester, responder):
    check_two_requesters(at(requester), Responder(at(responder), udp, stream_id))


@pytest.mark.compatible("response channels, a requester reconnects", OVER_UDP)
@of_two_drivers
def test_a_requester_that_reconnects_gets_responses_again(at, udp, stream_id, requester, responder):
    asking, answering = at(requester), Responder(at(responder), udp, stream_id)

    for _ in range(2):
        request, response, responses = answering.connect(asking)
        exchange(response, responses, count=COUNT)

        responses.close()
        request.close()

        await_true(lambda response=response: not response.is_connected, "the end of the responses")
        answering.requests.await_images(0)
        response.close()


@pytest.mark.compatible("response channels, IPC, two responders of one requester", OVER_IPC)
@each_driver
@of_two_clients
def test_two_responders_of_one_requester_over_ipc_are_both_received(at, stream_id, driver, asking, answering):
    responder = Responder(at(f"{answering}/{driver}"), IPC, stream_id)
    request, first, responses = responder.connect(at(f"{asking}/{driver}"))

    second = responder.respond_to(responder.image_of(request))
    second.await_connected()

    sessions = {image.session_id for image in responses.await_images(2)}
    assert sessions == {first.session_id, second.session_id}

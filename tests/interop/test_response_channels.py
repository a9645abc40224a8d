"""Response channels between our and the real client and driver."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import pytest
from messages import expected_checksum

import aeron_core

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
DEADLINE_S = 60
COUNT = 5000


@pytest.fixture
def response_channel():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"aeron:udp?control=127.0.0.1:{probe.getsockname()[1]}|control-mode=response"


@pytest.fixture
def clients(foreign_python):
    return {"ours": (sys.executable, PEERS / "ours.py"), "theirs": (foreign_python, PEERS / "foreign.py")}


def await_that(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        # Yield the CPU to the awaited process.
        time.sleep(0.001)


def relay(publication, subscription):
    """Send numbers and return those that arrive."""
    received = []
    sent = 0

    def step():
        nonlocal sent
        for _ in range(100):
            if sent < COUNT and publication.offer(b"%d" % sent) > 0:
                sent += 1
        subscription.poll(lambda buffer, _: received.append(int(bytes(buffer))), 100)
        return len(received) == COUNT

    await_that(step)
    return received


def image_of(requests, publication):
    """Return the responder's image of a publication."""
    await_that(lambda: requests.image_by_session_id(publication.session_id))
    return requests.image_by_session_id(publication.session_id)


def connect_requester(asking, answering, requests, channels):
    """Return the response publication and subscription of a further requester, and its request publication."""
    request_channel, response_channel = channels
    responses = asking.add_subscription(response_channel, 1002)
    separator = "|" if "?" in request_channel else "?"
    request = asking.add_exclusive_publication(
        f"{request_channel}{separator}response-correlation-id={responses.registration_id}", 1001
    )
    image = image_of(requests, request)
    answer = answering.add_exclusive_publication(
        f"{response_channel}|response-correlation-id={image.correlation_id}", 1002
    )
    answer.await_connected(timeout=DEADLINE_S)
    responses.await_connected(timeout=DEADLINE_S)
    return answer, responses, request


def check_two_requesters(asking, answering, channels):
    requests = answering.add_subscription(channels[0], 1001)
    pairs = [connect_requester(asking, answering, requests, channels) for _ in range(2)]

    for answer, responses, _ in pairs:
        assert [image.session_id for image in responses.images] == [answer.session_id]
        assert relay(answer, responses) == list(range(COUNT))


@pytest.mark.compatible(
    "response channels, UDP, two requesters", "{requester_driver} requests, {responder_driver} responds"
)
@pytest.mark.parametrize(
    ("requester", "responder"),
    [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours"), ("theirs", "theirs")],
)
def test_each_of_two_requesters_has_its_own_response_stream(
    our_driver, foreign_driver, udp_channel, response_channel, requester, responder
):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    with (
        aeron_core.connect(drivers[requester]()) as asking,
        aeron_core.connect(drivers[responder]()) as answering,
    ):
        check_two_requesters(asking, answering, (udp_channel, response_channel))


@pytest.mark.compatible("response channels, IPC, two requesters", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_each_of_two_requesters_over_ipc_has_its_own_response_stream(our_driver, foreign_driver, driver):
    directory = {"ours": our_driver, "theirs": foreign_driver}[driver]()
    with aeron_core.connect(directory) as asking, aeron_core.connect(directory) as answering:
        check_two_requesters(asking, answering, ("aeron:ipc", "aeron:ipc?control-mode=response"))


@pytest.mark.compatible(
    "response channels, a requester reconnects", "{requester_driver} requests, {responder_driver} responds"
)
@pytest.mark.parametrize(
    ("requester", "responder"),
    [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours"), ("theirs", "theirs")],
)
def test_a_requester_that_reconnects_gets_responses_again(
    our_driver, foreign_driver, udp_channel, response_channel, requester, responder
):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    channels = udp_channel, response_channel
    with (
        aeron_core.connect(drivers[requester]()) as asking,
        aeron_core.connect(drivers[responder]()) as answering,
    ):
        requests = answering.add_subscription(udp_channel, 1001)
        for _ in range(2):
            answer, responses, request = connect_requester(asking, answering, requests, channels)
            assert relay(answer, responses) == list(range(COUNT))

            responses.close()
            request.close()

            await_that(lambda answer=answer: not answer.is_connected)
            # The real driver lowers the limit some time later.
            await_that(lambda answer=answer: answer.offer(b"too late") == aeron_core.NOT_CONNECTED)
            await_that(lambda: not requests.images)
            answer.close()


@pytest.mark.compatible("response channels, IPC, two responders of one requester", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_two_responders_of_one_requester_over_ipc_are_both_received(our_driver, foreign_driver, driver):
    directory = {"ours": our_driver, "theirs": foreign_driver}[driver]()
    channels = "aeron:ipc", "aeron:ipc?control-mode=response"
    with aeron_core.connect(directory) as asking, aeron_core.connect(directory) as answering:
        requests = answering.add_subscription("aeron:ipc", 1001)
        first, responses, request = connect_requester(asking, answering, requests, channels)
        image = image_of(requests, request)

        second = answering.add_exclusive_publication(
            f"{channels[1]}|response-correlation-id={image.correlation_id}", 1002
        )
        second.await_connected(timeout=DEADLINE_S)

        await_that(
            lambda: {image.session_id for image in responses.images} == {first.session_id, second.session_id}
        )


def check_echo(start, clients, asking, answering, directories, channels):
    """Run a requester at one driver and a responder at the other."""
    asks_at, answers_at = directories
    requests, responses = channels
    with aeron_core.connect(answers_at) as observer:
        # This client has the same correlation id of the image as the responder, which cannot report it.
        watched = observer.add_subscription(requests, 1001)
        requester = start(*clients[asking], "ask", asks_at, requests, responses, COUNT)
        await_that(lambda: watched.images)
        image_id = watched.images[0].correlation_id
        responder = start(*clients[answering], "answer", answers_at, requests, responses, COUNT, image_id)
        responder.await_line("ready")
        watched.close()
        asked = requester.result()
        assert responder.result() == {"answered": COUNT}
    assert asked == {"sent": COUNT, "received": COUNT, "checksum": expected_checksum(COUNT)}


@pytest.mark.compatible(
    "response channel, UDP",
    "{asking} at {requester_driver} requests, {answering} at {responder_driver} responds",
)
@pytest.mark.parametrize(
    ("requester", "responder"), [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours")]
)
@pytest.mark.parametrize(
    ("asking", "answering"), [("theirs", "theirs"), ("theirs", "ours"), ("ours", "theirs")]
)
def test_requests_between_drivers_get_responses(
    start,
    our_driver,
    foreign_driver,
    clients,
    udp_channel,
    response_channel,
    requester,
    responder,
    asking,
    answering,
):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    directories = drivers[requester](), drivers[responder]()

    check_echo(start, clients, asking, answering, directories, (udp_channel, response_channel))


@pytest.mark.compatible("response channel, IPC", "{asking} requests, {answering} responds, {driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
@pytest.mark.parametrize(
    ("asking", "answering"), [("theirs", "theirs"), ("theirs", "ours"), ("ours", "theirs"), ("ours", "ours")]
)
def test_requests_over_ipc_get_responses(
    start, our_driver, foreign_driver, clients, driver, asking, answering
):
    directory = {"ours": our_driver, "theirs": foreign_driver}[driver]()
    channels = ("aeron:ipc", "aeron:ipc?control-mode=response")

    check_echo(start, clients, asking, answering, (directory, directory), channels)

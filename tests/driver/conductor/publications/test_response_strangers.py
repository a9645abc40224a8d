"""Forged frames on response channels."""

import pytest

from aeron_core._native import wire
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedLink, SimulatedPeer, Sink, encode_frame, frames_of
from aeron_core.testing.pair import MS, S

REQUESTS = "aeron:udp?endpoint=10.0.0.2:20121"
RESPONSES = "aeron:udp?control=10.0.0.2:20122|control-mode=response"


class Dialogue:
    """A requester at the sending driver and a responder at the other."""

    def __init__(self, pair):
        self._pair = pair
        self.requests = pair.add_subscription(REQUESTS, 1001)
        self.subscription = pair.result(pair.publisher.add_subscription_async(RESPONSES, 1002))
        channel = f"{REQUESTS}|response-correlation-id={self.subscription.registration_id}"
        self.publication = pair.add_exclusive_publication(channel, 1001)
        self.sink = Sink(self.subscription)
        pair.run_until(lambda: self.requests.images)

    def answer(self):
        """Return the publication of responses."""
        channel = f"{RESPONSES}|response-correlation-id={self.requests.images[0].correlation_id}"
        return self._pair.result(self._pair.subscriber.add_exclusive_publication_async(channel, 1002))

    def connect(self):
        """Return the publication of responses when it is connected."""
        responses = self.answer()
        self._pair.run_until(lambda: responses.is_connected and self.subscription.is_connected)
        return responses

    def await_responses(self):
        """Return the responses when there are some."""
        self._pair.run_until(lambda: self.sink.poll() == 0 and self.sink.all)
        return self.sink.all


@pytest.fixture
def pair(start_pair):
    # A connected socket would receive nothing from a stranger.
    return start_pair(driver_connect=False)


@pytest.fixture
def dialogue(pair):
    return Dialogue(pair)


def stranger_to(pair):
    """Return a stranger: a socket that sends to the socket of the requests."""
    source = next(line.source for line in pair.network.log if frames_of(Setup, [line.data]))
    return SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.SENDER, int(source.rpartition(":")[2])))


def encoded_setup(dialogue, response_session_id, **fields):
    """Return a RSP_SETUP as bytes; `fields` replace those of the requests."""
    setup = {"session_id": dialogue.publication.session_id, "stream_id": 1001} | fields
    return encode_frame(ResponseSetup(response_session_id=response_session_id, **setup))


@pytest.mark.parametrize("sessions", [range(200), [5] * 200], ids=["many sessions", "one session"])
def test_forged_response_setups_do_not_disconnect_responses(pair, dialogue, sessions):
    responses = dialogue.connect()
    stranger = stranger_to(pair)

    for session_id in sessions:
        stranger.send(encoded_setup(dialogue, session_id))
        pair.run_for(1 * MS)
    responses.offer(b"answer")

    assert dialogue.await_responses() == [b"answer"]
    assert pair.sender.counted("conductor_proxy_fails") == 0


def test_a_genuine_response_setup_overrules_an_earlier_forged_one(pair, dialogue):
    stranger_to(pair).send(encoded_setup(dialogue, 99))
    pair.run_for(500 * MS)

    assert dialogue.connect().is_connected


def test_an_unrequested_response_setup_is_counted(pair):
    requests = pair.add_subscription(REQUESTS, 1001)
    publication = pair.add_exclusive_publication(REQUESTS, 1001)
    pair.run_until(lambda: requests.images)
    setup = ResponseSetup(session_id=publication.session_id, stream_id=1001)

    stranger_to(pair).send(encode_frame(setup))
    pair.run_for(10 * MS)

    assert pair.sender.counted("invalid_packets") == 1


@pytest.mark.parametrize("fields", [{"session_id": 7}, {"stream_id": 1002}], ids=["session", "stream"])
def test_a_response_setup_of_another_stream_is_ignored(pair, dialogue, fields):
    stranger_to(pair).send(encoded_setup(dialogue, 99, **fields))
    pair.run_for(100 * MS)

    assert pair.sender.counted("invalid_packets") == 0
    assert dialogue.connect().is_connected


def test_a_truncated_response_setup_is_counted(pair, dialogue):
    stranger_to(pair).send(encoded_setup(dialogue, 99)[:-4])
    pair.run_for(10 * MS)

    assert pair.sender.counted("invalid_packets") == 1
    assert dialogue.connect().is_connected


def request_as_client(pair, responses):
    """Request a SETUP of the responses from a stranger; return the stranger."""
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20122))
    sm = StatusMessage(session_id=responses.session_id, stream_id=1002, flags=wire.SM_FLAG_SEND_SETUP)
    stranger.send(encode_frame(sm))
    pair.run_for(100 * MS)
    return stranger


def test_a_stranger_cannot_redirect_responses_that_have_a_receiver(pair, dialogue):
    responses = dialogue.connect()

    stranger = request_as_client(pair, responses)
    responses.offer(b"a secret")
    messages = dialogue.await_responses()
    pair.run_for(1 * S)

    assert messages == [b"a secret"]
    assert stranger.receive() == []


def test_a_stranger_that_asked_first_does_not_block_the_requester(pair, dialogue):
    pair.network.set_link(SimulatedLink(loss=1), source=pair.RECEIVER)
    responses = dialogue.answer()
    request_as_client(pair, responses)

    pair.network.set_link(SimulatedLink(), source=pair.RECEIVER)

    pair.run_until(lambda: responses.is_connected and dialogue.subscription.is_connected)

"""Response channels: each requester has a response stream of its own."""

import pytest
from responding import REQUESTS, RESPONSES, Requester, connect, serve

from aeron_core._native import wire
from aeron_core.errors import AeronError, ErrorCode, RegistrationError
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.setup import Setup
from aeron_core.testing import SimulatedLink, Sink, frames_of
from aeron_core.testing.pair import MS, S, Simulation


@pytest.fixture
def requests(pair):
    return pair.add_subscription(REQUESTS, 1001)


def test_a_requester_receives_its_responses(pair, requests):
    requester, responses = connect(pair, requests)
    asked = Sink(requests)

    requester.publication.offer(b"question")
    pair.run_until(lambda: asked.poll() == 0 and asked.all)
    responses.offer(b"answer")
    pair.run_until(lambda: requester.sink.poll() == 0 and requester.sink.all)

    assert asked.all == [b"question"]
    assert requester.sink.all == [b"answer"]
    assert [image.session_id for image in requester.subscription.images] == [responses.session_id]


def test_each_requester_receives_only_its_own_responses(pair, requests):
    first, to_first = connect(pair, requests)
    second, to_second = connect(pair, requests)

    for _ in range(3):
        to_first.offer(b"to the first")
        to_second.offer(b"to the second")
        pair.run_for(10 * MS, each=lambda: (first.sink.poll(), second.sink.poll()))

    assert first.sink.all == [b"to the first"] * 3
    assert second.sink.all == [b"to the second"] * 3


def test_everything_arrives_over_a_lossy_link(start_pair):
    pair = start_pair(link=SimulatedLink(loss=0.3, latency_ns=1 * MS), seed=4)
    requests = pair.add_subscription(REQUESTS, 1001)
    requester, responses = connect(pair, requests)

    for number in range(20):
        pair.run_until(lambda number=number: responses.offer(b"%d" % number) > 0)
    pair.run_until(lambda: (requester.sink.poll(), len(requester.sink.all) == 20)[1])

    assert requester.sink.all == [b"%d" % number for number in range(20)]


def test_a_setup_requests_responses_and_their_session_is_announced_until_they_arrive(pair, requests):
    requester, responses = connect(pair, requests)
    pair.run_for(2 * S, each=requester.sink.poll)

    announced = frames_of(ResponseSetup, pair.answered())
    setups = [frame for frame in frames_of(Setup, pair.sent()) if frame.stream_id == 1001]
    assert all(frame.flags & wire.SETUP_FLAG_SEND_RESPONSE for frame in setups)
    assert {(frame.session_id, frame.stream_id, frame.response_session_id) for frame in announced} == {
        (requester.publication.session_id, 1001, responses.session_id)
    }
    before = len(announced)
    pair.run_for(2 * S, each=requester.sink.poll)
    assert len(frames_of(ResponseSetup, pair.answered())) == before


def test_responses_are_not_sent_before_they_are_requested(pair, requests):
    Requester(pair)
    pair.run_until(lambda: requests.images)
    pair.network.set_link(SimulatedLink(loss=1), destination=f"{pair.RECEIVER}:20122")

    responses = serve(pair, requests)
    pair.run_for(1 * S)

    assert not responses.is_connected
    assert [line for line in pair.network.log if line.source == f"{pair.RECEIVER}:20122"] == []


def test_nothing_is_received_before_the_session_of_the_responses_is_known(pair, requests):
    requester = Requester(pair)
    pair.run_for(1 * S)

    assert requester.publication.is_connected
    assert not requester.subscription.is_connected


def test_a_requester_that_closes_and_returns_gets_new_responses(pair, requests):
    first, responses = connect(pair, requests)
    first.publication.close()
    first.subscription.close()
    responses.close()
    pair.run_until(lambda: not requests.images, within_ns=30 * S)

    second, responses = connect(pair, requests)
    responses.offer(b"again")
    pair.run_until(lambda: second.sink.poll() == 0 and second.sink.all)

    assert second.sink.all == [b"again"]


def test_a_prototype_keeps_the_socket_open_for_later_responses(pair, requests):
    prototype = pair.result(
        pair.subscriber.add_exclusive_publication_async(
            f"{RESPONSES}|response-correlation-id=prototype", 1002
        )
    )
    pair.run_for(1 * S)
    requester, responses = connect(pair, requests)

    responses.offer(b"answer")
    pair.run_until(lambda: requester.sink.poll() == 0 and requester.sink.all)

    assert not prototype.is_connected
    assert prototype.term_buffer_length == 64 * 1024
    assert len(pair.receiver.find_counters("snd-channel")) == 1


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        (
            f"{REQUESTS}|response-correlation-id=77",
            "unable to find response subscription for response-correlation-id=77",
        ),
        (RESPONSES, "control-mode=response was specified, but no response-correlation-id set"),
        (f"{RESPONSES}|response-correlation-id=77", "image.correlationId=77 not found"),
    ],
)
def test_a_publication_without_its_response_subscription_or_image_is_refused(pair, channel, message):
    with pytest.raises(RegistrationError, match=message) as refused:
        pair.result(pair.subscriber.add_publication_async(channel, 1002))

    assert refused.value.code is ErrorCode.GENERIC_ERROR


def test_an_image_that_did_not_request_responses_gets_none(pair, requests):
    pair.add_publication(REQUESTS, 1001)
    pair.run_until(lambda: requests.images)

    with pytest.raises(AeronError, match="did not request a response channel"):
        serve(pair, requests)


def test_a_response_setup_for_a_removed_subscription_is_ignored(start_pair):
    pair = start_pair(driver_connect=False)
    requests = pair.add_subscription(REQUESTS, 1001)
    requester = Requester(pair)
    pair.run_until(lambda: requests.images)
    requester.subscription.close()
    responses = serve(pair, requests)

    pair.run_for(2 * S)

    assert not responses.is_connected
    assert pair.sender.errors() == []
    assert pair.sender.find_counters("rcv-channel") == []


def test_responses_are_announced_to_a_requester_at_once(pair, requests):
    Requester(pair)
    pair.run_until(lambda: requests.images)
    pair.run_for(1 * S)

    responses = serve(pair, requests)

    assert pair.run_until(lambda: frames_of(ResponseSetup, pair.answered())) < 5 * MS
    pair.run_until(lambda: responses.is_connected)


def test_responses_are_not_announced_after_they_have_a_receiver(pair, requests):
    _, responses = connect(pair, requests)
    pair.run_for(10 * MS)
    announced = len(frames_of(ResponseSetup, pair.answered()))

    pair.run_for(2 * S)

    assert responses.is_connected
    assert len(frames_of(ResponseSetup, pair.answered())) == announced


def test_a_subscription_to_one_session_receives_no_other(pair, requests):
    subscription = pair.result(pair.publisher.add_subscription_async(f"{RESPONSES}|session-id=5", 1002))
    channel = f"{REQUESTS}|response-correlation-id={subscription.registration_id}"
    pair.add_exclusive_publication(channel, 1001)
    pair.run_until(lambda: requests.images)
    answers = f"{RESPONSES}|response-correlation-id={requests.images[-1].correlation_id}"

    wrong = pair.result(pair.subscriber.add_exclusive_publication_async(f"{answers}|session-id=6", 1002))
    pair.run_for(2 * S)
    right = pair.result(pair.subscriber.add_exclusive_publication_async(f"{answers}|session-id=5", 1002))
    pair.run_until(lambda: right.is_connected)

    assert not wrong.is_connected


def test_requesters_that_share_a_socket_are_independent(pair, requests):
    channel = f"{RESPONSES}|endpoint={pair.SENDER}:20123"
    waiting = pair.result(pair.publisher.add_subscription_async(channel, 1003))
    for _ in range(2):
        subscription = pair.result(pair.publisher.add_subscription_async(channel, 1002))
        request = pair.add_publication(
            f"{REQUESTS}|response-correlation-id={subscription.registration_id}", 1001
        )
        pair.run_until(lambda: requests.images)
        responses = serve(pair, requests)
        pair.run_until(lambda subscription=subscription: subscription.is_connected)
        for resource in (responses, request, subscription):
            resource.close()
        pair.run_until(lambda: not requests.images, within_ns=30 * S)

    assert len(pair.sender.find_counters("rcv-channel")) == 1
    waiting.close()
    pair.run_until(lambda: not pair.sender.find_counters("rcv-channel"), within_ns=30 * S)


def test_a_spy_reads_responses(pair, requests):
    spy = pair.add_subscription(f"aeron-spy:{RESPONSES}", 1002)
    _, responses = connect(pair, requests)
    seen = Sink(spy)

    responses.offer(b"answer")
    pair.run_until(lambda: seen.poll() == 0 and seen.all)

    assert seen.all == [b"answer"]


@pytest.mark.parametrize("control", ["", f"|endpoint={'10.0.0.1'}:20123"])
def test_responses_can_be_subscribed_to_without_the_address_of_their_sender(pair, control):
    subscription = pair.result(
        pair.publisher.add_subscription_async(f"aeron:udp?control-mode=response{control}", 1002)
    )

    assert pair.result(
        pair.publisher.add_publication_async(
            f"{REQUESTS}|response-correlation-id={subscription.registration_id}", 1001
        )
    )


@pytest.mark.parametrize("is_first_of_responses", [True, False])
def test_a_response_subscription_shares_no_socket_with_others_of_its_stream(pair, is_first_of_responses):
    channels = [
        "aeron:udp?endpoint=10.0.0.1:20123|control-mode=response",
        "aeron:udp?endpoint=10.0.0.1:20123",
    ]
    first, second = channels if is_first_of_responses else channels[::-1]
    pair.result(pair.publisher.add_subscription_async(first, 1002))

    with pytest.raises(RegistrationError, match="option conflicts with existing subscription") as refused:
        pair.result(pair.publisher.add_subscription_async(second, 1002))

    assert refused.value.code is ErrorCode.GENERIC_ERROR


def test_connected_responses_can_be_subscribed_to_by_others(pair, requests):
    _, responses = connect(pair, requests)
    channel = f"aeron:udp?control={pair.RECEIVER}:20122|session-id={responses.session_id}"

    other = pair.result(pair.publisher.add_subscription_async(channel, 1002))

    pair.run_until(lambda: other.is_connected)
    assert len(pair.sender.find_counters("rcv-channel")) == 1


def test_a_prototype_uses_short_terms_even_if_long_ones_are_requested(pair):
    prototype = pair.result(
        pair.subscriber.add_publication_async(
            f"{RESPONSES}|response-correlation-id=prototype|term-length=1m|pub-wnd=256k", 1002
        )
    )

    assert prototype.term_buffer_length == 64 * 1024


def test_a_prototype_over_shared_memory_is_an_ordinary_publication(pair):
    publication = pair.result(
        pair.subscriber.add_publication_async(
            "aeron:ipc?control-mode=response|response-correlation-id=prototype|term-length=128k", 1002
        )
    )

    assert publication.term_buffer_length == 128 * 1024


def test_responses_over_ipv6(memory_path):
    with Simulation(memory_path) as simulation:
        asking, answering = (simulation.add_driver(host).connect() for host in ("fd00::1", "fd00::2"))
        channel = "aeron:udp?control=[fd00::2]:20122|control-mode=response"
        subscription = simulation.result(asking.add_subscription_async(channel, 1002))
        requests = simulation.result(
            answering.add_subscription_async("aeron:udp?endpoint=[fd00::2]:20121", 1001)
        )
        simulation.result(
            asking.add_publication_async(
                f"aeron:udp?endpoint=[fd00::2]:20121|response-correlation-id={subscription.registration_id}",
                1001,
            )
        )
        simulation.run_until(lambda: requests.images)
        responses = simulation.result(
            answering.add_publication_async(
                f"{channel}|response-correlation-id={requests.images[0].correlation_id}", 1002
            )
        )
        sink = Sink(subscription)

        simulation.run_until(lambda: responses.offer(b"answer") > 0)
        simulation.run_until(lambda: sink.poll() == 0 and sink.all)

        assert sink.all == [b"answer"]

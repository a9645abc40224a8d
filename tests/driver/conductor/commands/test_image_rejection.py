"""Rejection of an image: the publisher gets the reason, and the stream is away for a cool-down."""

import pytest

from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.protocol import commands
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedLink, Sink, frames_of
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
IMAGE_LIVENESS_NS = 10 * S


class Rejecting:
    """A stream between the drivers of a pair that its subscriber can reject."""

    def __init__(self, pair, channel=CHANNEL):
        self.pair = pair
        self.error_frames = []
        self.publisher = pair.sender.connect(on_publication_error=self.error_frames.append)
        self.subscription = pair.add_subscription(channel, 1001)
        self.publication = pair.result(self.publisher.add_publication_async(CHANNEL, 1001))
        pair.run_until(lambda: self.publication.is_connected and self.subscription.is_connected)

    def reject(self, reason="not wanted", image_id=None):
        """Reject the image; return the driver's response, or raise its error."""
        return reject(
            self.pair, self.pair.subscriber, self.image_id if image_id is None else image_id, reason
        )

    @property
    def image_id(self):
        return self.subscription.images[0].correlation_id


def reject(simulation, client, image_id, reason):
    """Send what `Image.reject` sends, without waiting for a driver that the test has to step."""
    return simulation.result(client._operations.command("reject", commands.RejectImage, image_id, 0, reason))


@pytest.fixture
def rejecting(pair):
    return Rejecting(pair)


def answers_since(pair, kind, count):
    return frames_of(kind, pair.answered()[count:])


def test_the_publisher_gets_the_address_of_the_receiver_and_the_reason(pair, rejecting):
    receiver_id = frames_of(StatusMessage, pair.answered())[-1].receiver_id

    rejecting.reject("not wanted")
    pair.run_for(300 * MS)

    (frame,) = rejecting.error_frames
    assert (frame.error_code, frame.error_message) == (ErrorCode.IMAGE_REJECTED, "not wanted")
    assert (frame.registration_id, frame.session_id, frame.stream_id) == (
        rejecting.publication.registration_id,
        rejecting.publication.session_id,
        1001,
    )
    assert frame.receiver_id == receiver_id
    assert frame.source == (pair.RECEIVER, 20121)
    assert not rejecting.publication.is_connected
    assert pair.receiver.counted("images_rejected") == 1
    assert pair.sender.counted("error_frames_received") == pair.receiver.counted("error_frames_sent") > 0


@pytest.mark.parametrize("index", [0, 1])
def test_the_publisher_gets_the_id_of_the_destination_that_rejected(pair, index):
    error_frames = []
    publisher = pair.sender.connect(on_publication_error=error_frames.append)
    publication = pair.result(publisher.add_publication_async("aeron:udp?control-mode=manual", 1001))
    channels = [f"aeron:udp?endpoint={pair.RECEIVER}:{port}" for port in (20121, 20131)]
    subscriptions = [pair.add_subscription(channel, 1001) for channel in channels]
    ids = [pair.result(publication.add_destination_async(channel)) for channel in channels]
    pair.run_until(lambda: all(each.is_connected for each in subscriptions))

    reject(pair, pair.subscriber, subscriptions[index].images[0].correlation_id, "not wanted")
    pair.run_for(300 * MS)

    assert [frame.destination_registration_id for frame in error_frames] == [ids[index]]


def test_a_dynamic_destination_has_no_id(pair):
    error_frames = []
    publisher = pair.sender.connect(on_publication_error=error_frames.append)
    control = f"control={pair.SENDER}:20120|control-mode=dynamic"
    publication = pair.result(publisher.add_publication_async(f"aeron:udp?{control}", 1001))
    subscription = pair.add_subscription(f"aeron:udp?endpoint={pair.RECEIVER}:20121|{control}", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)

    reject(pair, pair.subscriber, subscription.images[0].correlation_id, "not wanted")
    pair.run_for(300 * MS)

    assert [frame.destination_registration_id for frame in error_frames] == [-1]


def test_error_frames_replace_status_messages_every_200_ms(pair, rejecting):
    rejecting.reject()
    before = len(pair.answered())

    pair.run_for(2 * S)

    assert answers_since(pair, StatusMessage, before) == []
    errors = answers_since(pair, ErrorFrame, before)
    assert len(errors) in (9, 10)
    assert {(e.error_code, e.text) for e in errors} == {(ErrorCode.IMAGE_REJECTED, "not wanted")}


@pytest.mark.parametrize(("options", "group_tag"), [("", -1), ("|gtag=7", 7), ("|gtag=0", 0)])
def test_an_error_has_the_group_tag_of_the_receiver_or_minus_one(pair, options, group_tag):
    Rejecting(pair, CHANNEL + options).reject()

    pair.run_for(300 * MS)

    assert {error.group_tag for error in frames_of(ErrorFrame, pair.answered())} == {group_tag}


def test_a_rejected_image_receives_nothing_and_sends_no_naks(start_pair):
    pair = start_pair(link=SimulatedLink(loss=0.3))
    rejecting = Rejecting(pair)
    sink = Sink(rejecting.subscription)
    rejecting.reject()
    before = len(pair.answered())

    for number in range(20):
        rejecting.publication.offer(b"message %d" % number)
        pair.run_for(10 * MS, each=sink.poll)

    assert sink.all == []
    assert answers_since(pair, Nak, before) == []


def test_a_rejected_image_is_removed_after_its_liveness_timeout_and_the_stream_returns(pair, rejecting):
    image = rejecting.subscription.images[0]
    rejecting.reject()

    pair.run_for(IMAGE_LIVENESS_NS - 1 * S)
    assert not image.is_closed
    pair.run_for(3 * S)
    assert image.is_closed
    pair.run_until(lambda: rejecting.publication.is_connected and rejecting.subscription.is_connected)

    assert rejecting.image_id != image.correlation_id
    sink = Sink(rejecting.subscription)
    rejecting.publication.offer(b"again")
    pair.run_for(100 * MS, each=sink.poll)
    assert sink.all == [b"again"]


def test_a_rejected_image_without_rejoin_does_not_return(pair):
    rejecting = Rejecting(pair, f"{CHANNEL}|rejoin=false")
    rejecting.reject()

    pair.run_for(20 * S)

    assert not rejecting.subscription.is_connected
    assert not rejecting.publication.is_connected


def test_the_first_reason_is_kept(pair, rejecting):
    rejecting.reject("first")
    rejecting.reject("second")
    pair.run_for(500 * MS)

    assert {e.text for e in frames_of(ErrorFrame, pair.answered())} == {"first"}
    assert pair.receiver.counted("images_rejected") == 2


def test_the_longest_reason_is_1023_bytes(pair, rejecting):
    with pytest.raises(RegistrationError, match="must be 1023 bytes or less: it has 1024 bytes") as raised:
        rejecting.reject("é" * 512)
    assert raised.value.code is ErrorCode.GENERIC_ERROR

    rejecting.reject("é" * 511 + "x")
    pair.run_for(300 * MS)

    assert [frame.error_message for frame in rejecting.error_frames] == ["é" * 511 + "x"]
    assert pair.receiver.counted("images_rejected") == 1


def test_an_unknown_image_cannot_be_rejected(pair, rejecting):
    with pytest.raises(RegistrationError, match="Unable to resolve image for correlationId=4711") as raised:
        rejecting.reject(image_id=4711)

    assert raised.value.code is ErrorCode.GENERIC_ERROR
    assert pair.receiver.counted("images_rejected") == 0
    assert frames_of(ErrorFrame, pair.answered()) == []


def test_a_rejected_publisher_continues_to_send_heartbeats(pair, rejecting):
    rejecting.reject()
    pair.run_for(1 * S)
    before = len(pair.sent())

    pair.run_for(1 * S)

    assert len(frames_of(DataHeader, pair.sent()[before:])) >= 9


class RejectingOverIpc:
    """A stream over shared memory that its subscriber can reject."""

    def __init__(self, lone):
        self.error_frames = []
        self.publisher = lone.driver.connect(on_publication_error=self.error_frames.append)
        self.subscription = lone.add_subscription("aeron:ipc", 1001)
        self.publication = lone.result(self.publisher.add_publication_async("aeron:ipc", 1001))
        lone.run_until(lambda: self.publication.is_connected and self.subscription.is_connected)

    def reject(self, lone, reason="not wanted"):
        return reject(lone, lone.client, self.publication.registration_id, reason)


@pytest.fixture
def ipc(lone):
    return RejectingOverIpc(lone)


def test_an_ipc_publisher_gets_the_error_at_once_and_loses_its_subscribers(lone, ipc):
    ipc.reject(lone)
    lone.run_for(10 * MS)

    (frame,) = ipc.error_frames
    assert (frame.error_code, frame.error_message) == (ErrorCode.IMAGE_REJECTED, "not wanted")
    assert (frame.source, frame.receiver_id) == (("127.0.0.1", 0), -1)
    assert not ipc.publication.is_connected
    assert not ipc.subscription.is_connected
    assert lone.driver.find_counters("sub-pos") == []
    assert lone.driver.counted("images_rejected") == 1


def test_a_rejected_ipc_stream_returns_after_the_image_liveness_timeout(lone, ipc):
    ipc.reject(lone)
    lone.run_for(IMAGE_LIVENESS_NS - 1 * S)
    late = lone.add_subscription("aeron:ipc", 1001)
    lone.run_for(100 * MS)
    assert [each.is_connected for each in (ipc.subscription, late)] == [False, False]

    lone.run_until(
        lambda: ipc.subscription.is_connected and late.is_connected and ipc.publication.is_connected
    )

    sinks = [Sink(ipc.subscription), Sink(late)]
    ipc.publication.offer(b"again")
    assert [(sink.poll(), sink.all) for sink in sinks] == [(1, [b"again"])] * 2


def test_a_second_rejection_of_an_ipc_stream_restarts_its_cool_down(lone, ipc):
    ipc.reject(lone)
    lone.run_for(6 * S)
    ipc.reject(lone, "still not wanted")

    lone.run_for(6 * S)
    assert not ipc.subscription.is_connected
    lone.run_until(lambda: ipc.subscription.is_connected)

    assert [frame.error_message for frame in ipc.error_frames] == ["not wanted", "still not wanted"]


def test_an_ipc_stream_does_not_return_if_its_publisher_closed_during_the_cool_down(lone, ipc):
    ipc.reject(lone)
    ipc.publication.close()

    lone.run_for(IMAGE_LIVENESS_NS + 5 * S)

    assert not ipc.subscription.is_connected
    (error,) = lone.driver.errors()
    assert "onPublicationError" in error.text
    assert lone.driver.log_files() == []

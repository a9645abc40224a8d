"""Subscriptions of a resilient client: polls while the driver is gone, and the gaps of their streams."""

import pytest

from aeron_core import ClosedError, NotConnectedError, resilient
from aeron_core.client.channel_status import ChannelStatus
from aeron_core.protocol import commands, responses

IPC = "aeron:ipc"


@pytest.fixture
def subscription(aeron):
    return aeron.add_subscription(IPC, 5)


@pytest.fixture
def publication(scene, subscription, aeron):
    """Return a publication that the subscription has an image of."""
    publication = aeron.add_exclusive_publication(IPC, 5)
    scene.run()
    return publication


def test_a_poll_delivers_what_the_plain_subscription_delivers(publication, subscription, collect):
    publication.offer(b"hello")
    publication.offer(b"world")

    assert collect(subscription, 1) == [b"hello"]
    assert list(subscription.poll_batch()) == [b"world"]
    assert publication.offer_many([b"a", b"b"]) == 2
    assert [*subscription.poll_many(1), *subscription.messages(timeout=0)] == [b"a", b"b"]
    assert subscription.images[0].position == 256
    assert subscription.image_by_session_id(publication.session_id) is subscription.images[0]
    assert [peer.session_id for peer in subscription.peers] == [publication.session_id]


def test_a_poll_returns_nothing_while_the_driver_is_gone(scene, publication, subscription, collect):
    publication.offer(b"unread")

    scene.lose()

    assert collect(subscription) == []
    assert len(subscription.poll_batch()) == 0
    assert subscription.poll_many() == []
    assert subscription.controlled_poll(print) == subscription.bounded_poll(print, 9) == 0
    assert subscription.block_poll(print, 4096) == 0
    assert (subscription.images, subscription.image_count, subscription.is_connected) == ((), 0, False)
    assert not subscription.is_closed
    assert subscription.channel_status is ChannelStatus.INITIALIZING
    assert subscription.local_addresses() == []
    assert subscription.resolved_endpoint() is subscription.resolved_channel() is None
    assert "detached" in repr(subscription)


def test_a_subscription_is_re_added_and_receives_the_next_stream(scene, publication, subscription, collect):
    scene.lose()

    scene.restart()

    [command] = scene.driver.of_type(commands.AddSubscription)
    assert (command.channel, command.stream_id) == (IPC, 5)
    assert subscription.registration_id == command.correlation_id
    publication.offer(b"after")
    assert collect(subscription) == [b"after"]


def test_the_event_has_the_last_position_that_was_polled_of_each_session(
    scene, aeron, publication, subscription, collect
):
    other = aeron.add_exclusive_publication(IPC, 5)
    scene.run()
    for _ in range(3):
        publication.offer(b"x")
    other.offer(b"y")
    collect(subscription, 2)
    positions = {image.session_id: image.position for image in subscription.images}
    scene.lose()

    scene.restart()

    [event] = scene.of_type(resilient.SubscriptionRestored)
    assert event.subscription is subscription
    assert {image.session_id: image.position for image in event.before} == positions
    assert sum(positions.values()) == 128
    assert {image.source_identity for image in event.before} == {"aeron:ipc"}


def test_the_image_of_another_session_has_no_position_before(scene, publication, subscription):
    scene.lose()

    scene.restart()

    [event] = scene.of_type(resilient.ImageRestored)
    assert event.before is None
    assert (event.after.session_id, event.after.position) == (publication.session_id, 0)
    assert event.gap_length is None


def lose_client(scene):
    """Let the client detect that its driver, which runs on, has timed it out."""
    scene.driver.answer(responses.OnClientTimeout(scene.client.client_id))
    scene.client.do_work()


def test_the_gap_of_a_session_that_runs_on_is_known_to_the_byte(scene, aeron, collect):
    """The publication belongs to another client, which runs on while this one is timed out."""
    subscription = aeron.add_subscription(IPC, 5)
    foreign = commands.AddExclusivePublication(77, 900, 5, IPC)
    scene.driver.ring.write(foreign.TYPE_ID, foreign.encode())
    scene.run()
    [image] = subscription.images
    position = scene.driver.position_of(900)
    position.set(64)
    lose_client(scene)
    scene.driver.join_position = 960

    scene.run()

    [event] = scene.of_type(resilient.ImageRestored)
    assert event.before.session_id == event.after.session_id == image.session_id
    assert (event.before.position, event.after.position, event.gap_length) == (64, 960, 896)
    assert scene.of_type(resilient.Disconnected)[0].driver_identity == aeron.driver_identity


def test_the_position_is_unknown_if_the_driver_has_reused_the_counter_of_the_image(
    scene, aeron, publication, subscription
):
    image_counter = subscription.images[0].subscriber_position_id
    scene.driver.counters.free(image_counter)
    scene.clock.advance(10**10)
    scene.driver.beat()
    reused = scene.driver.counters.allocate(4, "another", registration_id=4711)
    scene.driver.counters.set_value(reused, 123456)
    assert reused == image_counter
    lose_client(scene)

    scene.run()

    [event] = scene.of_type(resilient.SubscriptionRestored)
    assert [image.position for image in event.before] == [None]


def test_images_that_arrive_later_are_no_events(scene, aeron, publication, subscription):
    scene.lose()
    scene.restart()
    scene.events.clear()

    aeron.add_exclusive_publication(IPC, 5)
    scene.run()

    assert scene.events == []
    assert subscription.image_count == 2


def test_image_handlers_are_called_for_lost_and_for_new_images(scene, aeron):
    seen = []
    subscription = aeron.add_subscription(
        IPC,
        5,
        on_available_image=lambda image: seen.append(("available", image.session_id)),
        on_unavailable_image=lambda image: seen.append(("unavailable", image.session_id)),
    )
    publication = aeron.add_publication(IPC, 5)
    scene.run()
    old = publication.session_id
    scene.lose()
    assert seen == [("available", old), ("unavailable", old)]

    scene.restart()

    assert seen[2:] == [("available", publication.session_id)]
    assert subscription.on_available_image is not None


def test_an_image_handler_that_raises_stops_nothing(scene, aeron):
    def handler(image):
        raise RuntimeError("no")

    aeron.add_subscription(IPC, 5, on_available_image=handler, on_unavailable_image=handler)
    aeron.add_publication(IPC, 5)
    scene.run()
    scene.lose()

    scene.restart()

    assert "Restored" in scene.kinds()
    assert sum(isinstance(error, RuntimeError) for error in scene.errors) == 3


def test_await_connected_waits_for_the_next_driver(scene, publication, subscription):
    scene.lose()
    with pytest.raises(NotConnectedError, match=r"not connected within 0.1 s \(there is no media driver"):
        subscription.await_connected(0.1)
    scene.start_driver()

    subscription.await_connected(60)
    publication.await_connected(60)

    assert subscription.is_connected


def test_a_closed_subscription_is_not_re_added(scene, subscription):
    with subscription:
        pass
    scene.lose()

    scene.restart()

    assert scene.driver.of_type(commands.AddSubscription) == []
    with pytest.raises(ClosedError, match="is closed: add a new one"):
        subscription.await_connected(1)


def test_destinations_of_a_subscription_are_re_added(scene, aeron):
    subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 5)
    subscription.add_destination("aeron:udp?endpoint=a:1")
    subscription.add_destination("aeron:udp?endpoint=b:1")
    subscription.remove_destination("aeron:udp?endpoint=a:1")
    scene.lose()

    scene.restart()

    [command] = scene.driver.of_type(commands.AddRcvDestination)
    assert (command.channel, command.registration_id) == (
        "aeron:udp?endpoint=b:1",
        subscription.registration_id,
    )

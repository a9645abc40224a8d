"""Watches of peers, which follow their subscription from one driver to the next."""

import pytest

from aeron_core import ClosedError, DriverTimeoutError

IPC = "aeron:ipc"


@pytest.fixture
def subscription(aeron):
    return aeron.add_subscription(IPC, 5)


@pytest.fixture
def seen():
    return []


@pytest.fixture
def watch(aeron, subscription, seen):
    return aeron.watch_peers(
        subscription,
        on_added=lambda peer: seen.append(("added", peer.session_id)),
        on_removed=lambda peer: seen.append(("removed", peer.session_id)),
    )


def connected(scene, aeron):
    """Return a new publication that the subscription has an image of."""
    publication = aeron.add_publication(IPC, 5)
    scene.run()
    return publication


@pytest.mark.usefixtures("watch")
def test_peers_of_a_lost_driver_are_removed_and_those_of_the_next_are_added(scene, aeron, seen):
    publication = connected(scene, aeron)
    before = publication.session_id

    scene.lose()
    while_lost = list(seen)
    scene.restart()

    assert while_lost == [("added", before), ("removed", before)]
    assert seen == [*while_lost, ("added", publication.session_id)]
    # Only the loss itself.
    assert [type(error) for error in scene.errors] == [DriverTimeoutError]


@pytest.mark.usefixtures("watch")
def test_a_peer_that_leaves_is_removed_once(scene, aeron, subscription, seen):
    publication = connected(scene, aeron)
    session = publication.session_id

    scene.driver.take_image(publication.registration_id, subscription.registration_id)
    scene.run()
    scene.lose()

    assert seen == [("added", session), ("removed", session)]


def test_a_watch_that_is_added_without_a_driver_begins_with_the_next(scene, aeron, subscription, seen):
    publication = connected(scene, aeron)
    scene.lose()

    aeron.watch_peers(subscription, on_added=lambda peer: seen.append(peer.session_id))
    scene.restart()

    assert seen == [publication.session_id]


def test_a_closed_watch_calls_no_handler(scene, aeron, watch, seen):
    scene.run()

    watch.close()
    connected(scene, aeron)
    scene.lose()
    scene.restart()

    assert watch.is_closed
    assert seen == []


def test_a_watch_ends_with_its_resource_and_with_the_client(scene, aeron, subscription, watch):
    other = aeron.watch_peers(aeron.add_subscription(IPC, 6))
    assert not watch.is_closed

    subscription.close()
    assert (watch.is_closed, other.is_closed) == (True, False)
    aeron.close()

    assert other.is_closed
    with pytest.raises(ClosedError):
        aeron.watch_peers(subscription)


def test_a_handler_that_raises_stops_nothing(scene, aeron, subscription):
    def handler(peer):
        raise RuntimeError("a mistake of the program")

    aeron.watch_peers(subscription, on_added=handler, on_removed=handler)
    connected(scene, aeron)
    scene.lose()
    scene.restart()

    assert [str(error) for error in scene.errors if isinstance(error, RuntimeError)] == [
        "a mistake of the program"
    ] * 3


def test_a_publication_of_a_plain_client_is_refused(aeron):
    with pytest.raises(TypeError, match="must be a publication or subscription of this resilient client"):
        aeron.watch_peers(object())

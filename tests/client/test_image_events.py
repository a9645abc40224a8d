"""A client with a driver double: images that appear, end, or cannot be mapped."""

from pathlib import Path

import pytest

from aeron_core.errors import ProtocolError, StorageError
from aeron_core.protocol import commands, responses

IPC = "aeron:ipc"
SECOND = 1_000_000_000


def test_image_handlers_are_called_for_images_that_are_added_and_removed(aeron, double):
    events = []
    subscription = aeron.add_subscription(
        IPC,
        5,
        on_available_image=lambda image: events.append(("available", image)),
        on_unavailable_image=lambda image: events.append(("unavailable", image)),
    )
    publication = aeron.add_publication(IPC, 5)
    subscription.await_connected()
    [image] = subscription.images

    double.take_image(publication.registration_id, subscription.registration_id)
    aeron.do_work()

    assert events == [("available", image), ("unavailable", image)]
    assert image.is_closed
    assert not subscription.is_connected


@pytest.fixture
def hidden_log(aeron, double):
    """A publication with a log that cannot be opened, as without free descriptors; returns it and the log's path."""
    publication = aeron.add_publication(IPC, 5)
    path = Path(double.publications[publication.registration_id][1])
    hidden = path.with_suffix(".hidden")
    path.rename(hidden)
    aeron.close()
    return publication.registration_id, path, hidden


def test_an_image_that_could_not_be_mapped_becomes_available_once_it_can(
    make_client, double, clock, hidden_log
):
    errors, available = [], []
    client = make_client(error_handler=errors.append)
    subscription = client.add_subscription(IPC, 5, on_available_image=available.append)
    client.do_work()
    assert [type(error) for error in errors] == [StorageError]
    assert subscription.images == ()

    _, path, hidden = hidden_log
    clock.advance(SECOND)
    client.do_work()
    hidden.rename(path)
    clock.advance(SECOND)
    client.do_work()

    assert len(errors) == 1
    assert subscription.images == tuple(available)
    assert len(available) == 1


def test_a_damaged_log_of_an_image_that_could_not_be_mapped_is_an_error_and_not_tried_again(
    make_client, double, clock, hidden_log
):
    errors = []
    client = make_client(error_handler=errors.append)
    subscription = client.add_subscription(IPC, 5)
    client.do_work()

    _, path, hidden = hidden_log
    path.write_bytes(bytes(hidden.stat().st_size))
    for _ in range(2):
        clock.advance(SECOND)
        client.do_work()

    assert [type(error) for error in errors] == [StorageError, ProtocolError]
    assert subscription.images == ()
    assert not client.is_closed


def test_an_image_that_could_not_be_mapped_is_forgotten_when_it_ends(make_client, double, clock, hidden_log):
    client = make_client(error_handler=lambda error: None)
    subscription = client.add_subscription(IPC, 5)
    client.do_work()

    publication_id, path, hidden = hidden_log
    double.take_image(publication_id, subscription.registration_id)
    client.do_work()
    hidden.rename(path)
    clock.advance(SECOND)
    client.do_work()

    assert subscription.images == ()


def test_closing_a_subscription_closes_its_images_and_calls_the_handler(aeron, double):
    gone = []
    subscription = aeron.add_subscription(IPC, 5, on_unavailable_image=gone.append)
    aeron.add_publication(IPC, 5)
    subscription.await_connected()
    [image] = subscription.images

    subscription.close()
    subscription.close()
    double.do_work()

    assert gone == [image]
    assert image.is_closed
    assert subscription.is_closed
    assert len(double.of_type(commands.RemoveSubscription)) == 1


def test_images_of_other_clients_are_ignored(aeron, double):
    subscription = aeron.add_subscription(IPC, 5)
    double.answer(responses.OnAvailableImage(1, 2, 5, subscription.registration_id + 999, 0, "/nowhere", "x"))
    double.answer(responses.OnUnavailableImage(1, subscription.registration_id + 999, 5, IPC))

    aeron.do_work()

    assert subscription.images == ()


def test_rejecting_an_image_sends_its_id_its_position_and_the_reason(aeron, double):
    subscription = aeron.add_subscription(IPC, 5)
    publication = aeron.add_publication(IPC, 5)
    subscription.await_connected()

    subscription.images[0].reject("not wanted")

    [sent] = double.of_type(commands.RejectImage)
    assert (sent.image_correlation_id, sent.position, sent.reason) == (
        publication.registration_id,
        0,
        "not wanted",
    )

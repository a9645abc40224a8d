"""A client with a driver double: adding, using and closing of resources, and of the client."""

import asyncio
import threading

import pytest

from aeron_core import (
    CLOSED,
    ChannelUri,
    ChannelUriBuilder,
    ClientError,
    ClientHandlers,
    ClientSettings,
    ClosedError,
    NotConnectedError,
    aio,
    connect,
)
from aeron_core.protocol import commands, responses

IPC = "aeron:ipc"
UDP = "aeron:udp?endpoint=a:1"
SECOND = 1_000_000_000


def test_a_publication_has_the_ids_of_the_drivers_response(aeron, double):
    publication = aeron.add_publication(IPC, 5)

    [command] = double.of_type(commands.AddPublication)
    assert (command.client_id, command.channel, command.stream_id) == (aeron.client_id, IPC, 5)
    assert publication.registration_id == publication.original_registration_id == command.correlation_id
    assert (publication.session_id, publication.stream_id) == (100 + command.correlation_id, 5)
    assert publication.is_original
    assert publication.offer(b"x") == 64


def test_a_subscription_receives_the_messages_of_a_publication(aeron, double):
    subscription = aeron.add_subscription(IPC, 5)
    publication = aeron.add_exclusive_publication(IPC, 5)
    subscription.await_connected()
    publication.offer(b"hello")
    seen = []

    subscription.poll(lambda buffer, header: seen.append(bytes(buffer)))

    assert seen == [b"hello"]
    assert subscription.images[0].source_identity == "aeron:ipc"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda aeron: aeron.add_publication(IPC, "7"), "stream_id='7': must be an integer"),
        (lambda aeron: aeron.add_publication(7, IPC), "channel=7: must be a channel URI"),
        (lambda aeron: aeron.add_exclusive_publication(IPC, 1.5), "stream_id=1.5: must be an integer"),
        (lambda aeron: aeron.add_subscription(None, 1), "channel=None: must be a channel URI"),
        (lambda aeron: aeron.add_subscription(b"aeron:ipc", 1), "channel=b'aeron:ipc': must be a channel"),
        (lambda aeron: aeron.add_counter(1001, "label"), "key='label': must be bytes"),
        (lambda aeron: aeron.add_counter("1001"), "type_id='1001': must be an integer"),
        (lambda aeron: aeron.add_counter(1001, label=b"x"), "label=b'x': must be a string"),
        (lambda aeron: aeron.add_static_counter(1001, None), "registration_id=None: must be an integer"),
        (lambda aeron: aeron.next_session_id("1"), "stream_id='1': must be an integer"),
        (lambda aeron: aeron.terminate_driver("secret"), "token='secret': must be bytes"),
        (lambda aeron: aeron.reject_image(1, 2, b"no"), "reason=b'no': must be a string"),
        (lambda aeron: aeron.add_publication(IPC, 5).add_destination(None), "channel=None: must be a chan"),
    ],
)
def test_an_argument_of_a_wrong_type_raises_with_its_name(aeron, call, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        call(aeron)


def test_a_channel_may_be_a_uri_object_or_a_builder(aeron, double):
    aeron.add_publication(ChannelUri.parse(IPC), 5)
    aeron.add_subscription(ChannelUriBuilder().media("ipc"), 5)

    assert [command.channel for command in double.of_type(commands.AddPublication)] == [IPC]
    assert [command.channel for command in double.of_type(commands.AddSubscription)] == [IPC]


def fill_ring(double):
    message = commands.ClientKeepalive(0, 0).encode()
    while double.ring.write(commands.ClientKeepalive.TYPE_ID, message):
        pass


@pytest.mark.parametrize("end", ["close", "revoke"])
@pytest.mark.parametrize(
    ("add", "removal"),
    [
        (lambda aeron: aeron.add_publication(IPC, 5), commands.RemovePublication),
        (lambda aeron: aeron.add_exclusive_publication(IPC, 5), commands.RemovePublication),
        (lambda aeron: aeron.add_subscription(IPC, 5), commands.RemoveSubscription),
        (lambda aeron: aeron.add_counter(1001), commands.RemoveCounter),
    ],
)
def test_a_resource_stays_open_if_the_command_ring_is_full_and_can_be_closed_again(
    aeron, double, add, removal, end
):
    resource = add(aeron)
    close = getattr(resource, end, resource.close)
    fill_ring(double)

    with pytest.raises(ClientError, match=r"command ring of the media driver was full .* may have stopped"):
        close()

    assert not resource.is_closed
    while double.do_work():
        pass
    assert double.of_type(removal) == []
    close()
    close()
    double.do_work()
    assert resource.is_closed
    assert [command.registration_id for command in double.of_type(removal)] == [resource.registration_id]


def test_the_full_command_ring_of_a_driver_that_has_shut_down_is_reported_as_such(aeron, double):
    publication = aeron.add_publication(IPC, 5)
    fill_ring(double)
    double.ring.consumer_heartbeat_ms = -1

    with pytest.raises(ClientError, match="the driver has shut down: start it, then connect again"):
        publication.close()


@pytest.mark.parametrize("wait", [aio.connected, lambda publication: aio.async_offer(publication, b"x")])
def test_a_coroutine_raises_the_cause_if_the_client_was_closed(aeron, double, clock, wait):
    publication = aeron.add_publication(IPC, 5)
    double.ring.consumer_heartbeat_ms = -1
    clock.advance(SECOND)
    aeron.do_work()

    with pytest.raises(ClosedError, match="has ended: start it, then connect again"):
        asyncio.run(wait(publication))


def test_two_publications_of_one_stream_share_one_mapping(aeron, double):
    first = aeron.add_publication(IPC, 5)
    double._on_AddPublication = lambda command: double.answer(
        responses.OnPublicationReady(
            command.correlation_id, first.registration_id, first.session_id, 5, 1, -1, "never opened"
        )
    )

    second = aeron.add_publication(IPC, 5)
    first.offer(b"x")

    assert second.original_registration_id == first.registration_id != second.registration_id
    assert not second.is_original
    assert second.position == first.position == 64


@pytest.mark.parametrize("stream_id", [1 << 31, -(1 << 31) - 1])
def test_a_stream_id_beyond_32_bits_raises(aeron, stream_id):
    with pytest.raises(ValueError, match="stream_id"):
        aeron.add_publication(IPC, stream_id)


def test_closing_a_publication_twice_removes_it_from_the_driver_once(aeron, double):
    publication = aeron.add_publication(IPC, 5)

    publication.close()
    publication.close()
    double.do_work()

    [command] = double.of_type(commands.RemovePublication)
    assert (command.registration_id, command.revoke) == (publication.registration_id, False)
    assert publication.offer(b"x") == CLOSED


def test_revoking_sends_the_revoke_flag(aeron, double):
    with aeron.add_exclusive_publication(IPC, 5) as publication:
        publication.revoke()
    double.do_work()

    [command] = double.of_type(commands.RemovePublication)
    assert command.revoke


def test_await_connected_raises_after_its_timeout(aeron):
    subscription = aeron.add_subscription(IPC, 5)

    with pytest.raises(NotConnectedError, match="not connected within 0 s"):
        subscription.await_connected(timeout=0)


def test_a_driver_that_always_sends_something_does_not_extend_a_timeout(make_client, double, clock):
    beats = 0

    def send_something():
        nonlocal beats
        beats += 1
        assert beats < 100, "the timeout has passed"
        clock.advance(SECOND // 10)
        double.beat()
        double.do_work()
        double.answer(responses.OnOperationSuccess(-1))

    aeron = make_client()
    subscription = aeron.add_subscription(IPC, 5)
    aeron._conductor._driver_invoker = send_something

    with pytest.raises(NotConnectedError, match="not connected within 3 s"):
        subscription.await_connected(timeout=3)

    assert beats == 30


def test_await_connected_raises_when_the_resource_is_closed(aeron):
    subscription = aeron.add_subscription(IPC, 5)
    subscription.close()

    with pytest.raises(ClosedError):
        subscription.await_connected()


@pytest.mark.parametrize(
    ("operation", "command"),
    [
        (lambda p, s: p.add_destination("aeron:udp?endpoint=a:1"), commands.AddDestination),
        (lambda p, s: p.remove_destination("aeron:udp?endpoint=a:1"), commands.RemoveDestination),
        (lambda p, s: s.add_destination("aeron:udp?endpoint=a:1"), commands.AddRcvDestination),
        (lambda p, s: s.remove_destination("aeron:udp?endpoint=a:1"), commands.RemoveRcvDestination),
    ],
)
def test_destinations_are_added_and_removed_by_channel(aeron, double, operation, command):
    publication, subscription = aeron.add_publication(IPC, 5), aeron.add_subscription(IPC, 6)

    operation(publication, subscription)

    [sent] = double.of_type(command)
    resource = subscription if "Rcv" in command.__name__ else publication
    assert (sent.registration_id, sent.channel) == (resource.registration_id, "aeron:udp?endpoint=a:1")


def test_a_destination_is_removed_by_the_id_that_adding_it_returned(aeron, double):
    publication = aeron.add_publication(IPC, 5)
    destination_id = publication.add_destination("aeron:udp?endpoint=a:1")

    publication.remove_destination_by_id(destination_id)

    [sent] = double.of_type(commands.RemoveDestinationById)
    assert sent.resource_registration_id == publication.registration_id
    assert sent.destination_registration_id == destination_id


@pytest.mark.parametrize(
    "call",
    [
        lambda aeron, publication, image: aeron.add_publication(IPC, 7),
        lambda aeron, publication, image: aeron.add_exclusive_publication(IPC, 7),
        lambda aeron, publication, image: aeron.add_subscription(IPC, 7),
        lambda aeron, publication, image: aeron.add_counter(1000),
        lambda aeron, publication, image: aeron.add_static_counter(1000, 77),
        lambda aeron, publication, image: aeron.next_session_id(7),
        lambda aeron, publication, image: aeron.reject_image(image.correlation_id, 0, "not wanted"),
        lambda aeron, publication, image: image.reject("not wanted"),
        lambda aeron, publication, image: image.subscription.add_destination(UDP),
        lambda aeron, publication, image: image.subscription.remove_destination(UDP),
        lambda aeron, publication, image: publication.add_destination(UDP),
        lambda aeron, publication, image: publication.remove_destination(UDP),
        lambda aeron, publication, image: publication.remove_destination_by_id(9),
    ],
)
def test_a_call_that_has_to_wait_in_a_handler_raises_and_sends_nothing(aeron, double, call):
    support_next_session_id(double)
    publication = aeron.add_publication(IPC, 6)
    raised = []

    def on_image(image):
        with pytest.raises(ClientError, match=r"must not wait .* after the handler has returned") as caught:
            call(aeron, publication, image)
        raised.append(caught.value)

    subscription = aeron.add_subscription(IPC, 5, on_available_image=on_image)
    aeron.add_publication(IPC, 5)
    subscription.await_connected()
    double.do_work()

    assert len(raised) == 1
    assert [type(command) for command in double.received] == [
        commands.AddPublication,
        commands.AddSubscription,
        commands.AddPublication,
    ]


def test_a_handler_of_a_client_that_closes_gets_the_cause(make_client, double, clock):
    errors = []
    aeron = make_client(error_handler=errors.append)
    aeron.add_close_handler(lambda: aeron.add_publication(IPC, 5))
    double.ring.consumer_heartbeat_ms = -1
    clock.advance(SECOND)

    aeron.do_work()

    assert isinstance(errors[1], ClosedError)
    assert str(errors[1]).endswith("has ended: start it, then connect again")


def test_closing_the_client_closes_its_resources_before_it_informs_the_driver(make_client, double):
    closed = []
    with make_client(handlers=ClientHandlers(on_close=lambda: closed.append(True))) as aeron:
        publication, subscription = aeron.add_publication(IPC, 5), aeron.add_subscription(IPC, 5)
        counter = aeron.add_counter(1000)
        registration = aeron.add_publication_async(IPC, 6)

    double.do_work()
    assert isinstance(double.received[-1], commands.ClientClose)
    assert publication.is_closed
    assert subscription.is_closed
    assert counter.is_closed
    assert closed == [True]
    with pytest.raises(ClosedError):
        registration.result()
    with pytest.raises(ClosedError, match="is closed"):
        aeron.add_publication(IPC, 5)
    aeron.close()
    assert aeron.do_work() == 0


def support_next_session_id(double):
    """Add the counter of the control protocol version, of a driver that supports the command."""
    for _ in range(43 - double.counters._high_water_mark):
        double.counters.allocate(0, "system")
    double.counters.set_value(43, 1 << 16)


def test_the_next_session_id_comes_from_a_driver_that_supports_the_command(aeron, double):
    support_next_session_id(double)
    double._on_GetNextAvailableSessionId = lambda command: double.answer(
        responses.OnNextAvailableSessionId(command.correlation_id, -7)
    )

    assert aeron.next_session_id(5) == -7


def test_the_next_session_id_is_random_with_an_older_driver(aeron, double):
    assert -(1 << 31) <= aeron.next_session_id(5) < 1 << 31
    assert double.received == []


def test_the_next_session_id_is_random_if_the_counters_end_before_that_of_the_version(
    tmp_path, double, clock
):
    folder = tmp_path / "small"
    folder.mkdir()
    small = type(double)(folder, clock, counter_count=4)

    with connect(folder, ClientSettings(), clock=clock, use_conductor_invoker=True) as aeron:
        assert -(1 << 31) <= aeron.next_session_id(5) < 1 << 31

    assert small.received == []


def test_a_client_with_a_conductor_thread_needs_no_invoker(double, clock):
    arrived = threading.Event()
    before = set(threading.enumerate())
    with connect(double.directory, ClientSettings(), clock=clock) as aeron:
        aeron.add_available_counter_handler(lambda counters, registration_id, counter_id: arrived.set())
        registration = aeron.add_counter_async(1000)
        double.do_work()

        assert arrived.wait(10)
        assert registration.result(10).registration_id == registration.registration_id
        assert [thread.name for thread in set(threading.enumerate()) - before] == ["aeron-client-conductor"]
    assert set(threading.enumerate()) <= before

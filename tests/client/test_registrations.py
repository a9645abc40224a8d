"""Registrations: answered, refused, answered late, or with a missing resource."""

import pytest

from aeron_core import (
    ClientError,
    DriverTimeoutError,
    ErrorCode,
    RegistrationError,
)
from aeron_core.client.registrations import RegistrationState
from aeron_core.errors import ProtocolError, StorageError
from aeron_core.protocol import commands, responses

IPC = "aeron:ipc"
SECOND = 1_000_000_000


def test_a_registration_error_has_the_drivers_code_and_text_and_the_channel(aeron, double):
    double.refusal = (int(ErrorCode.INVALID_CHANNEL), "no such parameter")

    with pytest.raises(RegistrationError, match=r"'aeron:ipc[?]x=1' 5: no such parameter") as caught:
        aeron.add_publication("aeron:ipc?x=1", 5)

    assert caught.value.code is ErrorCode.INVALID_CHANNEL


def test_a_registration_times_out_without_an_answer_and_a_late_resource_is_removed(aeron, double, clock):
    registration = aeron.add_publication_async(IPC, 5)
    for _ in range(11):
        clock.advance(SECOND)
        double.beat()
        aeron.do_work()

    with pytest.raises(DriverTimeoutError, match="add_publication 'aeron:ipc' 5: no answer"):
        registration.poll()
    double.do_work()
    aeron.do_work()
    double.do_work()

    [command] = double.of_type(commands.RemovePublication)
    assert command.registration_id == registration.registration_id


def test_a_dead_driver_closes_the_client_before_the_registration_times_out(aeron, double, clock):
    registration = aeron.add_publication_async(IPC, 5)
    clock.advance(SECOND)
    double.beat()
    seen = []
    for _ in range(11):
        aeron.do_work()
        seen.append((registration.is_done, aeron.is_closed))
        clock.advance(SECOND)

    assert set(seen) == {(False, False)}
    aeron.do_work()

    assert aeron.is_closed
    with pytest.raises(DriverTimeoutError, match="is 11000 ms old"):
        registration.poll()


def test_a_registration_is_polled_until_it_is_done(aeron, double):
    registration = aeron.add_subscription_async(IPC, 5)
    assert registration.poll() is None
    assert registration.state is RegistrationState.AWAITING

    double.do_work()
    aeron.do_work()

    assert registration.poll().registration_id == registration.registration_id
    assert registration.result() is registration.poll()


def test_result_raises_after_its_own_timeout(make_client, double):
    registration = make_client().add_publication_async(IPC, 5)
    double.is_silent = True

    with pytest.raises(TimeoutError, match="no answer within 0 s"):
        registration.result(timeout=0)

    assert not registration.is_done


def test_a_resource_that_arrives_after_its_cancellation_is_removed(aeron, double):
    registration = aeron.add_subscription_async(IPC, 5)

    assert registration.cancel()
    double.do_work()
    aeron.do_work()
    double.do_work()

    assert double.of_type(commands.RemoveSubscription)[0].registration_id == registration.registration_id
    with pytest.raises(ClientError, match="cancelled"):
        registration.poll()


def test_a_log_that_cannot_be_mapped_fails_the_registration_and_removes_the_publication(aeron, double):
    double._on_AddPublication = lambda command: double.answer(
        responses.OnPublicationReady(command.correlation_id, 1, 2, 5, 1, -1, "/nowhere/1.logbuffer")
    )

    with pytest.raises(StorageError, match="/nowhere"):
        aeron.add_publication(IPC, 5)
    double.do_work()

    assert len(double.of_type(commands.RemovePublication)) == 1


NO_COUNTER = 1_000_000


@pytest.mark.parametrize(
    ("command", "response"),
    [
        ("AddPublication", responses.OnPublicationReady),
        ("AddExclusivePublication", responses.OnExclusivePublicationReady),
    ],
)
def test_a_publication_without_its_counter_fails_and_is_removed_from_the_driver(
    aeron, double, command, response
):
    first = aeron.add_publication(IPC, 5)
    setattr(
        double,
        f"_on_{command}",
        lambda command: double.answer(
            response(command.correlation_id, first.registration_id, 105, 5, NO_COUNTER, -1, "never opened")
        ),
    )
    add = aeron.add_publication if command == "AddPublication" else aeron.add_exclusive_publication

    with pytest.raises(ProtocolError, match="publication 'aeron:ipc' 5: the media driver's answer"):
        add(IPC, 5)

    double.do_work()
    [removed] = double.of_type(commands.RemovePublication)
    assert removed.registration_id != first.registration_id
    # Only the first image uses the log: it is released when that one is closed.
    first.close()
    log_buffers = aeron._conductor.resources.log_buffers
    assert log_buffers.sweep(10**18) == 1


@pytest.mark.parametrize("is_static", [False, True])
def test_a_response_with_a_missing_counter_fails_the_registration(aeron, double, is_static):
    def answer(command):
        kind = responses.OnStaticCounter if is_static else responses.OnCounterReady
        double.answer(kind(command.correlation_id, NO_COUNTER))

    double._on_AddCounter = double._on_AddStaticCounter = answer
    registration = (
        aeron.add_static_counter_async(1001, 7, label="a")
        if is_static
        else aeron.add_counter_async(1001, label="a")
    )

    with pytest.raises(ProtocolError, match="answer cannot be used"):
        registration.result()

    double.do_work()
    assert len(double.of_type(commands.RemoveCounter)) == (0 if is_static else 1)


def test_an_image_without_its_counter_does_not_acquire_its_log(make_client, double):
    errors = []
    aeron = make_client(error_handler=errors.append)
    publication = aeron.add_publication(IPC, 5)
    subscription = aeron.add_subscription(IPC, 6)
    double.answer(
        responses.OnAvailableImage(
            publication.registration_id, 1, 6, subscription.registration_id, NO_COUNTER, "never opened", "x"
        )
    )

    aeron.do_work()

    assert isinstance(errors[0], ProtocolError)
    assert f"subscriber_position_id={NO_COUNTER}: must be from 0 to 63" in str(errors[0])
    publication.close()
    assert aeron._conductor.resources.log_buffers.sweep(10**18) == 1


def test_an_image_whose_path_contains_nul_is_reported_as_damaged(make_client, double):
    errors = []
    aeron = make_client(error_handler=errors.append)
    subscription = aeron.add_subscription(IPC, 6)
    double.answer(responses.OnAvailableImage(9, 1, 6, subscription.registration_id, 0, "a\0b", "x"))

    aeron.do_work()

    assert isinstance(errors[0], ProtocolError)
    assert subscription.image_count == 0


@pytest.mark.parametrize("counter_id", [-2, 64, NO_COUNTER])
@pytest.mark.parametrize(
    ("command", "removal"),
    [
        ("AddPublication", commands.RemovePublication),
        ("AddSubscription", commands.RemoveSubscription),
    ],
)
def test_a_resource_with_an_impossible_channel_status_fails_and_is_removed_from_the_driver(
    aeron, double, command, removal, counter_id
):
    first = aeron.add_publication(IPC, 4)

    def answer(command):
        id_ = command.correlation_id
        double.answer(
            responses.OnPublicationReady(id_, first.registration_id, 1, 5, 0, counter_id, "never opened")
            if isinstance(command, commands.AddPublication)
            else responses.OnSubscriptionReady(id_, counter_id)
        )

    setattr(double, f"_on_{command}", answer)
    add = aeron.add_publication if command == "AddPublication" else aeron.add_subscription

    with pytest.raises(
        ProtocolError, match=rf"channel_status_indicator_id={counter_id}: must be from -1 to 63"
    ):
        add(IPC, 5)

    double.do_work()
    assert len(double.of_type(removal)) == 1

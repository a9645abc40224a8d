"""Commands that are refused, and malformed commands of broken clients."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal

from aeron_core._native import wire
from aeron_core.concurrent.broadcast_receiver import BroadcastReceiver
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import ErrorCode
from aeron_core.protocol import commands, responses
from aeron_core.testing import DriverUnderTest
from aeron_core.testing.pair import MS, S

UDP = "aeron:udp?endpoint=127.0.0.1:20121"
CLIENT_ID = 1_000_000
TRY_AGAIN = ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE


class RawClient:
    """Writes commands as bytes and reads all responses."""

    def __init__(self, simulation):
        self._simulation = simulation
        self.ring = ManyToOneRingBuffer(simulation.driver.cnc.to_driver)
        self._receiver = BroadcastReceiver(simulation.driver.cnc.to_clients)
        self.answers = []
        self._read()

    def _read(self):
        while self._receiver.receive(
            lambda type_id, buffer, offset, length: self.answers.append(
                responses.decode_response(type_id, buffer, offset, length)
            )
        ):
            pass

    def ask(self, type_id, message):
        """Return the responses to one command, without the heartbeat counter that a new client gets first."""
        self._read()
        self.answers.clear()
        assert self.ring.write(type_id, message)
        self._simulation.run_until(lambda: self.ring.size == 0)
        self._simulation.run_for(2 * MS)
        return self.take()

    def take(self):
        """Return the responses since the last call."""
        self._read()
        return [a for a in self.answers if getattr(a, "correlation_id", None) != CLIENT_ID]


@pytest.fixture
def raw(lone):
    return RawClient(lone)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (commands.RemovePublication(CLIENT_ID, 7, 99), ErrorCode.UNKNOWN_PUBLICATION),
        (commands.RemovePublication(CLIENT_ID, 7, 99, None), ErrorCode.UNKNOWN_PUBLICATION),
        (commands.RemoveSubscription(CLIENT_ID, 7, 99), ErrorCode.UNKNOWN_SUBSCRIPTION),
        (commands.RemoveCounter(CLIENT_ID, 7, 99), ErrorCode.UNKNOWN_COUNTER),
        (commands.AddPublication(CLIENT_ID, 7, 1, "aeron:nothing"), ErrorCode.INVALID_CHANNEL),
        (commands.AddPublication(CLIENT_ID, 7, 1, "not a channel"), ErrorCode.INVALID_CHANNEL),
        (commands.AddPublication(CLIENT_ID, 7, 1, ""), ErrorCode.INVALID_CHANNEL),
        (commands.AddPublication(CLIENT_ID, 7, 1, f"{UDP}|mtu=5"), ErrorCode.GENERIC_ERROR),
        (commands.AddPublication(CLIENT_ID, 7, 1, "aeron-spy:" + UDP), ErrorCode.INVALID_CHANNEL),
        (commands.AddExclusivePublication(CLIENT_ID, 7, 1, "aeron:udp"), ErrorCode.INVALID_CHANNEL),
        (commands.AddSubscription(CLIENT_ID, 7, -1, 1, "aeron:udp?endpoint="), ErrorCode.INVALID_CHANNEL),
        (commands.AddSubscription(CLIENT_ID, 7, -1, 1, "aeron:ipc?session-id=x"), ErrorCode.GENERIC_ERROR),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, commands.DriverCommand) else value.name,
)
def test_a_command_that_cannot_be_carried_out_is_refused_with_its_code(raw, command, code):
    answers = raw.ask(command.TYPE_ID, command.encode())

    (error,) = [answer for answer in answers if isinstance(answer, responses.OnError)]
    assert (error.offending_correlation_id, error.error_code) == (7, code)
    assert error.error_message


@pytest.mark.parametrize(
    ("command", "verb", "arguments", "code"),
    [
        (commands.RemovePublication, "add_publication", ("aeron:ipc", 1), ErrorCode.UNKNOWN_PUBLICATION),
        (commands.RemoveSubscription, "add_subscription", ("aeron:ipc", 1), ErrorCode.UNKNOWN_SUBSCRIPTION),
        (commands.RemoveCounter, "add_counter", (1001, b"", "label"), ErrorCode.UNKNOWN_COUNTER),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_a_resource_of_another_client_cannot_be_removed(lone, raw, command, verb, arguments, code):
    # The reference lets any client remove any subscription.
    registration = getattr(lone.client, f"{verb}_async")(*arguments)
    registered = lone.result(registration)
    removal = command(CLIENT_ID, 7, registered.registration_id)

    (error,) = raw.ask(removal.TYPE_ID, removal.encode())

    assert error.error_code == code


@pytest.mark.parametrize(
    "command", [commands.RemovePublication, commands.RemoveSubscription, commands.RemoveCounter]
)
def test_a_refused_removal_does_not_add_its_sender_as_a_client(lone, raw, command):
    removal = command(CLIENT_ID, 7, 99)

    raw.ask(removal.TYPE_ID, removal.encode())

    assert [type(answer) for answer in raw.answers] == [responses.OnError]
    assert lone.driver.find_counters(f"client-heartbeat: id={CLIENT_ID}") == []


@pytest.mark.parametrize(
    ("type_id", "length", "code", "correlation_id"),
    [
        (wire.COMMAND_ADD_PUBLICATION, 23, ErrorCode.MALFORMED_COMMAND, 7),
        (wire.COMMAND_REMOVE_SUBSCRIPTION, 16, ErrorCode.MALFORMED_COMMAND, 7),
        (wire.COMMAND_CLIENT_KEEPALIVE, 15, ErrorCode.MALFORMED_COMMAND, 0),
        (wire.COMMAND_CLIENT_CLOSE, 0, ErrorCode.MALFORMED_COMMAND, 0),
        (0x77, 24, ErrorCode.UNKNOWN_COMMAND_TYPE_ID, 7),
    ],
)
def test_a_command_that_cannot_be_read_is_refused_and_logged_once(
    lone, raw, type_id, length, code, correlation_id
):
    message = (CLIENT_ID.to_bytes(8, "little") + (7).to_bytes(8, "little") + bytes(16))[:length]

    answers = raw.ask(type_id, message)
    raw.ask(type_id, message)

    assert [(a.offending_correlation_id, a.error_code) for a in answers] == [(correlation_id, code)]
    (record,) = lone.driver.errors()
    assert record.observation_count == 2


@pytest.mark.parametrize("reason", [b"", b"no", b"not wanted", b"\xff\xfe"])
def test_a_rejection_by_a_c_client_is_executed(lone, raw, reason):
    # The message omits the ids; its length is that of the padded struct, the reason and a zero.
    publication = lone.add_publication("aeron:ipc", 1)
    subscription = lone.add_subscription("aeron:ipc", 1)
    lone.run_until(lambda: publication.is_connected and subscription.is_connected)
    image_id = publication.registration_id.to_bytes(8, "little")
    head = bytes(16) + image_id + bytes(8) + len(reason).to_bytes(4, "little") + reason

    answers = raw.ask(wire.COMMAND_REJECT_IMAGE, head.ljust(40 + len(reason) + 1, b"\0"))

    failure, _, done = answers
    assert (failure.error_code, failure.error_message.encode("utf-8", "surrogateescape")) == (
        ErrorCode.IMAGE_REJECTED,
        reason,
    )
    assert len(failure.encode()) >= 72
    assert done == responses.OnOperationSuccess(0)


@pytest.fixture(scope="module")
def hardened(tmp_path_factory):
    with DriverUnderTest(tmp_path_factory.mktemp("driver")) as driver:
        yield driver


@settings(max_examples=150, deadline=None)
@given(type_id=st.integers(1, 0x20), message=st.binary(max_size=200))
def test_random_commands_do_not_stop_the_driver(hardened, type_id, message):
    if type_id in (wire.COMMAND_TERMINATE_DRIVER, wire.COMMAND_CLIENT_CLOSE):
        return
    raw = RawClient(hardened)

    raw.ask(type_id, message)

    assert not any("Traceback" in e.text or "duty cycle" in e.text for e in hardened.driver.errors())


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_commands_with_random_bytes_do_not_stop_the_driver(hardened, data):
    command = data.draw(
        st.sampled_from(
            [
                # Not a literal address: it would be looked up as a name.
                commands.AddPublication(CLIENT_ID, 7, 1, "aeron:ipc?mtu=1408|linger=1s"),
                commands.AddSubscription(CLIENT_ID, 7, -1, 1, "aeron:ipc?term-length=64k"),
                commands.AddCounter(CLIENT_ID, 7, 1, b"key", "label"),
                commands.AddStaticCounter(CLIENT_ID, 7, 1, 1, b"key", "label"),
                commands.RejectImage(CLIENT_ID, 7, 1, 1, "reason"),
                commands.AddDestination(CLIENT_ID, 7, 1, "aeron:ipc?alias=x"),
            ]
        )
    )
    message = bytearray(command.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(16, len(message) - 1))] = data.draw(st.integers(0, 255))
    raw = RawClient(hardened)

    answers = raw.ask(command.TYPE_ID, message)

    assert answers
    assert not any("Traceback" in e.text or "duty cycle" in e.text for e in hardened.driver.errors())


def test_the_driver_still_works_after_random_commands(hardened):
    hardened.run_for(15 * S)

    publication = hardened.add_publication("aeron:ipc", 4711)
    subscription = hardened.add_subscription("aeron:ipc", 4711)
    hardened.run_until(lambda: publication.available_window and subscription.is_connected)
    assert publication.offer(b"works") > 0
    messages = []
    hardened.run_until(lambda: subscription.poll(lambda buffer, header: messages.append(bytes(buffer))))
    assert messages == [b"works"]


@pytest.mark.parametrize("channel", ["aeron:ipc?", UDP + "|"])
def test_a_session_id_that_is_in_use_is_refused(lone, channel):
    lone.add_exclusive_publication(f"{channel}session-id=5", 1)

    error = refusal(lone, lone.client.add_exclusive_publication_async(f"{channel}session-id=5", 1))

    assert error.code is ErrorCode.INVALID_CHANNEL
    assert "session-id=5" in str(error)
    assert lone.add_exclusive_publication(f"{channel}session-id=5", 2).session_id == 5


@pytest.mark.parametrize("channel", ["aeron:ipc?", UDP + "|"])
@pytest.mark.parametrize(
    ("existing", "asked", "is_shared"),
    [
        ("mtu=1408", "mtu=1408", True),
        ("mtu=1408", "mtu=4096", False),
        ("term-length=64k", "term-length=128k", False),
        ("term-length=128k", "", True),
        ("session-id=5", "session-id=6", False),
        ("session-id=5", "", True),
        ("linger=1s", "linger=2s", True),
        ("init-term-id=1|term-id=1|term-offset=0", "init-term-id=1|term-id=2|term-offset=0", False),
    ],
)
def test_a_shared_publication_must_match_the_requested_parameters(lone, channel, existing, asked, is_shared):
    first = lone.add_publication(f"{channel}{existing}", 1)

    registration = lone.client.add_publication_async(f"{channel}{asked}".rstrip("?|"), 1)

    if is_shared:
        assert lone.result(registration).original_registration_id == first.registration_id
    else:
        assert refusal(lone, registration).code is ErrorCode.GENERIC_ERROR


@pytest.mark.parametrize("seed", range(5))
def test_the_driver_does_not_choose_reserved_session_ids(start_driver, seed):
    low, high = -(2**31), 2**31 - 1 - 2**20
    lone = start_driver(
        seed=seed,
        publication_reserved_session_id_low=low,
        publication_reserved_session_id_high=high,
    )

    session_ids = [lone.add_exclusive_publication("aeron:ipc", 1).session_id for _ in range(5)]

    assert len(set(session_ids)) == 5
    assert all(session_id > high for session_id in session_ids)


def test_the_next_session_id_is_free_and_can_be_used(lone, raw):
    chance = random.Random(1)
    seen = set()
    for number in range(5):
        id_ = chance.getrandbits(30)
        command = commands.GetNextAvailableSessionId(CLIENT_ID, id_, 1)
        (answer,) = raw.ask(command.TYPE_ID, command.encode())
        assert isinstance(answer, responses.OnNextAvailableSessionId)
        publication = lone.add_exclusive_publication(
            f"{UDP}|session-id={answer.next_session_id}|alias={number}", 1
        )
        seen.add(publication.session_id)

    assert len(seen) == 5


@pytest.mark.parametrize("option", ["reliable", "rejoin"])
def test_subscriptions_that_share_a_stream_must_agree(lone, option):
    lone.add_subscription(f"{UDP}|{option}=true", 1)

    error = refusal(lone, lone.client.add_subscription_async(f"{UDP}|{option}=false", 1))

    assert "option conflicts with existing subscription" in str(error)
    assert lone.add_subscription(f"{UDP}|{option}=false", 2)


def test_a_port_in_use_is_reported_and_can_be_used_later(lone):
    lone.add_subscription(UDP, 1)
    other = "aeron:udp?endpoint=127.0.0.1:20121|interface=127.0.0.1"

    error = refusal(lone, lone.client.add_subscription_async(other, 1))

    assert error.code is ErrorCode.GENERIC_ERROR
    assert len(lone.driver.find_counters("rcv-channel")) == 1


def conductor_requests(lone, raw, *asked):
    """Return the responses to commands that arrive while sender and receiver are blocked."""
    raw.take()
    raw.answers.clear()
    for command in asked:
        assert raw.ring.write(command.TYPE_ID, command.encode())
    for _ in range(10):
        lone.driver.media_driver._assembly.conductor.do_work()
    return raw.take()


def test_a_channel_that_is_being_closed_can_be_opened_again_shortly_after(lone, raw):
    add = commands.AddSubscription(CLIENT_ID, 7, -1, 1, UDP)
    raw.ask(add.TYPE_ID, add.encode())
    removal = commands.RemoveSubscription(CLIENT_ID, 8, 7)
    again = commands.AddSubscription(CLIENT_ID, 9, -1, 1, UDP)

    _, error = conductor_requests(lone, raw, removal, again)
    answers = raw.ask(again.TYPE_ID, again.encode())

    assert (error.offending_correlation_id, error.error_code) == (9, TRY_AGAIN)
    assert "please retry" in error.error_message
    assert [type(answer) for answer in answers] == [responses.OnSubscriptionReady]
    assert lone.driver.errors() == []


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ("aeron:udp?endpoint=127.0.0.1", "port invalid: '' in 127.0.0.1: must be host:port"),
        (f"{UDP}|control=here:|control-mode=dynamic", "Unresolved - control=here:, name-and-port=here:"),
        (
            f"{UDP}|control=127.0.0.1:70000|control-mode=dynamic",
            "Unresolved - control=127.0.0.1:70000, name-and-port=127.0.0.1:70000",
        ),
    ],
)
def test_an_invalid_address_is_refused_with_its_key(lone, channel, message):
    assert message in str(refusal(lone, lone.client.add_publication_async(channel, 1)))

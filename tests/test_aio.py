"""The client for asyncio, with logs in memory and a driver double."""

import asyncio

import pytest

from aeron_core import ClientError, ClosedError, NotConnectedError, aio
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core.client.publications.publication import Publication
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.registrations import Registration, RegistrationState
from aeron_core.client.subscriptions.image import Image
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams


class Owner:
    """A client that is open, for resources that are closed."""

    def await_connected(self, resource, timeout):
        raise ClosedError(f"{resource!r} is closed")


class Stream:
    """A publication and a subscription over one log."""

    def __init__(self):
        params = LogBufferParams(
            initial_term_id=0, term_length=65536, mtu_length=1408, session_id=1, stream_id=2
        )
        self.log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
        self.log.set_is_connected(True)
        self.limit = AtomicBuffer.allocate(128)
        self.limit.put_i64(0, 32768)
        self.publication = Publication(
            PublicationArguments(
                owner=Owner(),
                channel="aeron:ipc",
                stream_id=2,
                session_id=1,
                registration_id=1,
                original_registration_id=1,
                channel_status_id=-1,
                position_limit_id=0,
                log=self.log,
                limit=self.limit,
            )
        )
        self.subscription = Subscription(None, "aeron:ipc", 2, 3, -1)
        self.position = AtomicCounter(AtomicBuffer.allocate(128), 0)
        self.subscription.add_image(Image(self.subscription, 1, self.log, self.position, "aeron:ipc", 4))


@pytest.fixture
def stream():
    return Stream()


def test_messages_yields_whole_messages_in_order_until_the_subscription_is_closed(stream):
    long = bytes(range(256)) * 20

    async def run():
        received = []
        async for message in aio.messages(stream.subscription):
            received.append(message)
            if len(received) == 3:
                stream.subscription.mark_closed()
        return received

    for data in (b"a", long, b"c"):
        stream.publication.offer(data, reserved_value=8)
    received = asyncio.run(run())

    assert [bytes(message) for message in received] == [b"a", long, b"c"]
    assert (received[0].session_id, received[0].stream_id, received[0].reserved_value) == (1, 2, 8)
    assert received[-1].position == stream.publication.position


def test_leaving_the_loop_loses_no_message_of_another_image(stream):
    other = Stream()
    stream.subscription.add_image(Image(stream.subscription, 9, other.log, other.position, "aeron:ipc", 5))
    sent = [b"%d" % number for number in range(20)] + [bytes(range(256)) * 20]
    for data in sent:
        stream.publication.offer(data)
        other.publication.offer(data)

    async def take(count):
        received = []
        async for message in aio.messages(stream.subscription):
            received.append(message.data)
            if len(received) == count:
                break
        return received

    received = asyncio.run(take(7)) + asyncio.run(take(2 * len(sent) - 7))

    assert sorted(received) == sorted(sent * 2)


def test_each_image_yields_its_messages_in_order(stream):
    other = Stream()
    stream.subscription.add_image(Image(stream.subscription, 9, other.log, other.position, "aeron:ipc", 5))
    for number in range(20):
        stream.publication.offer(b"a%d" % number)
        other.publication.offer(b"b%d" % number)

    async def run():
        received = []
        async for message in aio.messages(stream.subscription):
            received.append(message.data.decode())
            if len(received) == 40:
                stream.subscription.mark_closed()
        return received

    received = asyncio.run(run())

    for name in "ab":
        assert [text for text in received if text[0] == name] == [f"{name}{number}" for number in range(20)]


def test_leaving_the_loop_keeps_the_next_message_for_the_next_poll(stream):
    async def take_one():
        async for message in aio.messages(stream.subscription):
            return message.data
        return None

    stream.publication.offer(b"a")
    stream.publication.offer(b"b")

    assert [asyncio.run(take_one()), asyncio.run(take_one())] == [b"a", b"b"]


def test_an_offer_waits_under_back_pressure(stream):
    stream.limit.put_i64(0, 0)

    async def raise_limit():
        stream.limit.put_i64(0, 32768)

    async def run():
        offered = asyncio.create_task(aio.async_offer(stream.publication, b"x", reserved_value=1))
        await asyncio.sleep(0)
        assert not offered.done()
        await raise_limit()
        return await offered

    assert asyncio.run(run()) == 64


@pytest.mark.parametrize(
    ("is_connected", "reason"), [(True, "back pressure"), (False, "the publication is not connected")]
)
def test_an_offer_that_times_out_raises_with_the_reason(stream, is_connected, reason):
    stream.limit.put_i64(0, 0)
    stream.log.set_is_connected(is_connected)

    with pytest.raises(TimeoutError, match=reason):
        asyncio.run(aio.async_offer(stream.publication, b"x", timeout=0))


def test_an_offer_to_a_closed_publication_raises(stream):
    stream.publication.mark_closed()

    with pytest.raises(ClosedError):
        asyncio.run(aio.async_offer(stream.publication, b"x"))


def test_a_coroutine_that_only_offers_lets_other_tasks_run(stream):
    async def offer_many():
        for _ in range(256):
            await aio.async_offer(stream.publication, b"x")

    async def turns_meanwhile():
        offering, turns = asyncio.create_task(offer_many()), 0
        while not offering.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(turns_meanwhile()) >= 4


def test_connected_returns_times_out_or_raises_when_closed(stream):
    asyncio.run(aio.connected(stream.publication, timeout=0))

    stream.log.set_is_connected(False)
    with pytest.raises(NotConnectedError):
        asyncio.run(aio.connected(stream.publication, timeout=0))
    stream.publication.mark_closed()
    with pytest.raises(ClosedError):
        asyncio.run(aio.connected(stream.publication))


def test_a_result_is_awaited_and_cancelled_with_its_task():
    def registration():
        return Registration(None, 1, "add something", 0, lambda response: response)

    async def run(registration, act):
        task = asyncio.create_task(aio.result(registration))
        await asyncio.sleep(0)
        act(registration, task)
        return await task

    assert asyncio.run(run(registration(), lambda found, task: found.complete("there"))) == "there"
    with pytest.raises(ClientError, match="refused"):
        asyncio.run(run(registration(), lambda found, task: found.fail(ClientError("refused"))))
    cancelled = registration()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run(cancelled, lambda found, task: task.cancel()))
    assert cancelled.state is RegistrationState.CANCELLED


def test_the_sleeps_of_a_backoff_grow_to_its_maximum(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    backoff = aio.Backoff(max_sleep_s=0.0002)

    async def run():
        for _ in range(20):
            await backoff.idle()
        backoff.reset()
        await backoff.idle()

    asyncio.run(run())

    assert slept == [0.0] * 16 + [0.00005, 0.0001, 0.0002, 0.0002] + [0.0]

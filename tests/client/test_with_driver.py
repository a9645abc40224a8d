"""A client and a media driver in one process."""

import asyncio
import itertools
import threading

import numpy as np
import pytest

from aeron_core import CLOSED, ChannelStatus, MediaDriver, RegistrationError, aio, connect

CHANNELS = ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:0"]
TIMEOUT_S = 60
AGENTS = ["conductor", "sender", "receiver"]


@pytest.fixture
def aeron(driver):
    with connect(driver.aeron_dir) as aeron:
        yield aeron


@pytest.fixture(params=CHANNELS)
def pair(request, aeron):
    """Return a connected publication and its subscription."""
    subscription = aeron.add_subscription(request.param, 1001)
    publication = aeron.add_publication(subscription.resolved_channel(), 1001)
    publication.await_connected(TIMEOUT_S)
    subscription.await_connected(TIMEOUT_S)
    return publication, subscription


async def take(subscription, count):
    received = []
    async for message in aio.messages(subscription):
        received.append(message.data)
        if len(received) == count:
            break
    return received


def test_messages_arrive_in_order_whole_and_once(pair):
    publication, subscription = pair
    sent = [bytes([i % 256]) * (i * 37 % 5000) for i in range(500)]

    async def send():
        for message in sent:
            await aio.async_offer(publication, message, TIMEOUT_S)

    async def run():
        return await asyncio.gather(send(), asyncio.wait_for(take(subscription, len(sent)), TIMEOUT_S))

    assert asyncio.run(run())[1] == sent


def test_a_batch_arrives_as_it_was_sent(pair):
    publication, subscription = pair
    offsets = np.arange(0, 32 * 101, 32, dtype=np.int64)
    data = np.arange(32 * 100, dtype=np.uint8)

    assert publication.offer_batch(data, offsets) == 100
    received = asyncio.run(asyncio.wait_for(take(subscription, 100), TIMEOUT_S))

    assert b"".join(received) == data.tobytes()


def test_a_refused_channel_is_named_in_the_error(aeron):
    with pytest.raises(RegistrationError, match="term-length=5"):
        aeron.add_publication("aeron:udp?endpoint=127.0.0.1:0|term-length=5", 1001)


def test_closing_the_client_closes_its_publications(pair, aeron):
    publication, _ = pair

    aeron.close()

    assert publication.offer(b"x") == CLOSED


def test_a_counter_is_visible_in_the_drivers_cnc_file(aeron):
    with aeron.add_counter(1000, label="mine") as counter:
        counter.value = 7

        assert aeron.counters_reader.value(counter.id) == 7
        assert "mine" in [record.label for record in aeron.counters_reader]


def test_a_client_signals_a_driver_that_waits():
    bound = {f"{agent}_idle_strategy_init_args": "60s" for agent in AGENTS}
    waiting = {f"{agent}_idle_strategy": "signal" for agent in AGENTS}
    with (
        MediaDriver.launch_embedded({**waiting, **bound}) as driver,
        connect(driver.aeron_dir) as aeron,
    ):
        publication = aeron.add_publication("aeron:udp?endpoint=127.0.0.1:20333", 7)

        assert publication.channel_status is ChannelStatus.ACTIVE


def test_a_thread_that_sends_waits_for_the_subscriber_and_loses_nothing(pair):
    publication, subscription = pair
    count, message = 2_000, bytes(8_000)  # several times the space in the log

    def send():
        for number in range(count):
            publication.send(number.to_bytes(4) + message, timeout=TIMEOUT_S)

    sender = threading.Thread(target=send)
    sender.start()
    received = asyncio.run(asyncio.wait_for(take(subscription, count), 6 * TIMEOUT_S))
    sender.join()

    assert [int.from_bytes(data[:4]) for data in received] == list(range(count))


def test_a_driver_shows_its_directory_and_state(tmp_path):
    with MediaDriver.launch_embedded() as driver:
        assert repr(driver) == f"MediaDriver({str(driver.aeron_dir)!r}, running)"
    assert repr(driver) == f"MediaDriver({str(driver.aeron_dir)!r}, closed)"

    with MediaDriver({"aeron_dir": tmp_path / "driver"}, invoker=True) as driver:
        assert repr(driver) == f"MediaDriver('{tmp_path}/driver', run by do_work)"


@pytest.mark.parametrize("end", ["close", "leave"])
def test_a_handler_may_close_the_client_on_the_thread_that_closes_it(driver, end):
    aeron = connect(driver.aeron_dir)
    aeron.add_close_handler(getattr(aeron, end))
    closing = threading.Thread(target=aeron.close, daemon=True)

    closing.start()
    closing.join(TIMEOUT_S)

    assert not closing.is_alive()
    assert aeron.is_closed


def test_an_iteration_yields_each_message_and_ends_after_the_timeout(pair):
    publication, subscription = pair
    messages = [b"a", b"bb", bytes(3000)]
    for message in messages:
        publication.send(message, timeout=TIMEOUT_S)

    assert list(itertools.islice(subscription.messages(), 2)) == messages[:2]
    assert next(subscription.messages(TIMEOUT_S)) == messages[2]
    assert list(subscription.messages(timeout=0)) == []


def test_an_iteration_waits_for_messages_and_ends_when_the_subscription_closes(pair):
    publication, subscription = pair
    publication.send(b"echo", timeout=TIMEOUT_S)
    received = []

    for message in subscription.messages():
        received.append(message)
        if len(received) == 3:
            subscription.close()
        else:
            publication.send(message, timeout=TIMEOUT_S)
        if len(received) > 3:
            break

    assert received == [b"echo"] * 3

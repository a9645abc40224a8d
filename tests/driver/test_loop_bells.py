"""Coroutines that wait for messages, and the event loops that these wake, with a driver."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from aeron_core import MediaDriver, aio, connect
from aeron_core.concurrent.wake_up import _OWNERS_OFFSET

#: Longer than any test: a message that nothing rings would wait for it.
NEVER_S = 60
TIMEOUT_S = 20
IPC = "aeron:ipc"


@pytest.fixture(autouse=True)
def long_sleeps(monkeypatch):
    monkeypatch.setattr(aio, "_MIN_SLEEP_S", NEVER_S)


@pytest.fixture(params=["DEDICATED", "SHARED"])
def driver(request, tmp_path):
    settings = {
        "aeron_dir": tmp_path / "aeron",
        "threading_mode": request.param,
        "term_buffer_length": "64k",
        "ipc_term_buffer_length": "64k",
        "counters_buffer_length": "1m",
        "perform_storage_checks": False,
    }
    with MediaDriver.launch(settings) as driver:
        yield driver


@pytest.fixture
def client(driver):
    with connect(driver.aeron_dir) as client:
        yield client


@pytest.fixture
def sender(driver):
    with connect(driver.aeron_dir) as client:
        yield client


def add_pair(sender, client, channel, stream_id=1001):
    subscription = client.add_subscription(channel, stream_id)
    publication = sender.add_publication(subscription.resolved_channel(), stream_id)
    publication.await_connected(TIMEOUT_S)
    subscription.await_connected(TIMEOUT_S)
    return publication, subscription


def iterate(subscription):
    return aio.messages(subscription, max_sleep_s=NEVER_S)


async def waiting(iterator):
    """Return a task of the next message, once it waits."""
    task = asyncio.ensure_future(anext(iterator))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not task.done()
    return task


def pipes(driver):
    return sorted(path.name for path in (driver.aeron_dir / "bells").glob("c*"))


def open_pipes(driver):
    """Return how many descriptors of this process are pipes of loops of the driver."""
    folder = f"{driver.aeron_dir}/bells/c"
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return sum(os.path.islink(link) and os.readlink(link).startswith(folder) for link in links)


OFFERS = {
    "bytes": lambda publication: publication.offer(b"hello"),
    "buffer": lambda publication: publication.offer(bytearray(b"hello")),
    "many": lambda publication: publication.offer_many([b"hello"]),
}


@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
@pytest.mark.parametrize("channel", [IPC, "aeron:udp?endpoint=127.0.0.1:0"])
def test_a_message_wakes_a_waiting_coroutine(client, sender, channel, offer):
    publication, subscription = add_pair(sender, client, channel)

    async def run():
        iterator = iterate(subscription)
        received = []
        for _ in range(3):
            task = await waiting(iterator)
            offer(publication)
            received.append((await asyncio.wait_for(task, TIMEOUT_S)).data)
        return received

    assert asyncio.run(run()) == [b"hello"] * 3


def test_a_message_over_a_network_wakes_a_coroutine_that_reads_with_a_spy(client, sender):
    channel = "aeron:udp?endpoint=127.0.0.1:24325|ssc=true"
    spy = client.add_subscription(f"aeron-spy:{channel}", 1001)
    publication = sender.add_publication(channel, 1001)
    publication.await_connected(TIMEOUT_S)
    spy.await_connected(TIMEOUT_S)

    async def run():
        task = await waiting(iterate(spy))
        publication.offer(b"hello")
        return (await asyncio.wait_for(task, TIMEOUT_S)).data

    assert asyncio.run(run()) == b"hello"


def test_a_message_leaves_coroutines_that_wait_for_other_streams_asleep(client, sender):
    publication, subscription = add_pair(sender, client, IPC, 1)
    _, other = add_pair(sender, client, IPC, 2)

    async def run():
        task, other_task = await waiting(iterate(subscription)), await waiting(iterate(other))
        [bell] = other.loop_bells._loops.values()
        others = [wait for wait, (images, _) in bell._waits.items() if images == other.images]
        publication.offer(b"hello")
        await asyncio.wait_for(task, TIMEOUT_S)
        woken = [wait.done() for wait in others]
        other_task.cancel()
        return woken

    assert asyncio.run(run()) == [False]


def test_loops_of_several_threads_that_wait_for_one_stream_are_all_woken(driver, client, sender):
    publication, first = add_pair(sender, client, IPC)
    second = client.add_subscription(IPC, 1001)
    second.await_connected(TIMEOUT_S)
    received, ready = [], threading.Barrier(3)

    async def run(subscription):
        task = await waiting(iterate(subscription))
        ready.wait()
        received.append((await asyncio.wait_for(task, TIMEOUT_S)).data)

    threads = [threading.Thread(target=lambda s=s: asyncio.run(run(s))) for s in (first, second)]
    for thread in threads:
        thread.start()
    ready.wait(TIMEOUT_S)
    publication.offer(b"hello")
    for thread in threads:
        thread.join()

    assert received == [b"hello"] * 2
    assert pipes(driver) == ["c0", "c1"]


def test_all_coroutines_of_a_loop_share_one_descriptor_which_later_loops_take_over(driver, client, sender):
    pairs = [add_pair(sender, client, IPC, stream_id) for stream_id in range(3)]

    async def run():
        tasks = [await waiting(iterate(subscription)) for _, subscription in pairs]
        for publication, _ in pairs:
            publication.offer(b"hello")
        await asyncio.wait_for(asyncio.gather(*tasks), TIMEOUT_S)
        return open_pipes(driver)

    # The loop opens one; the publishers that ring open another one, and the driver, which may ring first, a third one.
    assert max(asyncio.run(run()) for _ in range(5)) <= 3


@pytest.mark.parametrize("is_finished", [True, False], ids=["closed", "abandoned"])
def test_a_closed_client_leaves_no_descriptor(driver, sender, is_finished):
    with connect(driver.aeron_dir) as client:
        _, subscription = add_pair(sender, client, IPC)

        async def run():
            iterator = iterate(subscription)
            task = await waiting(iterator)
            task.cancel()
            await asyncio.wait([task])
            if is_finished:
                await iterator.aclose()

        asyncio.run(run())
        assert open_pipes(driver) == 1

    assert open_pipes(driver) == 0


def test_a_coroutine_that_waits_while_its_client_closes_gives_the_descriptor_back(driver, sender):
    client = connect(driver.aeron_dir)
    _, subscription = add_pair(sender, client, IPC)

    async def run():
        iterator = iterate(subscription)
        task = await waiting(iterator)
        client.close()
        task.cancel()
        await asyncio.wait([task])
        await iterator.aclose()

    asyncio.run(run())

    assert open_pipes(driver) == 0


def test_a_coroutine_polls_after_a_sleep_if_the_driver_has_no_bells(driver, monkeypatch):
    monkeypatch.setattr(aio, "_MIN_SLEEP_S", 0.001)
    (driver.aeron_dir / "bells" / "flags.dat").unlink()

    with connect(driver.aeron_dir) as client:
        publication, subscription = add_pair(client, client, IPC)

        async def run():
            task = await waiting(iterate(subscription))
            publication.offer(b"hello")
            return (await asyncio.wait_for(task, TIMEOUT_S)).data

        assert subscription.loop_bells is None
        assert asyncio.run(run()) == b"hello"


def test_two_coroutines_that_wait_for_one_stream_are_both_woken(client, sender):
    publication, first = add_pair(sender, client, IPC)
    second = client.add_subscription(IPC, 1001)
    second.await_connected(TIMEOUT_S)

    async def run():
        tasks = [await waiting(iterate(subscription)) for subscription in (first, second)]
        publication.offer(b"hello")
        return [message.data for message in await asyncio.wait_for(asyncio.gather(*tasks), TIMEOUT_S)]

    assert asyncio.run(run()) == [b"hello"] * 2


def test_a_coroutine_that_begins_to_wait_after_a_ring_does_not_hide_it_from_another_one(client, sender):
    publication, subscription = add_pair(sender, client, IPC)

    async def run():
        task = await waiting(iterate(subscription))
        publication.offer(b"hello")
        # The ring has cleared the mask; the loop has not looked at the pipe yet.
        [bell] = subscription.loop_bells._loops.values()
        bell.arm(subscription.images)
        return (await asyncio.wait_for(task, TIMEOUT_S)).data

    assert asyncio.run(run()) == b"hello"


def test_rings_without_messages_do_not_keep_a_coroutine_busy(client, sender, monkeypatch):
    monkeypatch.setattr(aio, "_MIN_SLEEP_S", 0.001)
    _, subscription = add_pair(sender, client, IPC)
    polls = 0

    class Counted:
        """The subscription, with a bell that another stream keeps ringing."""

        is_closed = False
        images = subscription.images
        loop_bells = subscription.loop_bells

        def controlled_poll(self, handler, fragment_limit):
            nonlocal polls
            polls += 1
            subscription.loop_bells._bells.streams.bell(self.images[0].correlation_id).signal()
            return subscription.controlled_poll(handler, fragment_limit)

    async def run():
        task = asyncio.ensure_future(anext(aio.messages(Counted())))
        await asyncio.sleep(0.1)
        task.cancel()

    asyncio.run(run())

    # Some at once, and then one for each millisecond.
    assert polls < 2 * 100


def test_a_loop_gets_its_bells_while_a_handler_runs(client):
    is_held, may_end = threading.Event(), threading.Event()

    def hold():
        # Handlers run under this lock, and may wait for the event loop.
        with client._conductor.lock:
            is_held.set()
            may_end.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(60)

    found = client._conductor.loop_bells()

    assert found is not None
    assert thread.is_alive()
    may_end.set()
    thread.join()


def test_a_loop_leaves_the_rings_of_the_next_owner_of_its_pipe(client, sender):
    _, subscription = add_pair(sender, client, IPC)

    async def run():
        task = await waiting(iterate(subscription))
        [bell] = subscription.loop_bells._loops.values()
        pipe = bell._pipe
        # What the driver does when it misses the client, or after the client was closed.
        pipe._memory.compare_and_set_i64(_OWNERS_OFFSET + 8 * pipe.number, pipe._client_id, -1)
        os.write(pipe.fd, b"x")
        for _ in range(10):
            await asyncio.sleep(0)
        task.cancel()
        return os.read(pipe.fd, 2)

    assert asyncio.run(run()) == b"x"


def test_a_stream_that_shares_its_mask_does_not_hide_the_ring_of_another(client, sender):
    _, subscription = add_pair(sender, client, IPC, 1)
    _, other_subscription = add_pair(sender, client, IPC, 2)

    async def run():
        task = await waiting(iterate(subscription))
        [bell] = subscription.loop_bells._loops.values()
        streams, [wait] = bell._streams, bell._waits
        [other_image] = other_subscription.images
        # The streams have different masks here: ring the one of `other`, as if it were that of both.
        shared = SharedMask(streams, other_image.correlation_id)
        bell._streams = shared
        bell._counts[shared.index(0)] = 1
        bell.arm((other_image,))
        is_done = wait.done()
        bell._streams = streams
        task.cancel()
        return is_done

    assert asyncio.run(run())


class SharedMask:
    """The masks of a driver, of which all streams have the same."""

    def __init__(self, streams, correlation_id):
        self._streams, self._id = streams, correlation_id

    def index(self, correlation_id):
        return self._streams.index(self._id)

    def arm(self, correlation_id, number):
        return self._streams.arm(self._id, number)

    def is_armed(self, correlation_id, number):
        return self._streams.is_armed(self._id, number)

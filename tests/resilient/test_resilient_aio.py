"""A resilient client in an event loop, which runs its conductor, too."""

import asyncio
import threading

import pytest

from aeron_core import NotConnectedError, aio, resilient
from aeron_core.resilient.aio import events

IPC = "aeron:ipc"


async def driven(scene, steps=1000):
    """Run the driver, and the manual clock, in the loop."""
    for _ in range(steps):
        scene.invoke_driver()
        await asyncio.sleep(0)


def test_coroutines_wait_for_the_next_driver(scene, aeron):
    async def run():
        conductor = asyncio.create_task(aio.run_conductor(aeron))
        drive = asyncio.create_task(driven(scene, 10**6))
        publication = await aio.add_publication(aeron, IPC, 5)
        subscription = await aio.add_subscription(aeron, IPC, 5)
        counter = await aio.add_counter(aeron, 1001)
        await aio.connected(subscription, timeout=20)
        await aio.async_offer(publication, b"before")
        messages = aio.messages(subscription)
        first = await anext(messages)
        scene.stop_driver()
        while publication.is_attached:
            await asyncio.sleep(0)
        with pytest.raises(NotConnectedError):
            await aio.async_offer(publication, b"x", timeout=0)
        counter.increment()
        scene.start_driver()
        await aio.async_offer(publication, b"after", timeout=20)
        second = await anext(messages)
        exclusive = await aio.add_exclusive_publication(aeron, IPC, 6)
        drive.cancel()
        aeron.close()
        await conductor
        return bytes(first), bytes(second), counter.value, exclusive.stream_id

    assert asyncio.run(run()) == (b"before", b"after", 1, 6)


def test_events_are_yielded_until_the_client_is_closed(scene, aeron):
    async def run():
        seen = []
        async for event in events(aeron):
            seen.append(event)
            if isinstance(event, resilient.Disconnected):
                scene.start_driver()
            if isinstance(event, resilient.Restored):
                aeron.close()
        return seen

    async def main():
        tasks = [asyncio.create_task(aio.run_conductor(aeron)), asyncio.create_task(driven(scene, 10**6))]
        consumer = asyncio.create_task(run())
        await asyncio.sleep(0)
        scene.stop_driver()
        seen = await consumer
        tasks[1].cancel()
        await tasks[0]
        return seen

    seen = asyncio.run(main())

    kinds = [type(event).__name__ for event in seen]
    assert [kind for kind in kinds if kind != "ReconnectFailed"] == [
        "Disconnected",
        "Reconnected",
        "Restored",
    ]


def test_the_last_event_is_yielded_although_another_handler_delays_it(scene):
    gave_up, is_polled = threading.Event(), threading.Event()

    def on_event(event):
        if isinstance(event, resilient.GaveUp):
            gave_up.set()
            is_polled.wait(10)

    aeron = scene.connect(on_event=on_event, policy=resilient.ReconnectPolicy(max_attempts=1))

    async def last():
        iteration = events(aeron)
        first = asyncio.ensure_future(anext(iteration))
        await asyncio.sleep(0)
        thread = threading.Thread(target=scene.lose)
        thread.start()
        assert isinstance(await asyncio.wait_for(first, 10), resilient.Disconnected)
        await asyncio.to_thread(gave_up.wait, 10)
        pending = asyncio.ensure_future(anext(iteration, None))
        await asyncio.sleep(0)
        is_polled.set()
        event = await asyncio.wait_for(pending, 10)
        thread.join()
        return event

    assert isinstance(asyncio.run(last()), resilient.GaveUp)

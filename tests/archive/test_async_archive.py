"""The session of an event loop: tasks, signals, cancelled requests; and recording events."""

import asyncio

import pytest

from aeron_core.archive import RecordingEvents, RecordingProgress, RecordingStarted, RecordingStopped
from aeron_core.archive.aio import recording_events
from aeron_core.errors import ArchiveDisconnectedError, ArchiveRefusedError, ClosedError
from aeron_core.protocol.archive.codes import RecordingSignal
from aeron_core.protocol.archive.requests import ReplayRequest, StartPositionRequest, StopPositionRequest
from aeron_core.protocol.archive.responses import RecordingSignalEvent

SESSION_ID, ARCHIVE_ID = 77, 42
EVENTS = [
    RecordingStarted(1, 0, 2, 3, "aeron:ipc", "here" * 500),
    RecordingProgress(1, 0, 64),
    RecordingStopped(1, 0, 64),
]


def signal(recording_id):
    return RecordingSignalEvent(SESSION_ID, 1, recording_id, 2, 3, RecordingSignal.START)


def test_requests_of_several_tasks_follow_one_another(world, double):
    double.answers[StartPositionRequest] = lambda request: [double.ok(request, request.recording_id)]

    async def run():
        async with await world.connect_async() as archive:
            assert (archive.archive_id, archive.control_session_id) == (ARCHIVE_ID, SESSION_ID)
            return await asyncio.gather(*[archive.start_position(each) for each in range(10)])

    assert world.in_loop(run()) == list(range(10))


def test_signals_are_yielded_in_their_order(world, double):
    double.answers[StartPositionRequest] = lambda request: [signal(1), double.ok(request)]

    async def run():
        async with await world.connect_async() as archive:
            signals = archive.signals()
            first = asyncio.ensure_future(anext(signals))
            await asyncio.sleep(0)
            await archive.start_position(5)
            double.send(signal(2), signal(3))
            return [await first, await anext(signals), await anext(signals)]

    assert [event.recording_id for event in world.in_loop(run())] == [1, 2, 3]


def test_signals_end_with_the_session(world, double):
    async def run():
        archive = await world.connect_async()
        asyncio.get_running_loop().call_later(0.05, archive._session.close)
        return [event async for event in archive.signals()]

    assert world.in_loop(run()) == []


def test_a_cancelled_request_does_not_disturb_the_next_one(world, double):
    double.answers[StartPositionRequest] = lambda request: []
    double.answers[StopPositionRequest] = lambda request: [late, double.ok(request, 64)]

    async def run():
        nonlocal late
        async with await world.connect_async() as archive:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(archive.start_position(5), 0.02)
            late = double.ok(double.last, 1)
            return await archive.stop_position(5)

    late = None
    assert world.in_loop(run()) == 64


def test_errors_of_earlier_requests_and_the_end_of_the_session_are_raised(world, double):
    async def run():
        archive = await world.connect_async()
        await archive.start_replay(1, "aeron:ipc", 5)
        request = double.last
        assert isinstance(request, ReplayRequest)
        double.send(double.error(request, 0, "no connection"))
        while double._pending:
            await asyncio.sleep(0)
        with pytest.raises(ArchiveRefusedError, match="no connection"):
            await archive.check_for_error_response()
        await archive.keep_alive()
        double.close()
        with pytest.raises(ArchiveDisconnectedError):
            async for _ in archive.signals():
                pass
        await archive.close()
        assert archive.is_closed
        with pytest.raises(ClosedError):
            await archive.start_position(1)

    world.in_loop(run())


def test_a_cancelled_connection_leaves_nothing_open(world, double):
    double.is_silent = True

    async def run():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(world.connect_async(message_timeout=1000), 0.05)

    world.in_loop(run())
    world.run(300)

    assert not double._subscription.is_connected


def test_recording_events_are_decoded(world):
    subscription = world.aeron.add_subscription("aeron:ipc", 30)
    publication = world.double.aeron.add_publication("aeron:ipc", 30)
    world.run()
    found = []
    events = RecordingEvents(subscription, found.append)

    for event in EVENTS:
        publication.send(event.encode(), timeout=1)
    publication.send(signal(1).encode(), timeout=1)

    assert events.poll() == 5
    assert found == EVENTS


def test_recording_events_are_yielded(world):
    subscription = world.aeron.add_subscription("aeron:ipc", 30)
    publication = world.double.aeron.add_publication("aeron:ipc", 30)
    world.run()
    for event in EVENTS:
        publication.send(event.encode(), timeout=1)

    async def run():
        found = []
        async for event in recording_events(subscription):
            found.append(event)
            if len(found) == len(EVENTS):
                subscription.close()
        return found

    assert world.in_loop(run()) == EVENTS

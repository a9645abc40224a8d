"""Our client of the real Aeron Archive: beside it in shared memory, and over UDP from a driver of ours."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from archive_sessions import (
    ALL,
    COUNT,
    IPC,
    SIDES,
    TIMEOUT_S,
    checksum_of,
    ipc,
    position_of,
    record,
    recording_of,
    replayed,
    send,
    udp,
)
from messages import Checksum, expected_checksum, message
from party_facts import await_true

from aeron_core import aio
from aeron_core.archive import (
    AeronArchive,
    AsyncAeronArchive,
    ReplayParams,
    SourceLocation,
)
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler

pytestmark = pytest.mark.interop

VECTORS = Path(__file__).parents[3] / "vectors" / "archive" / "messages.json"


def test_the_stored_bytes_are_those_of_the_java_codecs(java):
    assert json.loads(java.call("archive-samples")) == json.loads(VECTORS.read_text(encoding="utf-8"))


@pytest.mark.compatible("Aeron Archive, record and replay", SIDES[0])
def test_a_recorded_publication_is_listed_and_replayed(archive, site):
    recording_id = record(archive, 100)

    (listed,) = archive.list_recordings()

    assert listed == archive.list_recording(recording_id)
    assert listed in archive.list_recordings_for_uri("aeron:ipc", 100)
    assert archive.list_recordings_for_uri("aeron:ipc", 101) == []
    assert (listed.stream_id, listed.source_identity, listed.start_position) == (100, IPC, 0)
    assert listed.stop_position == archive.max_recorded_position(recording_id)
    assert archive.recording_position(recording_id) is None
    assert replayed(archive, recording_id) == expected_checksum(COUNT)


@pytest.mark.compatible("Aeron Archive, record and replay", SIDES[1])
def test_a_remote_stream_is_recorded_and_replayed_over_udp(driver, client, site, free_port):
    aeron = client(driver.aeron_dir)
    archive = udp(aeron, site)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription_id = archive.start_recording(channel, 100, SourceLocation.REMOTE)
    publication = aeron.add_exclusive_publication(channel, 100)
    publication.await_connected(TIMEOUT_S)
    send(publication)
    recording_id = recording_of(archive, publication)

    listed = archive.list_recording_subscriptions("udp", 100)
    assert [each.subscription_id for each in listed] == [subscription_id]
    assert archive.stop_recording_subscription(subscription_id)
    assert not archive.stop_recording_subscription(subscription_id)
    assert archive.list_recording_subscriptions() == []

    replay_channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    replay = archive.replay(recording_id, replay_channel, 900, ALL)
    assert checksum_of(replay) == expected_checksum(COUNT)


@pytest.mark.compatible("Aeron Archive, replay over response channels", SIDES[1])
def test_a_recording_is_replayed_over_a_response_channel(driver, client, site, free_port):
    recording_id = record(ipc(client(site.directory)), 100)
    channel = f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
    archive = AeronArchive.connect(
        client(driver.aeron_dir), control_request_channel=site.control, control_response_channel=channel
    )

    assert checksum_of(archive.replay(recording_id, channel, 900, ALL)) == expected_checksum(COUNT)


@pytest.mark.compatible("Aeron Archive, bounded replay", SIDES[0])
def test_a_replay_is_bounded_by_a_length_and_by_a_counter(archive, client, site):
    recording_id = record(archive, 100)
    ends = []
    limit = 64 * 1024
    replay = archive.replay(recording_id, IPC, 900, ReplayParams(length=limit, file_io_max_length=4096))
    while replay.image_count == 0 or not replay.images[0].is_end_of_stream:
        replay.poll(lambda _, header: ends.append(header.position), 100)
    # The last frame is whole.
    assert limit <= ends[-1] < limit + 1408

    counter = client(site.directory).add_counter(1001, label="limit")
    counter.value = ends[-1]
    replay = archive.replay(recording_id, IPC, 901, ReplayParams(limit_counter_id=counter.id))
    found: list[bytes] = []
    assembler = FragmentAssembler(lambda buffer, _: found.append(bytes(buffer)))
    await_true(lambda: replay.poll(assembler, 100) == 0 and position_of(replay) >= ends[-1], "the limit")
    assert position_of(replay) == ends[-1]
    counter.value = archive.max_recorded_position(recording_id)
    await_true(lambda: replay.poll(assembler, 100) == 0 and len(found) == COUNT, "the end")

    assert found == [message(index) for index in range(COUNT)]


@pytest.mark.compatible("Aeron Archive, live replay", SIDES[0])
def test_a_replay_follows_a_live_recording_until_it_is_stopped(archive, client, site):
    publication = archive.add_recorded_publication(IPC, 100)
    send(publication, COUNT // 2)
    recording_id = recording_of(archive, publication)
    replay_id = archive.start_replay(recording_id, IPC, 900)
    subscription = client(site.directory).add_subscription(IPC, 900)
    send(publication, COUNT - COUNT // 2, COUNT // 2)

    assert checksum_of(subscription) == expected_checksum(COUNT)
    archive.stop_replay(replay_id)
    archive.stop_all_replays(recording_id)
    assert archive.stop_recording_by_identity(recording_id)
    assert not archive.stop_recording_by_identity(recording_id)


@pytest.mark.compatible("Aeron Archive, asyncio", SIDES[0])
def test_a_session_of_an_event_loop_records_and_replays(client, site):
    aeron = client(site.directory)

    async def run() -> str:
        async with await AsyncAeronArchive.connect(
            aeron, control_request_channel=IPC, control_response_channel=IPC
        ) as archive:
            signals = archive.signals()
            started = asyncio.ensure_future(anext(signals))
            publication = await archive.add_recorded_exclusive_publication(IPC, 100)
            for index in range(COUNT):
                await aio.async_offer(publication, message(index), TIMEOUT_S)
            recording_id = (await started).recording_id
            while await archive.recording_position(recording_id) != publication.position:
                await asyncio.sleep(0.001)
            checksum, left = Checksum(), COUNT
            with await archive.replay(recording_id, IPC, 900, ALL) as replay:
                async for each in aio.messages(replay):
                    checksum.add(each.data)
                    left -= 1
                    if left == 0:
                        return checksum.hexdigest()
        raise AssertionError("incomplete")

    assert asyncio.run(asyncio.wait_for(run(), TIMEOUT_S)) == expected_checksum(COUNT)

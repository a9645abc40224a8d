"""Our client of the real Aeron Archive: beside it in shared memory, and over UDP from a driver of ours."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from java_peer import JavaError, JavaPeer
from messages import Checksum, expected_checksum, message
from party_facts import await_true

import aeron_core
from aeron_core import aio
from aeron_core.archive import (
    REPLAY_ALL_AND_STOP,
    AeronArchive,
    AsyncAeronArchive,
    RecordingEvents,
    RecordingProgress,
    RecordingSignal,
    RecordingStarted,
    RecordingStopped,
    ReplayParams,
    ReplicationParams,
    SourceLocation,
)
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import (
    ArchiveAuthenticationError,
    ArchiveDisconnectedError,
    ArchiveErrorCode,
    ArchiveRefusedError,
)

pytestmark = pytest.mark.interop

COUNT = 1000
TIMEOUT_S = 20
SEGMENT_LENGTH = 256 * 1024
IPC = "aeron:ipc"
ALL = ReplayParams(length=REPLAY_ALL_AND_STOP)
VECTORS = Path(__file__).parents[2] / "vectors" / "archive" / "messages.json"
GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "use-aeron-archive.md"
SIDES = ["our client → Java archive", "our client, our driver → Java archive"]


@dataclass
class Site:
    """An archive with its Java driver."""

    directory: Path
    control: str
    handle: str


@pytest.fixture
def launch(java, free_port, tmp_path):
    """Start archives, each with a driver and a folder of its own."""
    sites: list[Site] = []

    def start(*options: str, name: str = "a", jvm: JavaPeer | None = None) -> Site:
        control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        directory = tmp_path / f"driver-{name}"
        handle = (jvm or java).call(
            "archive",
            directory,
            tmp_path / f"archive-{name}",
            f"segment-length={SEGMENT_LENGTH}",
            f"control={control}",
            *options,
        )
        site = Site(directory, control, handle)
        if jvm is None:
            sites.append(site)
        return site

    yield start
    for site in sites:
        java.call("close", site.handle)


@pytest.fixture
def client():
    """Connect clients to drivers."""
    with contextlib.ExitStack() as stack:
        yield lambda directory: stack.enter_context(aeron_core.connect(directory))


def ipc(aeron, **options) -> AeronArchive:
    return AeronArchive.connect(aeron, control_request_channel=IPC, control_response_channel=IPC, **options)


def udp(aeron, site, **options) -> AeronArchive:
    return AeronArchive.connect(
        aeron,
        control_request_channel=site.control,
        control_response_channel="aeron:udp?endpoint=127.0.0.1:0",
        **options,
    )


@pytest.fixture
def site(launch):
    return launch()


@pytest.fixture
def archive(client, site):
    return ipc(client(site.directory))


def send(publication, count: int = COUNT, begin: int = 0) -> None:
    for index in range(begin, begin + count):
        publication.send(message(index), timeout=TIMEOUT_S)


def recording_of(archive, publication) -> int:
    """Return the id of the recording of a publication, after all of it is recorded."""

    def found():
        return archive.find_last_matching_recording(0, "", publication.stream_id, publication.session_id)

    await_true(lambda: found() is not None, "the recording")
    recording_id = found()
    await_true(
        lambda: archive.max_recorded_position(recording_id) >= publication.position,
        "the end of the recording",
    )
    return recording_id


def record(archive, stream_id: int, count: int = COUNT) -> int:
    """Record messages of a new stream and return the id of the stopped recording."""
    publication = archive.add_recorded_exclusive_publication(IPC, stream_id)
    send(publication, count)
    recording_id = recording_of(archive, publication)
    assert archive.stop_recorded_publication(publication)
    publication.close()
    await_true(lambda: archive.stop_position(recording_id) is not None, "the stop position")
    return recording_id


def checksum_of(subscription, count: int = COUNT) -> str:
    """Return the digest of `count` messages of a replay, and close its subscription."""
    checksum, left = Checksum(), count

    def take(buffer, _):
        nonlocal left
        checksum.add(bytes(buffer))
        left -= 1

    assembler = FragmentAssembler(take)
    deadline_s = time.monotonic() + TIMEOUT_S
    while left > 0 and time.monotonic() < deadline_s:
        subscription.poll(assembler, 100)
    subscription.close()
    assert left == 0
    return checksum.hexdigest()


def replayed(archive, recording_id: int, count: int = COUNT, stream_id: int = 900, params=ALL) -> str:
    return checksum_of(archive.replay(recording_id, IPC, stream_id, params), count)


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


def position_of(replay) -> int:
    """Return the position up to which a replay was read, 0 before it began."""
    return replay.images[0].position if replay.image_count else 0


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


@pytest.mark.compatible("Aeron Archive, extend", SIDES[0])
def test_a_recording_is_extended(archive, client, site):
    recording_id = record(archive, 100, COUNT // 2)
    aeron = client(site.directory)
    stopped = archive.list_recording(recording_id)
    publication = aeron.add_exclusive_publication(stopped.extension_channel(IPC), 100)
    archive.extend_recording(recording_id, f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)

    send(publication, COUNT - COUNT // 2, COUNT // 2)
    await_true(lambda: archive.recording_position(recording_id) == publication.position, "the recording")
    archive.stop_recorded_publication(publication)

    assert replayed(archive, recording_id) == expected_checksum(COUNT)
    with pytest.raises(ArchiveRefusedError) as caught:
        archive.extend_recording(99, IPC, 100)
    assert caught.value.code is ArchiveErrorCode.UNKNOWN_RECORDING


@pytest.mark.compatible("Aeron Archive, truncate and purge", SIDES[0])
def test_a_recording_is_truncated_and_purged(client, site):
    signals = []
    archive = ipc(client(site.directory), on_recording_signal=signals.append)
    recording_id = record(archive, 100)
    position = 3 * SEGMENT_LENGTH // 2
    replay = archive.replay(recording_id, IPC, 900, ReplayParams(length=position))
    ends = []
    while not ends or ends[-1] < position - 40_000:
        replay.poll(FragmentAssembler(lambda _, header: ends.append(header.position)), 100)
    replay.close()
    archive.stop_all_replays(recording_id)
    kept = next(index for index, end in enumerate(ends) if end > SEGMENT_LENGTH) + 1

    await_true(lambda: truncated(archive, recording_id, ends[kept - 1]), "the end of the replay")
    assert archive.stop_position(recording_id) == ends[kept - 1]
    assert replayed(archive, recording_id, kept, 901) == expected_checksum(kept)

    await_true(lambda: purged(archive, recording_id), "the end of the replay")
    assert archive.list_recordings() == []
    await_true(lambda: has(archive, signals, RecordingSignal.DELETE), "the signal")
    with pytest.raises(ArchiveRefusedError, match="UNKNOWN_RECORDING"):
        archive.start_position(recording_id)


def truncated(archive, recording_id, position) -> bool:
    with contextlib.suppress(ArchiveRefusedError):
        archive.truncate_recording(recording_id, position)
        return True
    return False


def purged(archive, recording_id) -> bool:
    with contextlib.suppress(ArchiveRefusedError):
        return archive.purge_recording(recording_id) > 0
    return False


def has(archive, signals, kind) -> bool:
    archive.poll_for_recording_signals()
    return any(event.signal is kind for event in signals)


@pytest.mark.compatible("Aeron Archive, segments", SIDES[0])
def test_segments_are_detached_attached_purged_and_deleted(archive):
    recording_id = record(archive, 100)
    second = archive.list_recording(recording_id).segment_base_position(SEGMENT_LENGTH + 32)

    archive.detach_segments(recording_id, second)
    assert archive.start_position(recording_id) == second == SEGMENT_LENGTH
    assert archive.attach_segments(recording_id) == 1
    assert archive.start_position(recording_id) == 0
    archive.detach_segments(recording_id, second)
    assert archive.delete_detached_segments(recording_id) == 1
    await_true(lambda: attached(archive, recording_id) == 0, "the end of the deletion")
    assert archive.purge_segments(recording_id, 2 * second) == 1
    assert archive.start_position(recording_id) == 2 * SEGMENT_LENGTH


@pytest.mark.compatible("Aeron Archive, segments", SIDES[0])
def test_segments_are_migrated_to_a_recording_that_continues(archive, client, site):
    recording_id = record(archive, 100)
    archive.truncate_recording(recording_id, 2 * SEGMENT_LENGTH)
    first = archive.list_recording(recording_id)
    aeron = client(site.directory)
    publication = aeron.add_exclusive_publication(first.extension_channel(IPC), 100)
    archive.start_recording(f"{IPC}?session-id={publication.session_id}", 100)
    publication.await_connected(TIMEOUT_S)
    send(publication, 10)
    second_id = recording_of(archive, publication)
    archive.stop_recorded_publication(publication)

    assert archive.migrate_segments(recording_id, second_id) == 2

    assert archive.start_position(second_id) == 0
    assert archive.stop_position(recording_id) == 0
    archive.update_channel(second_id, "aeron:ipc?alias=whole")
    assert archive.list_recording(second_id).original_channel == "aeron:ipc?alias=whole"


def attached(archive, recording_id) -> int | None:
    with contextlib.suppress(ArchiveRefusedError):
        return archive.attach_segments(recording_id)
    return None


@pytest.mark.compatible("Aeron Archive, replicate", SIDES[0])
def test_a_recording_is_replicated_between_two_archives(launch, client):
    source, target = launch(name="source"), launch(name="target")
    recording_id = record(ipc(client(source.directory)), 100)
    signals = []
    archive = ipc(client(target.directory), on_recording_signal=signals.append)
    tags = ReplicationParams(channel_tag_id=11, subscription_tag_id=12)

    archive.replicate(recording_id, source.control)
    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end of the replication")
    first = [event.signal for event in signals]
    signals.clear()
    replication_id = archive.replicate(recording_id, source.control, params=tags)
    await_true(lambda: has(archive, signals, RecordingSignal.REPLICATE_END), "the end of the replication")

    assert first[0] is RecordingSignal.REPLICATE
    assert {RecordingSignal.EXTEND, RecordingSignal.SYNC} <= set(first)
    assert not archive.stop_replication(replication_id)
    copies = archive.list_recordings()
    assert len(copies) == 2
    for copy in copies:
        assert replayed(archive, copy.recording_id, stream_id=900 + copy.recording_id) == expected_checksum(
            COUNT
        )


@pytest.mark.compatible("Aeron Archive, authentication", SIDES[0])
@pytest.mark.parametrize("kind", ["token", "challenge"])
def test_only_clients_with_the_token_are_admitted(launch, client, kind):
    aeron = client(launch(f"{kind}=secret").directory)

    with pytest.raises(ArchiveAuthenticationError, match="AUTHENTICATION_REJECTED"):
        ipc(aeron, credentials=b"wrong")
    with ipc(aeron, credentials=b"secret") as archive:
        assert archive.list_recordings() == []
    if kind == "challenge":
        with ipc(aeron, on_challenge={b"token?": b"secret"}.__getitem__) as archive:
            assert archive.list_recordings() == []


@pytest.mark.compatible("Aeron Archive, recording events", SIDES[0])
def test_events_report_the_progress_of_a_recording(launch, client, free_port):
    channel = f"aeron:udp?control-mode=dynamic|control=127.0.0.1:{free_port()}"
    site = launch(f"events={channel}")
    aeron = client(site.directory)
    subscription = aeron.add_subscription(f"{channel}|endpoint=127.0.0.1:0", 30)
    subscription.await_connected(TIMEOUT_S)
    found = []
    events = RecordingEvents(subscription, found.append)
    archive = ipc(aeron)
    recording_id = record(archive, 100)

    await_true(
        lambda: events.poll() == 0 and any(isinstance(event, RecordingStopped) for event in found), "the end"
    )

    stop = archive.stop_position(recording_id)
    assert isinstance(found[0], RecordingStarted)
    assert (found[0].recording_id, found[0].stream_id, found[0].start_position) == (recording_id, 100, 0)
    assert RecordingProgress(recording_id, 0, stop) in found
    assert found[-1] == RecordingStopped(recording_id, 0, stop)


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


def test_an_archive_ends_the_session_of_a_client_that_does_not_read(launch, client):
    aeron = client(launch("impatient=true").directory)
    idle, busy = ipc(aeron), ipc(aeron)

    await_true(lambda: busy.poll_for_recording_signals() or not idle.is_connected, "the end of the session")

    with pytest.raises(ArchiveDisconnectedError, match="or the client did not read for some minutes"):
        idle.list_recordings()
    assert busy.list_recordings() == []


def test_the_examples_of_the_guide_run(launch, client, capsys, free_port):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    record_and_replay, connect, _spark, extend, replicate, in_loop = blocks[:6]
    source, target = launch(name="source"), launch(name="target")
    names = {
        "AsyncAeronArchive": AsyncAeronArchive,
        "RecordingSignal": RecordingSignal,
        "SourceLocation": SourceLocation,
    }

    exec(record_and_replay.replace("/dev/shm/aeron-archive", str(source.directory)), names)
    assert capsys.readouterr().out.endswith("b'message 0' b'message 999'\n")
    names |= {"aeron": client(source.directory), "recording_id": names["found"]}
    exec(
        connect.replace("aeron:udp?endpoint=archive:8010", source.control)
        .replace("client:0", "127.0.0.1:0")
        .replace("archive:20121", f"127.0.0.1:{free_port()}")
        .replace("AeronArchive.connect", "archive = AeronArchive.connect"),
        names,
    )
    exec(extend, names)
    names["publication"].await_connected(TIMEOUT_S)
    # A replication of an active recording would not end.
    assert names["archive"].stop_recorded_publication(names["publication"])
    names["aeron"] = client(target.directory)
    exec(replicate.replace("aeron:udp?endpoint=source:8010", source.control), names)
    names["recording_id"] = 0
    exec(
        "async def run():\n" + textwrap.indent(in_loop + "            break\n", "    "),
        names,
    )
    asyncio.run(asyncio.wait_for(names["run"](), TIMEOUT_S))
    assert capsys.readouterr().out.startswith("64 b'message 0'")


@pytest.mark.compatible("Aeron Archive, killed and restarted", SIDES[1])
def test_a_client_of_a_killed_archive_connects_to_its_successor(launch, client, tmp_path):
    settings = {"timer_interval_ns": "100ms", "image_liveness_timeout_ns": "1s"}
    first, second = JavaPeer(), JavaPeer()
    try:
        site = launch(name="killed", jvm=first)
        recording_id = record(ipc(client(site.directory)), 100)
        with aeron_core.MediaDriver.launch_embedded(settings) as driver:
            aeron = client(driver.aeron_dir)
            archive = udp(aeron, site)
            first.process.kill()
            await_true(lambda: not archive.is_connected, "the loss of the connection")
            with pytest.raises(ArchiveDisconnectedError, match="has ended: the archive stopped"):
                archive.poll_for_recording_signals()
            archive.close()

            successor = restarted(launch, second, tmp_path)
            again = udp(aeron, successor)
            (kept,) = again.list_recordings()
            again.close()

        assert kept.recording_id == recording_id
        assert replayed(ipc(client(successor.directory)), recording_id) == expected_checksum(COUNT)
    finally:
        first.process.kill()
        first.process.wait()
        second.stop()


def restarted(launch, jvm, tmp_path) -> Site:
    """Start an archive in the folder of the killed one; its mark file keeps others out for ten seconds."""
    folder = tmp_path / "archive-killed"
    folder.rename(tmp_path / "archive-next")
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return launch(name="next", jvm=jvm)
        except JavaError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)

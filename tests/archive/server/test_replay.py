"""Replays of an archive that is served, with our client."""

from __future__ import annotations

import pytest
from served_archives import (
    ALL,
    IPC,
    TERM,
    TIMEOUT_S,
    await_true,
    connect,
    expected,
    messages_of,
    record,
    recording_of,
    send,
)

from aeron_core.archive import ReplayParams
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.errors import ArchiveErrorCode, ArchiveRefusedError


def ends_of(archive, recording_id: int, stream_id: int = 899) -> list[int]:
    """Return the positions after each frame of a stopped recording."""
    ends: list[int] = []
    stop = archive.stop_position(recording_id)
    subscription = archive.replay(recording_id, IPC, stream_id, ALL)
    await_true(
        lambda: (
            subscription.poll(lambda _, header: ends.append(header.position), 100) >= 0
            and ends[-1:] == [stop]
        ),
        "the end",
    )
    subscription.close()
    return ends


def test_a_replay_over_the_network_has_all_messages(serve, aeron, free_port):
    serve(control_channel=f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
    archive = connect(aeron)
    recording_id = record(archive)

    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    assert messages_of(archive.replay(recording_id, channel, 900, ALL), 1000) == expected(1000)


def test_control_over_the_network_and_over_a_response_channel(serve, aeron, free_port):
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    serve(control_channel=control)
    recording_id = record(connect(aeron))
    response = f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
    archive = connect(aeron, control_request_channel=control, control_response_channel=response)

    assert len(archive.list_recordings()) == 1
    assert messages_of(archive.replay(recording_id, response, 900, ALL), 1000) == expected(1000)


def test_a_replay_follows_a_live_recording_until_it_is_stopped(serve, aeron):
    serve()
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(TERM, 100)
    send(publication, 500)
    recording_id = recording_of(archive, publication)
    subscription = archive.replay(recording_id, IPC, 900)
    found: list[bytes] = []
    assembler = FragmentAssembler(lambda buffer, _: found.append(bytes(buffer)))
    for index in range(500, 1000):
        send(publication, 1, index)
        subscription.poll(assembler, 100)
    await_true(lambda: subscription.poll(assembler, 100) >= 0 and len(found) == 1000, "the messages")
    archive.stop_recording_by_identity(recording_id)

    await_true(lambda: subscription.image_count == 0 or subscription.images[0].is_end_of_stream, "the end")
    assert found == expected(1000)


def test_a_replay_begins_and_ends_at_positions(serve, aeron):
    serve()
    archive = connect(aeron)
    recording_id = record(archive)
    ends = ends_of(archive, recording_id)
    begin, limit = ends[99], ends[499]
    found: list[int] = []
    subscription = archive.replay(
        recording_id, IPC, 900, ReplayParams(position=begin, length=limit - begin, file_io_max_length=4096)
    )
    await_true(
        lambda: (
            subscription.poll(lambda _, header: found.append(header.position), 100) >= 0
            and found[-1:] == [limit]
        ),
        "the limit",
    )
    assert found == ends[100:500]


def test_a_replay_waits_for_its_counter(serve, aeron):
    serve()
    archive = connect(aeron)
    recording_id = record(archive)
    ends = ends_of(archive, recording_id)
    counter = aeron.add_counter(1001, label="limit")
    counter.value = ends[99]
    found: list[int] = []

    def take(_, header) -> None:
        found.append(header.position)

    subscription = archive.replay(recording_id, IPC, 900, ReplayParams(limit_counter_id=counter.id))
    await_true(lambda: subscription.poll(take, 100) >= 0 and found[-1:] == ends[99:100], "the limit")
    counter.value = ends[200] - 32  # within a frame, or at the begin of an empty one
    await_true(lambda: subscription.poll(take, 100) >= 0 and found[-1:] >= ends[199:200], "the next limit")
    counter.value = ends[-1]
    await_true(lambda: subscription.poll(take, 100) >= 0 and found[-1:] == ends[-1:], "the end")
    assert found == ends


def test_replays_are_stopped(serve, aeron):
    served = serve(max_replays=2)
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(TERM, 100)
    send(publication, 100)
    recording_id = recording_of(archive, publication)
    first, second = (archive.start_replay(recording_id, IPC, 900) for _ in range(2))
    assert first != second
    with pytest.raises(ArchiveRefusedError, match="MAX_REPLAYS"):
        archive.start_replay(recording_id, IPC, 900)
    subscription = aeron.add_subscription(IPC, 900)
    await_true(lambda: subscription.image_count == 2, "the images")

    archive.stop_replay(first)
    await_true(lambda: subscription.image_count == 1, "the end of the first replay")
    archive.stop_all_replays(recording_id)

    await_true(lambda: subscription.image_count == 0, "the end of the second replay")
    await_true(lambda: not served.server._archive.replays, "the end")


def test_a_replay_without_a_subscriber_is_an_error(serve, aeron):
    errors = []
    served = serve(connect_timeout_ms=300)
    archive = connect(aeron, on_error=errors.append)
    recording_id = record(archive, 10)
    archive.start_replay(recording_id, IPC, 900)

    await_true(lambda: archive.poll_for_recording_signals() or errors, "the error")

    assert "no subscriber connected" in str(errors[0])
    await_true(lambda: not served.server._archive.replays, "the end of the replay")


def test_a_replay_outside_of_the_recording_is_refused(serve, aeron):
    serve()
    archive = connect(aeron)
    recording_id = record(archive, 100)
    stop = archive.stop_position(recording_id)
    codes = ArchiveErrorCode
    for params, code in (
        (ReplayParams(position=stop), codes.INVALID_POSITION),
        (ReplayParams(position=stop + 32), codes.INVALID_POSITION),
        (ReplayParams(position=-64), codes.INVALID_POSITION),
        (ReplayParams(position=33), codes.GENERIC),
        (ReplayParams(length=-3), codes.GENERIC),
        (ReplayParams(file_io_max_length=64), codes.GENERIC),
        (ReplayParams(limit_counter_id=2**30), codes.GENERIC),
        (ReplayParams(limit_counter_id=-5), codes.GENERIC),
    ):
        with pytest.raises(ArchiveRefusedError) as caught:
            archive.start_replay(recording_id, IPC, 900, params)
        assert caught.value.code is code, params
    ends = ends_of(archive, recording_id)
    position = next(position for position in range(32, stop, 32) if position not in ends)
    with pytest.raises(ArchiveRefusedError, match="no frame begins there"):
        archive.replay(recording_id, IPC, 901, ReplayParams(position=position))


def test_padding_at_the_end_of_a_term_is_replayed_whole(serve, aeron):
    serve()
    archive = connect(aeron)
    publication = archive.add_recorded_exclusive_publication(f"{TERM}|mtu=8k", 100)
    for index in range(40):
        publication.send(bytes([index]) * 8100, timeout=TIMEOUT_S)
    recording_id = recording_of(archive, publication)
    archive.stop_recorded_publication(publication)

    found = messages_of(archive.replay(recording_id, IPC, 900, ALL), 40)

    assert found == [bytes([index]) * 8100 for index in range(40)]

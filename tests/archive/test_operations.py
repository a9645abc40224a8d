"""Requests of an archive's client: what each sends and returns, blocking and in an event loop."""

import inspect

import pytest

from aeron_core.archive import (
    REPLAY_ALL_AND_STOP,
    AeronArchive,
    ArchivedRecording,
    AsyncAeronArchive,
    RecordingSubscription,
    ReplayParams,
    ReplicationParams,
    SourceLocation,
)
from aeron_core.errors import ArchiveRefusedError, ChannelUriError, ClientError, ConfigurationError
from aeron_core.protocol.archive import requests as r
from aeron_core.protocol.archive.codes import ControlResponseCode
from aeron_core.protocol.archive.responses import (
    ControlResponse,
    RecordingDescription,
    RecordingSubscriptionDescription,
)

SESSION_ID, VERSION = 77, 1 << 16 | 12 << 8
LOCAL, REMOTE = SourceLocation.LOCAL, SourceLocation.REMOTE
IPC = "aeron:ipc"
ALL = 2**31 - 1
REPLAY = ReplayParams(position=64, length=REPLAY_ALL_AND_STOP, limit_counter_id=8, file_io_max_length=4096)
COPY = ReplicationParams(
    dst_recording_id=1,
    stop_position=2,
    live_destination="live",
    replication_channel="replay",
    channel_tag_id=3,
    subscription_tag_id=4,
    file_io_max_length=5,
    encoded_credentials=b"key",
    src_response_channel="answer",
)
#: Method and arguments, the class of the request and its fields after the ids, the result in the response, that of the
#: method.
CASES = [
    ("start_recording", (IPC, 5), {}, r.StartRecordingRequest2, (5, LOCAL, False, IPC), 9, 9),
    (
        "start_recording",
        (IPC, 5, REMOTE),
        {"auto_stop": True},
        r.StartRecordingRequest2,
        (5, REMOTE, True, IPC),
        9,
        9,
    ),
    ("extend_recording", (3, IPC, 5), {}, r.ExtendRecordingRequest2, (3, 5, LOCAL, False, IPC), 9, 9),
    ("stop_recording", (IPC, 5), {}, r.StopRecordingRequest, (5, IPC), 0, True),
    ("stop_recording_subscription", (9,), {}, r.StopRecordingSubscriptionRequest, (9,), 0, True),
    ("stop_recording_by_identity", (3,), {}, r.StopRecordingByIdentityRequest, (3,), 1, True),
    ("stop_recording_by_identity", (3,), {}, r.StopRecordingByIdentityRequest, (3,), 0, False),
    (
        "find_last_matching_recording",
        (0, "ipc", 5, 6),
        {},
        r.FindLastMatchingRecordingRequest,
        (0, 6, 5, "ipc"),
        3,
        3,
    ),
    (
        "find_last_matching_recording",
        (0, "", 5, 6),
        {},
        r.FindLastMatchingRecordingRequest,
        (0, 6, 5, ""),
        -1,
        None,
    ),
    ("start_position", (3,), {}, r.StartPositionRequest, (3,), 64, 64),
    ("recording_position", (3,), {}, r.RecordingPositionRequest, (3,), 64, 64),
    ("recording_position", (3,), {}, r.RecordingPositionRequest, (3,), -1, None),
    ("stop_position", (3,), {}, r.StopPositionRequest, (3,), -1, None),
    ("max_recorded_position", (3,), {}, r.MaxRecordedPositionRequest, (3,), 64, 64),
    ("start_replay", (3, IPC, 5), {}, r.ReplayRequest, (3, -1, -1, 5, -1, -1, IPC), 2**40, 2**40),
    ("start_replay", (3, IPC, 5, REPLAY), {}, r.BoundedReplayRequest, (3, 64, -2, 8, 5, 4096, -1, IPC), 7, 7),
    ("stop_replay", (7,), {}, r.StopReplayRequest, (7,), 0, None),
    ("stop_all_replays", (3,), {}, r.StopAllReplaysRequest, (3,), 0, None),
    ("stop_all_replays", (), {}, r.StopAllReplaysRequest, (-1,), 0, None),
    ("truncate_recording", (3, 64), {}, r.TruncateRecordingRequest, (3, 64), 2, 2),
    ("purge_recording", (3,), {}, r.PurgeRecordingRequest, (3,), 2, 2),
    ("detach_segments", (3, 64), {}, r.DetachSegmentsRequest, (3, 64), 0, None),
    ("delete_detached_segments", (3,), {}, r.DeleteDetachedSegmentsRequest, (3,), 2, 2),
    ("purge_segments", (3, 64), {}, r.PurgeSegmentsRequest, (3, 64), 2, 2),
    ("attach_segments", (3,), {}, r.AttachSegmentsRequest, (3,), 2, 2),
    ("migrate_segments", (3, 4), {}, r.MigrateSegmentsRequest, (3, 4), 2, 2),
    ("update_channel", (3, IPC), {}, r.UpdateChannelRequest, (3, IPC), 0, None),
    (
        "replicate",
        (3, IPC),
        {},
        r.ReplicateRequest2,
        (3, -1, -1, -1, -1, 10, -1, -1, IPC, "", "", b"", ""),
        6,
        6,
    ),
    (
        "replicate",
        (3, IPC, 11, COPY),
        {},
        r.ReplicateRequest2,
        (3, 1, 2, 3, 4, 11, 5, -1, IPC, "live", "replay", b"key", "answer"),
        6,
        6,
    ),
    ("stop_replication", (6,), {}, r.StopReplicationRequest, (6,), 0, True),
]
#: Requests whose refusal with a code is a result.
REFUSED = [
    ("stop_recording", (IPC, 5), r.StopRecordingRequest, 4),
    ("stop_recording_subscription", (9,), r.StopRecordingSubscriptionRequest, 4),
    ("stop_replication", (6,), r.StopReplicationRequest, 12),
]


def description(request, recording_id, **changes):
    fields = {"stop_timestamp": -1, "stop_position": -1} | changes
    return RecordingDescription(
        SESSION_ID,
        request.correlation_id,
        recording_id,
        1000,
        fields["stop_timestamp"],
        64,
        fields["stop_position"],
        7,
        131072,
        65536,
        1408,
        11,
        5,
        IPC,
        f"{IPC}?alias=a",
        "localhost",
    )


def end(request, code=ControlResponseCode.RECORDING_UNKNOWN):
    return ControlResponse(SESSION_ID, request.correlation_id, 3, code, VERSION, "")


@pytest.mark.parametrize(("name", "arguments", "named", "kind", "fields", "answer", "result"), CASES)
def test_a_request_is_sent_and_its_result_is_returned(
    archive, double, name, arguments, named, kind, fields, answer, result
):
    double.answers[kind] = lambda request: [double.ok(request, answer)]

    assert getattr(archive, name)(*arguments, **named) == result
    assert double.last == kind(SESSION_ID, double.last.correlation_id, *fields)


def test_requests_of_an_event_loop_are_the_same(world, double):
    async def run():
        async with await world.connect_async() as archive:
            for name, arguments, named, kind, fields, answer, result in CASES:
                double.answers[kind] = lambda request, answer=answer: [double.ok(request, answer)]

                assert await getattr(archive, name)(*arguments, **named) == result
                assert double.last == kind(SESSION_ID, double.last.correlation_id, *fields)

    world.in_loop(run())


def test_both_clients_have_the_same_requests():
    def requests(kind):
        return {
            name: str(inspect.signature(method))
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_") and name not in {"signals"}
        }

    assert requests(AeronArchive) == requests(AsyncAeronArchive)


@pytest.mark.parametrize(("name", "arguments", "kind", "code"), REFUSED)
def test_stopping_what_has_stopped_returns_false(archive, double, name, arguments, kind, code):
    double.answers[kind] = lambda request: [double.error(request, code)]
    assert getattr(archive, name)(*arguments) is False

    double.answers[kind] = lambda request: [double.error(request, 13)]
    with pytest.raises(ArchiveRefusedError, match="UNAUTHORISED_ACTION"):
        getattr(archive, name)(*arguments)


def test_recordings_are_listed_until_the_archive_has_no_more(archive, double):
    double.answers[r.ListRecordingsRequest] = lambda request: [
        description(request, 1),
        double.ok(request, 0).__class__(SESSION_ID, 0, 0, ControlResponseCode.OK, VERSION, ""),
        description(request, 2, stop_timestamp=2000, stop_position=128),
        end(request),
    ]

    found = archive.list_recordings()

    assert double.last == r.ListRecordingsRequest(SESSION_ID, double.last.correlation_id, 0, ALL)
    assert [(each.recording_id, each.stop_time_ms, each.stop_position) for each in found] == [
        (1, None, None),
        (2, 2000, 128),
    ]
    assert found[0] == ArchivedRecording(
        1, 1000, None, 64, None, 7, 131072, 65536, 1408, 11, 5, IPC, f"{IPC}?alias=a", "localhost"
    )


def test_a_list_ends_at_the_requested_count(archive, double):
    double.answers[r.ListRecordingsRequest] = lambda request: [
        description(request, 4),
        description(request, 5),
    ]

    assert [each.recording_id for each in archive.list_recordings(4, 2)] == [4, 5]
    assert double.last == r.ListRecordingsRequest(SESSION_ID, double.last.correlation_id, 4, 2)
    assert archive.list_recordings(4, 0) == []


def test_recordings_are_listed_by_channel_and_by_id(archive, double):
    double.answers[r.ListRecordingsForUriRequest] = lambda request: [end(request)]
    double.answers[r.ListRecordingRequest] = lambda request: [
        description(request, 3) if request.recording_id == 3 else end(request)
    ]

    assert archive.list_recordings_for_uri("ipc", 5, 1, 10) == []
    request = double.last
    assert request == r.ListRecordingsForUriRequest(SESSION_ID, request.correlation_id, 1, 10, 5, "ipc")
    assert archive.list_recording(3).recording_id == 3
    assert archive.list_recording(4) is None


def test_recording_subscriptions_are_listed_with_or_without_a_stream(archive, double):
    double.answers[r.ListRecordingSubscriptionsRequest] = lambda request: [
        RecordingSubscriptionDescription(SESSION_ID, request.correlation_id, 9, 5, IPC),
        end(request, ControlResponseCode.SUBSCRIPTION_UNKNOWN),
    ]

    assert archive.list_recording_subscriptions() == [RecordingSubscription(9, 5, IPC)]
    correlation_id = double.last.correlation_id
    assert double.last == r.ListRecordingSubscriptionsRequest(
        SESSION_ID, correlation_id, 0, ALL, False, 0, ""
    )
    archive.list_recording_subscriptions("ipc", 5, 1, 2)
    correlation_id = double.last.correlation_id
    assert double.last == r.ListRecordingSubscriptionsRequest(
        SESSION_ID, correlation_id, 1, 2, True, 5, "ipc"
    )


def test_a_list_that_is_refused_raises(archive, double):
    double.answers[r.ListRecordingsRequest] = lambda request: [double.error(request, 1)]

    with pytest.raises(
        ArchiveRefusedError, match=r"ACTIVE_LISTING.: wait until the previous list is complete"
    ):
        archive.list_recordings()


def test_lists_in_an_event_loop(world, double):
    double.answers[r.ListRecordingsRequest] = lambda request: [description(request, 1), end(request)]
    double.answers[r.ListRecordingsForUriRequest] = lambda request: [end(request)]
    double.answers[r.ListRecordingRequest] = lambda request: [end(request)]
    double.answers[r.ListRecordingSubscriptionsRequest] = lambda request: [
        end(request, ControlResponseCode.SUBSCRIPTION_UNKNOWN)
    ]

    async def run():
        async with await world.connect_async() as archive:
            assert [each.recording_id for each in await archive.list_recordings()] == [1]
            assert await archive.list_recordings_for_uri("", 5) == []
            assert await archive.list_recording(1) is None
            assert await archive.list_recording_subscriptions() == []

    world.in_loop(run())


@pytest.mark.parametrize("name", ["add_recorded_publication", "add_recorded_exclusive_publication"])
def test_a_recorded_publication_is_recorded_by_its_session(archive, double, name):
    publication = getattr(archive, name)(f"{IPC}?alias=a", 1001)

    channel = f"{IPC}?alias=a|session-id={publication.session_id}"
    begin = (SESSION_ID, double.last.correlation_id)
    assert double.last == r.StartRecordingRequest2(*begin, 1001, LOCAL, False, channel)
    assert archive.stop_recorded_publication(publication)
    begin = (SESSION_ID, double.last.correlation_id)
    assert double.last.channel.endswith(f"session-id={publication.session_id}")


def test_a_publication_that_cannot_be_recorded_is_closed(world, archive, double):
    double.answers[r.StartRecordingRequest2] = lambda request: [double.error(request, 8)]

    with pytest.raises(ArchiveRefusedError, match="MAX_RECORDINGS"):
        archive.add_recorded_publication(IPC, 1001)

    assert world.aeron.add_publication(IPC, 1001).is_original


def test_a_stream_with_a_publication_is_not_recorded_again(world, archive):
    world.aeron.add_publication(IPC, 1001)

    with pytest.raises(ClientError, match="this client already has a publication of the stream"):
        archive.add_recorded_publication(IPC, 1001)


def test_a_replay_is_subscribed_by_its_session(archive, double):
    double.answers[r.ReplayRequest] = lambda request: [double.ok(request, 5 << 32 | 0xFFFF_FFFE)]

    subscription = archive.replay(3, f"{IPC}?alias=a", 1001)

    assert subscription.channel == f"{IPC}?alias=a|session-id=-2"
    assert double.last.replay_channel == f"{IPC}?alias=a"


def test_a_replay_over_a_response_channel_needs_its_subscription(archive):
    with pytest.raises(ConfigurationError, match="use replay"):
        archive.start_replay(3, "aeron:udp?control-mode=response|control=localhost:0", 1001)


def test_a_live_replication_has_no_session_id_of_its_own():
    with pytest.raises(ConfigurationError, match="must not both be given"):
        ReplicationParams(live_destination="aeron:udp?endpoint=localhost:1", replication_session_id=1)


def recording(**changes):
    fields = {"start_position": 100_000, "stop_position": 200_000} | changes
    return ArchivedRecording(
        1,
        0,
        None,
        fields["start_position"],
        fields["stop_position"],
        7,
        131072,
        65536,
        1408,
        11,
        5,
        IPC,
        IPC,
        "localhost",
    )


@pytest.mark.parametrize(
    ("position", "base"), [(100_000, 65536), (196_607, 65536), (196_608, 196_608), (400_000, 327_680)]
)
def test_segments_begin_with_the_term_of_the_start_position(position, base):
    assert recording().segment_base_position(position) == base


def test_a_publication_that_extends_a_recording_begins_at_its_stop_position():
    assert recording().extension_channel(f"{IPC}?alias=a") == (
        f"{IPC}?alias=a|init-term-id=7|term-id=10|term-offset=3392|term-length=65536|mtu=1408"
    )


def test_an_active_recording_is_not_extended():
    with pytest.raises(ClientError, match="recording 1 is active: stop it before you extend it"):
        recording(stop_position=None).extension_channel(IPC)
    with pytest.raises(ChannelUriError):
        recording().extension_channel("ipc")

"""A session with an archive: connect, challenge, requests, signals, errors and its end."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aeron_core.archive import AeronArchive
from aeron_core.errors import (
    ArchiveAuthenticationError,
    ArchiveDisconnectedError,
    ArchiveErrorCode,
    ArchiveRefusedError,
    ArchiveTimeoutError,
    ClientError,
    ClosedError,
    ConfigurationError,
    ProtocolError,
)
from aeron_core.protocol.archive.codes import RecordingSignal
from aeron_core.protocol.archive.requests import (
    ArchiveIdRequest,
    AuthConnectRequest,
    ChallengeResponse,
    CloseSessionRequest,
    KeepAliveRequest,
    ReplayRequest,
    StartPositionRequest,
    StopPositionRequest,
)
from aeron_core.protocol.archive.responses import ArchivePing, ControlResponse, RecordingSignalEvent
from aeron_core.uri.channel_uri import ChannelUri

SESSION_ID, ARCHIVE_ID, VERSION = 77, 42, 1 << 16 | 12 << 8


def signal(recording_id, session_id=SESSION_ID):
    return RecordingSignalEvent(session_id, 1, recording_id, 2, 3, RecordingSignal.START)


def test_a_client_connects_asks_for_the_id_and_activates_its_session(world, double):
    archive = world.connect(credentials=b"secret", client_name="tester")
    world.run()

    connect, ask_id, keep_alive = double.received
    assert isinstance(connect, AuthConnectRequest)
    assert (connect.version, connect.response_stream_id, connect.encoded_credentials) == (
        VERSION,
        20,
        b"secret",
    )
    assert connect.client_info.startswith("name=tester version=")
    channel = ChannelUri.parse(connect.response_channel)
    assert channel.get("session-id") is not None
    assert (channel.get("term-length"), channel.get("sparse")) == ("65536", "true")
    assert ask_id == ArchiveIdRequest(SESSION_ID, ask_id.correlation_id)
    assert keep_alive == KeepAliveRequest(SESSION_ID, -1)
    assert (archive.archive_id, archive.control_session_id, archive.is_connected) == (
        ARCHIVE_ID,
        SESSION_ID,
        True,
    )
    assert repr(archive) == "AeronArchive('aeron:ipc', connected)"


def test_an_archive_of_an_older_protocol_has_no_id(world, double):
    double.version = 1 << 16 | 10 << 8

    archive = world.connect()

    assert archive.archive_id is None
    assert not [request for request in double.received if isinstance(request, ArchiveIdRequest)]


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"credentials": b"secret"}, b"secret"),
        ({"on_challenge": lambda challenge: challenge + b"!"}, b"what?!"),
    ],
)
def test_a_challenge_is_answered(world, double, options, answer):
    double.challenge = b"what?"

    archive = world.connect(**options)

    (response,) = [request for request in double.received if isinstance(request, ChallengeResponse)]
    assert response.encoded_credentials == answer
    assert archive.is_connected


def test_an_archive_that_challenges_without_end_is_a_timeout(world, double):
    double.challenge = b"what?"
    double.challenges_again = True

    with pytest.raises(ArchiveTimeoutError, match="the session was not opened within 1 s"):
        world.connect(on_challenge=lambda _: world.run(1) or b"")


def test_refused_credentials_raise_and_leave_nothing_open(world, double):
    double.refuses = True

    with pytest.raises(
        ArchiveAuthenticationError,
        match=r"connect: refused by the archive: session rejected .AUTHENTICATION_REJECTED.: pass other credentials",
    ) as caught:
        world.connect()

    world.run()
    assert caught.value.code is ArchiveErrorCode.AUTHENTICATION_REJECTED
    assert isinstance(double.received[-1], CloseSessionRequest)
    assert not double.publication.is_connected


def test_a_missing_archive_is_a_timeout(world):
    with pytest.raises(
        ArchiveTimeoutError, match="no archive found at aeron:ipc stream 11 within 1 s: check"
    ):
        world.connect(control_request_stream_id=11)


def test_an_archive_that_does_not_answer_is_a_timeout(world, double):
    double.is_silent = True

    with pytest.raises(ArchiveTimeoutError, match="did not connect to aeron:ipc"):
        world.connect()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"control_request_channel": "ipc"}, "invalid URI scheme"),
        ({"message_timeout": 0}, "message_timeout=0: must be a number of seconds above 0"),
        ({"client_name": "é"}, "client_name='é': must have at most 100 ASCII characters"),
    ],
)
def test_wrong_options_are_refused(world, options, reason):
    with pytest.raises(ConfigurationError, match=reason):
        world.connect(**options)


def test_a_request_returns_the_result(archive, double):
    double.answers[StartPositionRequest] = lambda request: [double.ok(request, 4096)]

    assert archive.start_position(5) == 4096
    assert double.last == StartPositionRequest(SESSION_ID, double.last.correlation_id, 5)


def test_a_refusal_has_the_code_the_text_and_a_remedy(archive, double):
    double.answers[StartPositionRequest] = lambda request: [
        double.error(request, 5, "unknown recording id: 5")
    ]

    with pytest.raises(
        ArchiveRefusedError,
        match=r"StartPositionRequest: refused by the archive: unknown recording id: 5 .UNKNOWN_RECORDING.: list the",
    ) as caught:
        archive.start_position(5)
    assert caught.value.code is ArchiveErrorCode.UNKNOWN_RECORDING
    assert caught.value.correlation_id == double.last.correlation_id


def test_a_code_that_is_not_known_is_shown_as_a_number(archive, double):
    double.answers[StartPositionRequest] = lambda request: [double.error(request, 99, "\udcff")]

    with pytest.raises(ArchiveRefusedError, match=r"archive: \\udcff .error code 99."):
        archive.start_position(5)


def test_responses_to_others_and_pings_are_skipped(archive, double):
    def answer(request):
        other_session = ControlResponse(1, request.correlation_id, 1, 0, VERSION, "")
        earlier = ControlResponse(SESSION_ID, request.correlation_id - 1, 2, 0, VERSION, "")
        unknown = ArchivePing(SESSION_ID).encode().replace(b"\x6a\0", b"\xff\x7f", 1)
        return [other_session, earlier, ArchivePing(SESSION_ID), unknown, double.ok(request, 3)]

    double.answers[StartPositionRequest] = answer

    assert archive.start_position(5) == 3


def test_a_response_that_never_comes_is_a_timeout(archive, double):
    double.answers[StartPositionRequest] = lambda request: []

    with pytest.raises(ArchiveTimeoutError, match="no response to StartPositionRequest within 1 s: check"):
        archive.start_position(5)


def test_a_late_response_is_not_that_of_the_next_request(archive, double):
    double.answers[StartPositionRequest] = lambda request: []
    with pytest.raises(ArchiveTimeoutError):
        archive.start_position(5)
    late = double.ok(double.last, 1)
    double.answers[StopPositionRequest] = lambda request: [late, double.ok(request, 2)]

    assert archive.stop_position(5) == 2


def test_hostile_bytes_raise_and_the_session_continues(archive, double):
    double.answers[StartPositionRequest] = lambda request: [b"\x20\0\x01\0\x65\0\x0e\0short"]
    with pytest.raises(ProtocolError, match="ControlResponse: block at byte 8 needs 32 bytes, 5 remain"):
        archive.start_position(5)
    double.answers.clear()

    assert archive.start_position(5) == 0


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_mutated_responses_give_a_result_or_a_documented_error(archive, double, data):
    def answer(request):
        content = bytearray(double.ok(request, 1).encode())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        return [bytes(content[: data.draw(st.integers(1, len(content)))]), double.ok(request, 2)]

    double.answers[StartPositionRequest] = answer
    try:
        assert isinstance(archive.start_position(5), int)
    except (ProtocolError, ArchiveRefusedError):
        archive.poll_for_recording_signals()
    double.answers.clear()

    assert archive.start_position(5) == 0


@pytest.mark.parametrize(
    "flood",
    [signal(1), ControlResponse(SESSION_ID, 1, 2, 0, VERSION, ""), ControlResponse(1, 1, 2, 0, VERSION, "")],
    ids=["signals", "late responses", "another session"],
)
def test_an_archive_that_never_stops_sending_does_not_extend_a_request(world, double, flood):
    archive = world.connect(on_recording_signal=lambda _: world.run(1))
    double.answers[StartPositionRequest] = lambda request: []
    double.floods = flood

    with pytest.raises(ArchiveTimeoutError, match="no response to StartPositionRequest"):
        archive.start_position(5)


def test_a_poll_ends_although_more_signals_arrive(world, double):
    archive = world.connect(on_recording_signal=lambda _: world.run(1))
    double.floods = signal(1)
    world.run()

    assert archive.poll_for_recording_signals() > 0


def test_signals_reach_the_handler_while_a_request_waits_and_between_requests(world, double):
    signals = []
    archive = world.connect(on_recording_signal=signals.append)
    double.answers[StartPositionRequest] = lambda request: [signal(1), signal(9, 5), double.ok(request)]

    archive.start_position(5)
    assert [event.recording_id for event in signals] == [1]
    double.send(signal(2), signal(3))
    world.run()

    assert archive.poll_for_recording_signals() == 2
    assert [event.recording_id for event in signals] == [1, 2, 3]
    assert archive.poll_for_recording_signals() == 0


def test_a_handler_must_not_use_its_session(world, double):
    caught = []

    def use(_):
        try:
            archive.start_position(5)
        except ClientError as error:
            caught.append(str(error))

    archive = world.connect(on_recording_signal=use)
    double.send(signal(1))
    world.run()
    archive.poll_for_recording_signals()

    assert caught == ["a handler must not use the session that calls it: do so after it has returned"]


def test_errors_of_earlier_requests_are_raised_on_demand(world, archive, double):
    archive.start_replay(1, "aeron:ipc", 5)
    request = double.last
    assert isinstance(request, ReplayRequest)
    double.send(double.error(request, 0, "no connection"))
    world.run()

    assert archive.start_position(5) == 0
    with pytest.raises(
        ArchiveRefusedError, match="an earlier request: refused by the archive: no connection"
    ):
        archive.check_for_error_response()
    archive.check_for_error_response()


def test_errors_of_earlier_requests_go_to_the_handler(world, double):
    errors = []
    archive = world.connect(on_error=errors.append)
    archive.start_replay(1, "aeron:ipc", 5)
    double.send(double.error(double.last, 0))
    world.run()

    archive.check_for_error_response()

    assert [error.code for error in errors] == [ArchiveErrorCode.GENERIC]


def test_an_archive_that_stops_ends_the_session(world, archive, double):
    double.close()
    world.run(200)

    assert not archive.is_connected
    for _ in range(2):
        with pytest.raises(
            ArchiveDisconnectedError, match="the session with the archive at aeron:ipc has ended"
        ):
            archive.start_position(5)
    with pytest.raises(ArchiveDisconnectedError):
        archive.poll_for_recording_signals()


def test_an_archive_that_stops_during_a_request_ends_the_session(world, archive, double):
    def stop(request):
        double.close()
        return []

    double.answers[StartPositionRequest] = stop

    with pytest.raises(ArchiveDisconnectedError):
        archive.start_position(5)


def test_a_closed_session_sends_nothing_more(world, archive, double):
    with archive:
        pass
    world.run()

    assert double.received == [CloseSessionRequest(SESSION_ID)]
    assert archive.is_closed
    archive.close()
    with pytest.raises(ClosedError, match="the session with the archive is closed: connect again"):
        archive.list_recordings()


def test_a_session_of_a_closed_client_is_closed(world, archive):
    world.aeron.close()

    with pytest.raises(ClosedError, match="is closed: connect again"):
        archive.start_position(5)
    archive.close()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [((2**63,), "StartPositionRequest: .*"), (("5",), "cannot be interpreted as an integer")],
)
def test_arguments_that_a_message_cannot_hold_are_refused(archive, arguments, reason):
    with pytest.raises((ValueError, TypeError), match=reason):
        archive.start_position(*arguments)


def test_sessions_of_one_client_do_not_share_a_stream(world, double):
    first = world.connect()
    second = world.connect()

    channels = [r.response_channel for r in double.received if isinstance(r, AuthConnectRequest)]
    assert len({ChannelUri.parse(channel).get("session-id") for channel in channels}) == 2
    assert isinstance(first, AeronArchive)
    assert second.start_position(1) == 0

"""Clients are admitted by their credentials or by the answer to a challenge, and may send what they are allowed to."""

from __future__ import annotations

import contextlib
import hmac
import time

import pytest
from served_archives import IPC, TERM, connect, expected, messages_of, record

from aeron_core.archive import control_session
from aeron_core.archive.reading.opening import open_archive
from aeron_core.archive.server.authentication import (
    ACTIONS,
    Admitted,
    Challenged,
    Rejected,
    User,
    Users,
    shared_secret,
    users_of,
)
from aeron_core.errors import (
    AeronError,
    ArchiveAuthenticationError,
    ArchiveErrorCode,
    ArchiveRefusedError,
    ConfigurationError,
)
from aeron_core.protocol.archive import requests

SECRET = b"0123456789abcdef"


def users(**options) -> dict:
    """Return the parameters of an archive with the user `reader`."""
    made = Users({"reader": User(name="reader", secret=SECRET, **options)})
    return {"authenticator": made.authenticate, "authorisation": made.authorise}


def answer(challenge: bytes) -> bytes:
    return hmac.digest(SECRET, challenge, "sha256")


def test_a_user_is_admitted_by_its_secret_or_by_the_answer_to_a_challenge(serve, aeron):
    serve(**users())

    with connect(aeron, credentials=b"reader:" + SECRET) as archive:
        assert archive.list_recordings() == []
    with connect(aeron, credentials=b"reader", on_challenge=answer) as archive:
        assert archive.list_recordings() == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"credentials": b"reader:wrong"},
        {"credentials": b":"},
        {"credentials": b"-:" + SECRET},
        {"credentials": b"\xff:" + SECRET},
        {"credentials": b"reader", "on_challenge": lambda _: SECRET},
        {"credentials": b"reader", "on_challenge": lambda _: b""},
        {"credentials": b"other", "on_challenge": answer},
    ],
    ids=range(8),
)
def test_wrong_credentials_and_answers_are_rejected_and_reported_without_them(serve, aeron, options):
    served = serve(**users())

    with pytest.raises(ArchiveAuthenticationError, match="authentication rejected"):
        connect(aeron, **options)

    assert [str(error) for error in served.errors] == ["client at aeron:ipc: authentication rejected"]


@pytest.fixture
def responses(serve, free_port):
    """Start an archive with the user `reader`; return the channels of a client with a response channel."""
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    serve(control_channel=control, **users())
    response = f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
    return {"control_request_channel": control, "control_response_channel": response}


def test_a_client_with_a_response_channel_is_rejected_with_an_answer(aeron, responses):
    with pytest.raises(ArchiveAuthenticationError, match="authentication rejected"):
        connect(aeron, credentials=b"reader:wrong", **responses)


def test_a_client_with_a_response_channel_is_challenged(aeron, responses):
    with connect(aeron, credentials=b"reader", on_challenge=answer, **responses) as archive:
        assert archive.list_recordings() == []


def test_a_user_that_must_be_challenged_is_not_admitted_by_its_secret(serve, aeron):
    serve(**users(challenge=True))

    with pytest.raises(ArchiveAuthenticationError):
        connect(aeron, credentials=b"reader:" + SECRET)
    connect(aeron, credentials=b"reader", on_challenge=answer).close()


def test_a_challenged_client_that_does_not_answer_loses_its_session(serve, aeron):
    served = serve(**users(), connect_timeout_ms=300)

    def wait(_: bytes) -> bytes:
        deadline_s = time.monotonic() + 20
        while served.server._archive.sessions and time.monotonic() < deadline_s:
            time.sleep(0.001)
        raise KeyError("not answered")

    with pytest.raises(KeyError):
        connect(aeron, credentials=b"reader", on_challenge=wait)

    assert served.server._archive.sessions == {}


def test_answers_to_challenges_open_no_more_sessions_than_the_limit(serve, aeron):
    served = serve(**users(), max_sessions=2)
    for _ in range(2):
        assert connect(aeron, credentials=b"reader", on_challenge=answer).list_recordings() == []

    with pytest.raises(AeronError, match="2 sessions are open, the most"):
        connect(aeron, credentials=b"reader", on_challenge=answer)

    assert [str(error) for error in served.errors] == ["2 sessions are open, the most"]


def test_a_request_without_permission_is_refused_and_the_session_continues(serve, aeron):
    served = serve(**users(allow=frozenset({"list"})))
    archive = connect(aeron, credentials=b"reader:" + SECRET)

    for refused, action in (
        (lambda: archive.start_recording(IPC, 1), "record"),
        (lambda: archive.replay(0, IPC, 1), "replay"),
        (lambda: archive.truncate_recording(0, 0), "change"),
        (lambda: archive.replicate(0, IPC), "replicate"),
    ):
        with pytest.raises(
            ArchiveRefusedError, match=f"the permission {action}; user reader has: list"
        ) as caught:
            refused()
        assert caught.value.code is ArchiveErrorCode.UNAUTHORISED_ACTION

    assert archive.list_recordings() == []
    assert archive.is_connected
    assert "StartRecordingRequest2 needs the permission record" in str(served.errors[0])


def test_an_allowed_user_records_and_replays(serve, aeron):
    serve(**users(allow=frozenset({"list", "record", "replay"})))
    archive = connect(aeron, credentials=b"reader:" + SECRET)

    assert messages_of(archive.replay(record(archive, 10, channel=TERM), IPC, 900), 10) == expected(10)


def address_of(driver, tmp_path, credentials: bytes) -> str:
    (tmp_path / "credentials").write_bytes(credentials + b"\n")
    return f"aeron:archive?control-request=aeron:ipc|dir={driver.aeron_dir}|credentials-file={tmp_path}/credentials"


@pytest.mark.parametrize(("allow", "permission"), [({"replay"}, "list"), ({"list"}, "replay")])
def test_a_reader_without_permission_fails_with_one_line_that_names_it(
    serve, aeron, driver, tmp_path, allow, permission
):
    writer = User(name="writer", secret=SECRET)
    made = Users({"writer": writer, "reader": User(name="reader", secret=SECRET, allow=frozenset(allow))})
    serve(authenticator=made.authenticate, authorisation=made.authorise)
    record(connect(aeron, credentials=b"writer:" + SECRET), 10)

    def read(archive) -> None:
        recording = archive.recording(0)
        next(recording.read(0, recording.position))

    with (
        contextlib.closing(open_archive(address_of(driver, tmp_path, b"reader:" + SECRET))) as archive,
        pytest.raises(AeronError) as caught,
    ):
        read(archive)

    text = str(caught.value)
    assert f"needs the permission {permission}; user reader has: {', '.join(allow)}" in text
    assert text.endswith("connect with credentials that may do this")
    assert "\n" not in text
    assert SECRET.decode() not in text


def test_a_reader_of_another_version_fails_with_one_line_that_names_both(
    serve, driver, tmp_path, monkeypatch
):
    serve()
    monkeypatch.setattr(control_session, "PROTOCOL_VERSION", 2 << 16)

    with (
        contextlib.closing(open_archive(address_of(driver, tmp_path, b""))) as archive,
        pytest.raises(AeronError) as caught,
    ):
        archive.recordings()

    assert "invalid client version 2.0.0, archive is 1.12.0" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_client_is_rejected_if_the_authenticator_fails(serve, aeron):
    def fail(credentials: bytes):
        raise ValueError(credentials)

    served = serve(authenticator=fail)

    with pytest.raises(ArchiveAuthenticationError):
        connect(aeron, credentials=b"hidden")

    assert str(served.errors[0]) == "the authenticator failed: ValueError; correct it"
    assert not any("hidden" in str(error) for error in served.errors)


def test_a_client_is_rejected_with_a_reason_in_any_script(serve, aeron):
    serve(
        authenticator=lambda credentials: Rejected(ArchiveErrorCode.AUTHENTICATION_REJECTED, "gesperrt für ✗")
    )

    with pytest.raises(ArchiveAuthenticationError, match=r"gesperrt f\\xfcr \\u2717"):
        connect(aeron, credentials=b"x")


def test_a_request_is_refused_if_the_authorisation_fails(serve, aeron):
    def fail(name: str, request: object):
        if isinstance(request, requests.ListRecordingsRequest):
            raise KeyError("hidden")

    served = serve(authorisation=fail)
    archive = connect(aeron)

    for _ in range(2):
        with pytest.raises(ArchiveRefusedError, match="unauthorised action") as caught:
            archive.list_recordings()
        assert caught.value.code is ArchiveErrorCode.UNAUTHORISED_ACTION
        assert "hidden" not in str(caught.value)
    assert str(served.errors[0]) == "the authorisation failed: KeyError; correct it"


def test_each_request_has_an_action_or_needs_none():
    classified = {kind for kinds in ACTIONS.values() for kind in kinds}

    assert {kind.__name__ for kind in requests.REQUESTS.values() if kind not in classified} == {
        "ConnectRequest", "AuthConnectRequest", "CloseSessionRequest", "ChallengeResponse", "KeepAliveRequest",
        "ArchiveIdRequest",
    }  # fmt: skip


def test_challenges_differ_and_an_unknown_user_is_challenged_as_well():
    made = Users({"reader": User(name="reader", secret=SECRET)})

    decisions = [made.authenticate(name) for name in (b"reader", b"reader", b"other")]

    assert all(isinstance(each, Challenged) for each in decisions)
    assert len({each.challenge for each in decisions}) == 3
    assert decisions[0].decide(answer(decisions[0].challenge)) == Admitted("reader")
    assert decisions[1].decide(answer(decisions[0].challenge)) == Rejected()


def test_no_representation_has_a_secret():
    user = User(name="reader", secret=SECRET)

    assert "0123456789" not in f"{user} {Users({'reader': user})} {shared_secret(SECRET)}"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({}, r"must have tables \[users.NAME\], and nothing else"),
        ({"users": {}}, r"must have tables"),
        ({"users": {"a": {}}}, r"\[users.a\]: must have the key secret"),
        ({"users": {"a": {"secret": "x" * 16, "more": 1}}}, r"and no other"),
        ({"users": {"a": {"secret": 1}}}, r"secret must be a text"),
        ({"users": {"a": {"secret": "x" * 16, "allow": "list"}}}, r"allow a list of texts"),
        ({"users": {"a": {"secret": "x" * 16, "challenge": 1}}}, r"challenge true or false"),
        ({"users": {"a": {"secret": "short"}}}, r"secret of user a: 5 characters: must have 16 to 1024"),
        ({"users": {"a": {"secret": "x" * 16, "allow": ["all"]}}}, r"unknown action 'all': must be some of list, "),
        ({"users": {"a b": {"secret": "x" * 16}}}, r"user 'a b': must have 1 to 64 letters"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_wrong_table_of_users_is_refused(document, text):
    with pytest.raises(ConfigurationError, match=f"^FILE: .*{text}") as caught:
        users_of(document, "FILE")

    assert "xxx" not in str(caught.value)

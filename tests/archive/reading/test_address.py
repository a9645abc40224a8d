"""Addresses of running archives."""

import pytest

from aeron_core.archive.reading.address import ArchiveAddress, is_address
from aeron_core.errors import ChannelUriError, ConfigurationError

REQUEST = "control-request=aeron:udp?endpoint=127.0.0.1:8010"


def parse(rest: str) -> ArchiveAddress:
    return ArchiveAddress.parse(f"aeron:archive?{rest}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aeron:archive?control-request=aeron:ipc", True),
        ("aeron:archive", True),
        ("aeron:archives", False),
        ("aeron:ipc", False),
        ("recordings", False),
        ("s3://bucket/aeron:archive?", False),
    ],
)
def test_an_address_is_recognised_by_its_beginning(text, expected):
    assert is_address(text) is expected


def test_channels_keep_their_own_parameters():
    address = parse(
        "control-request=aeron:udp?endpoint=a:1|mtu=4096|control-response=aeron:udp?control-mode=response|control=a:2"
        "|replay=aeron:udp?endpoint=c:0|rcv-wnd=2m|dir=/d|control-request-stream-id=11|control-response-stream-id=21"
        "|replay-stream-id=31|message-timeout=3s|reconnect-timeout=1min|recording-ids=2,1|recording-stream-id=-5"
        "|recording-channel=udp"
    )

    assert str(address.control_request) == "aeron:udp?endpoint=a:1|mtu=4096"
    assert address.response_channel() == "aeron:udp?control-mode=response|control=a:2"
    assert address.replay_channel() == "aeron:udp?endpoint=c:0|rcv-wnd=2m"
    assert (address.aeron_dir, address.message_timeout_s, address.reconnect_timeout_s) == ("/d", 3.0, 60.0)
    assert (address.control_request_stream_id, address.control_response_stream_id) == (11, 21)
    assert (address.replay_stream_id, address.recording_ids) == (31, {1, 2})
    assert address.selects(1, -5, "aeron:udp?endpoint=x:1")
    assert not address.selects(3, -5, "aeron:udp?endpoint=x:1")
    assert not address.selects(1, 5, "aeron:udp?endpoint=x:1")
    assert not address.selects(1, -5, "aeron:ipc")


def test_responses_arrive_at_the_address_on_the_route_to_the_archive():
    assert parse(REQUEST).response_channel() == "aeron:udp?endpoint=127.0.0.1:0"
    assert parse(REQUEST).replay_channel() == "aeron:udp?endpoint=127.0.0.1:0"
    assert (
        parse("control-request=aeron:udp?endpoint=[::1]:8010").response_channel()
        == "aeron:udp?endpoint=[::1]:0"
    )
    assert parse("control-request=aeron:ipc").replay_channel() == "aeron:ipc"


def test_the_identity_depends_on_the_archive_only():
    assert parse(f"{REQUEST}|mtu=4096|message-timeout=3s|dir=/d").identity == parse(REQUEST).identity
    assert parse(f"{REQUEST}|control-request-stream-id=11").identity != parse(REQUEST).identity
    assert parse("control-request=aeron:ipc|dir=/d").identity != parse("control-request=aeron:ipc").identity


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("", "no control-request in .*: must be given, such as aeron:archive"),
        ("dir=/d", "no control-request in .*: must be given, such as aeron:archive"),
        ("control-request=", "control-request= in .*: must have a value: control channel"),
        (f"{REQUEST}|{REQUEST}", "key control-request in .*: is given twice; remove one of them"),
        ("control-reqest=aeron:ipc", "key 'control-reqest' in .*: did you mean control-request"),
        ("dir=/d|colour=red", "key 'colour' in .*: must be one of control-request, control-response"),
        (
            f"{REQUEST}|control-respons=aeron:ipc",
            "key 'control-respons' in .*: did you mean control-response",
        ),
        (f"{REQUEST}|message-timeuot=5s", "key 'message-timeuot' in .*: did you mean message-timeout"),
        ("control-request=udp://a:1", "control-request=udp://a:1 in .*: .*must start with 'aeron:'"),
        ("control-request=aeron-spy:aeron:ipc", "must be a channel such as"),
        (
            f"{REQUEST}|message-timeout=soon",
            "message-timeout=soon in .*: must be a whole decimal number with a unit",
        ),
        (f"{REQUEST}|message-timeout=0", "message-timeout=0 in .*: must be more than 0"),
        (f"{REQUEST}|dir=/d|replay-stream-id=x", "replay-stream-id=x in .*: must be a decimal"),
        (f"{REQUEST}|dir=/d|recording-ids=1;2", "recording-ids=1;2 in .*: must be recording ids with commas"),
    ],
)
def test_a_wrong_address_is_one_readable_line(rest, message):
    with pytest.raises(ChannelUriError, match=message) as caught:
        parse(rest)

    assert "\n" not in str(caught.value)


def test_credentials_are_the_content_of_a_file(tmp_path):
    (tmp_path / "token").write_bytes(b"secret\n")
    (tmp_path / "token").chmod(0o600)

    assert parse(f"{REQUEST}|credentials-file={tmp_path / 'token'}").credentials() == b"secret"
    assert parse(REQUEST).credentials() == b""
    for path, message in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file or directory")):
        with pytest.raises(
            ConfigurationError, match=f"credentials-file=.*: {message}: must be a file that this"
        ):
            parse(f"{REQUEST}|credentials-file={path}").credentials()
    (tmp_path / "big").write_bytes(bytes(65_537))
    (tmp_path / "big").chmod(0o600)
    with pytest.raises(ConfigurationError, match="must have at most 65536 bytes"):
        parse(f"{REQUEST}|credentials-file={tmp_path / 'big'}").credentials()


@pytest.mark.parametrize(
    ("mode", "is_warned"), [(0o644, True), (0o602, True), (0o640, False), (0o600, False)]
)
def test_credentials_that_every_user_can_read_or_change_are_used_with_a_warning(
    tmp_path, recwarn, mode, is_warned
):
    path = tmp_path / "token"
    path.write_bytes(b"secret")
    path.chmod(mode)

    assert parse(f"{REQUEST}|credentials-file={path}").credentials() == b"secret"

    texts = [str(warning.message) for warning in recwarn]
    assert [f"token: mode {mode:04o}: every user of this machine has access" in text for text in texts] == (
        [True] * is_warned
    )


def test_a_host_without_a_route_is_named():
    with pytest.raises(
        ChannelUriError, match=r"no route to archive\.invalid: .*correct the host, or give control-resp"
    ):
        parse("control-request=aeron:udp?endpoint=archive.invalid:8010").response_channel()


def test_responses_and_replays_are_secured_as_the_requests_are():
    address = parse("control-request=aeron:udp?endpoint=127.0.0.1:8010|security=orders")

    assert (
        address.response_channel()
        == address.replay_channel()
        == ("aeron:udp?endpoint=127.0.0.1:0|security=orders")
    )

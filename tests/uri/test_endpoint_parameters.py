import pytest

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.endpoint_parameters import (
    RESERVED_VALUE_OFFSET,
    ControlMode,
    EndpointParameters,
    check_destination,
)

UDP = "aeron:udp?endpoint=localhost:20121"


def endpoint(text):
    return EndpointParameters.parse(ChannelUri.parse(text))


def test_an_endpoint_without_parameters_uses_the_drivers_defaults():
    assert endpoint(UDP) == EndpointParameters()


@pytest.mark.parametrize(
    ("param", "field", "value"),
    [
        ("control-mode=manual", "control_mode", ControlMode.MANUAL),
        ("control-mode=dynamic|control=localhost:1", "control_mode", ControlMode.DYNAMIC),
        ("control-mode=response", "control_mode", ControlMode.RESPONSE),
        ("control-mode=Manual", "control_mode", ControlMode.NONE),
        ("tags=7,8", "channel_tag", 7),
        ("ttl=4", "ttl", 4),
        ("ttl=1000", "ttl", 255),
        ("so-sndbuf=2m", "socket_sndbuf_length", 2 << 20),
        ("so-rcvbuf=2m", "socket_rcvbuf_length", 2 << 20),
        ("rcv-wnd=64k", "receiver_window_length", 65536),
        ("media-rcv-ts-offset=reserved", "media_rcv_timestamp_offset", RESERVED_VALUE_OFFSET),
        ("channel-rcv-ts-offset=8", "channel_rcv_timestamp_offset", 8),
        ("channel-snd-ts-offset=0", "channel_snd_timestamp_offset", 0),
        ("ats=false", "socket_sndbuf_length", 0),
    ],
)
def test_endpoint_takes_its_parameters_from_the_uri(param, field, value):
    assert getattr(endpoint(f"{UDP}|{param}"), field) == value


@pytest.mark.parametrize(
    ("param", "allowed"),
    [
        ("ats=true", "ATS is not enabled and thus ats=true not allowed"),
        ("ats=x", "must be true or false"),
        ("ttl=x", "must be a decimal"),
        ("ttl=-1", "from 0 to 255"),
        ("so-sndbuf=x", "suffix k, m or g"),
        ("so-rcvbuf=4g", "from 0 to 2147483647 bytes"),
        ("media-rcv-ts-offset=x", "must be reserved or an offset"),
        ("channel-snd-ts-offset=-8", "must be reserved or an offset"),
        (
            "media-rcv-ts-offset=0|channel-rcv-ts-offset=7",
            "media-rcv-ts-offset and channel-rcv-ts-offset overlap",
        ),
        (
            "media-rcv-ts-offset=8|channel-snd-ts-offset=1",
            "media-rcv-ts-offset and channel-snd-ts-offset overlap",
        ),
        (
            "channel-rcv-ts-offset=reserved|channel-snd-ts-offset=reserved",
            "overlap: channel-rcv-ts-offset=reserved and channel-snd-ts-offset=reserved must be at least 8 bytes",
        ),
    ],
)
def test_errors_of_an_endpoint_have_the_code_generic_error(param, allowed):
    with pytest.raises(ChannelUriError) as caught:
        endpoint(f"{UDP}|{param}")

    assert allowed in str(caught.value)
    assert caught.value.code is ErrorCode.GENERIC_ERROR


def test_timestamps_eight_bytes_apart_do_not_overlap():
    params = endpoint(f"{UDP}|media-rcv-ts-offset=reserved|channel-rcv-ts-offset=0|channel-snd-ts-offset=8")

    assert params.channel_snd_timestamp_offset == 8


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("aeron:udp?mtu=8k", "must specify endpoint, control, tags, or control-mode=manual/response"),
        ("aeron:udp?tags=,5", "must specify endpoint, control, tags, or control-mode=manual/response"),
        (
            "aeron:udp?endpoint=a:1|control-mode=dynamic",
            "explicit control expected with dynamic control mode",
        ),
        ("aeron:udp?endpoint=a:1|tags=x", "could not parse channel tag string: x"),
    ],
)
def test_a_udp_channel_without_an_identifying_key_is_an_invalid_channel(text, reason):
    with pytest.raises(ChannelUriError, match=reason) as caught:
        endpoint(text)
    assert caught.value.code is ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize(
    "text", ["aeron:udp?control-mode=manual", "aeron:udp?tags=5", "aeron:udp?control=a:1"]
)
def test_a_udp_channel_may_omit_the_endpoint(text):
    assert endpoint(text).ttl == 0


def test_ipc_ignores_all_keys_except_the_control_mode():
    params = endpoint("aeron:ipc?control-mode=response|so-sndbuf=x|ttl=x|ats=true")

    assert params == EndpointParameters(ControlMode.RESPONSE)
    assert params.is_response


@pytest.mark.parametrize("key", ["mtu", "rcv-wnd", "so-rcvbuf", "so-sndbuf", "response-correlation-id"])
@pytest.mark.parametrize("is_send", [True, False])
def test_destination_must_not_contain_keys_of_the_whole_channel(key, is_send):
    with pytest.raises(ChannelUriError, match=f"destinations must not contain the key: {key}") as caught:
        check_destination(ChannelUri.parse(f"{UDP}|{key}=1"), is_send=is_send)
    assert caught.value.code is ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize(
    ("text", "is_send", "reason"),
    [
        ("aeron-spy:" + UDP, True, "spies are invalid as send destinations"),
        (UDP + "|control-mode=response", True, "destinations may not specify control-mode=response"),
        (UDP + "|control-mode=response", False, "destinations may not specify control-mode=response"),
        ("aeron:ipc", True, "incorrect URI format for destination"),
        ("aeron:udp?control=a:1", True, "incorrect URI format for destination"),
    ],
)
def test_an_invalid_destination_is_rejected(text, is_send, reason):
    with pytest.raises(ChannelUriError, match=reason):
        check_destination(ChannelUri.parse(text), is_send=is_send)


@pytest.mark.parametrize(
    ("text", "is_send"), [(UDP, True), (UDP, False), ("aeron:ipc", False), ("aeron-spy:" + UDP, False)]
)
def test_destinations_are_addresses_and_for_subscriptions_also_spies_and_ipc(text, is_send):
    check_destination(ChannelUri.parse(text), is_send=is_send)


def test_a_medium_other_than_udp_needs_no_endpoint_and_has_no_ttl():
    params = endpoint("aeron:lumberjack?so-rcvbuf=64k|ttl=7")

    assert (params.socket_rcvbuf_length, params.ttl) == (64 * 1024, 0)


@pytest.mark.parametrize("key", ["media-rcv-ts-offset", "channel-rcv-ts-offset", "channel-snd-ts-offset"])
def test_a_timestamp_offset_is_found_by_its_key(key):
    params = endpoint(f"{UDP}|{key}=16")

    offsets = {
        each: params.timestamp_offset(each)
        for each in ("media-rcv-ts-offset", "channel-rcv-ts-offset", "channel-snd-ts-offset")
    }
    assert {each for each, offset in offsets.items() if offset == 16} == {key}
    assert set(offsets.values()) == {16, None}

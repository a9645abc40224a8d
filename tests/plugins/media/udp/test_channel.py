import pytest
from aeron_media.udp.channel import derive_channel, multicast_control_address
from aeron_media.udp.interfaces import is_multicast

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri

HOSTS = {"localhost": "127.0.0.1", "service": "127.0.0.1", "six": "::1"}


def resolve(text, uri_key):
    if ":" not in text:
        text = f"{text}:4711"  # as a resolver may, for a name that stands for host and port
    host, port = parse_address(text)
    if host == "nowhere":
        raise ChannelUriError(f"unresolved {uri_key}={text}", ErrorCode.UNKNOWN_HOST)
    return SocketAddress.of(HOSTS.get(host, host), port)


def derive(text, *, is_publication=True):
    return derive_channel(ChannelUri.parse(text), resolve, is_publication=is_publication)


@pytest.mark.parametrize(
    ("uri", "local", "remote", "canonical_form"),
    [
        (
            "aeron:udp?endpoint=localhost:20121",
            "0.0.0.0:0",
            "127.0.0.1:20121",
            "UDP-0.0.0.0:0-localhost:20121",
        ),
        (
            "aeron:udp?endpoint=[::1]:20121",
            "[::]:0",
            "[::1]:20121",
            "UDP-[::]:0-[::1]:20121",
        ),
        (
            "aeron:udp?endpoint=localhost:20121|interface=127.0.0.1:7",
            "127.0.0.1:7",
            "127.0.0.1:20121",
            "UDP-127.0.0.1:7-localhost:20121",
        ),
        (
            "aeron:udp?endpoint=localhost:20121|interface=127.0.0.0/8",
            "127.0.0.1:0",
            "127.0.0.1:20121",
            "UDP-127.0.0.1:0-localhost:20121",
        ),
        (
            "aeron:udp?endpoint=localhost:20121|interface={lo}:9",
            "127.0.0.1:9",
            "127.0.0.1:20121",
            "UDP-127.0.0.1:9-localhost:20121",
        ),
        (
            "aeron:udp?endpoint=localhost:20121|interface=0.0.0.0",
            "0.0.0.0:0",
            "127.0.0.1:20121",
            "UDP-0.0.0.0:0-localhost:20121",
        ),
        (
            "aeron:udp?endpoint=localhost:20121|control=localhost:20122",
            "127.0.0.1:20122",
            "127.0.0.1:20121",
            "UDP-localhost:20122-localhost:20121",
        ),
        (
            "aeron:udp?control=six:20122|control-mode=dynamic",
            "[::1]:20122",
            "[::]:0",
            "UDP-six:20122-[::]:0",
        ),
    ],
)
def test_a_unicast_channel_has_the_addresses_of_the_reference(uri, local, remote, canonical_form):
    channel = derive(uri)

    assert (str(channel.local), str(channel.remote)) == (local, remote)
    assert channel.canonical_form == canonical_form
    assert (channel.local_control, channel.remote_control) == (channel.local, channel.remote)
    assert not channel.is_multicast


def test_a_name_without_a_port_is_left_to_the_resolver():
    assert str(derive("aeron:udp?endpoint=service").remote) == "127.0.0.1:4711"


def test_a_multicast_channel_answers_on_the_next_group():
    channel = derive("aeron:udp?endpoint=224.0.1.1:40456|interface=127.0.0.1")

    assert channel.is_multicast
    assert channel.is_group
    assert [str(channel.remote), str(channel.remote_control)] == ["224.0.1.1:40456", "224.0.1.2:40456"]
    assert channel.canonical_form == "UDP-127.0.0.1:0-224.0.1.1:40456"


@pytest.mark.parametrize(
    ("group", "control"),
    [
        ("224.0.1.1", "224.0.1.2"),
        ("239.1.2.255", "239.1.2.0"),
        ("ff02::1", "ff02::2"),
    ],
)
def test_the_control_group_differs_in_the_last_byte(group, control):
    uri = ChannelUri.parse("aeron:udp?endpoint=group:1")

    assert multicast_control_address(uri, SocketAddress.of(group, 5)) == SocketAddress.of(control, 5)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("223.255.255.255", False),
        ("224.0.0.0", True),
        ("239.255.255.255", True),
        ("::1", False),
        ("ff00::", True),
    ],
)
def test_multicast_addresses_are_distinguished_from_unicast_addresses(host, expected):
    assert is_multicast(SocketAddress.of(host, 1)) is expected


@pytest.mark.parametrize("mode", ["control=localhost:1|control-mode=dynamic", "control-mode=manual"])
def test_channels_with_several_destinations_have_group_semantics(mode):
    assert derive(f"aeron:udp?{mode}").is_group


@pytest.mark.parametrize(
    "uri",
    [
        "aeron:udp?endpoint=localhost:0|control=localhost:2|control-mode=dynamic",
        "aeron:udp?control-mode=manual",
        "aeron:udp?endpoint=localhost:1|control=localhost:0",
    ],
)
def test_channels_whose_port_is_chosen_later_are_never_the_same(uri):
    assert derive(uri).canonical_form != derive(uri).canonical_form


def test_a_tag_makes_channels_the_same_whose_port_is_chosen_later():
    forms = [derive("aeron:udp?control-mode=manual|tags=5").canonical_form for _ in range(2)]

    assert forms == ["UDP-0.0.0.0:0-0.0.0.0:0#5"] * 2


@pytest.mark.parametrize(
    ("uri", "is_publication", "code", "message"),
    [
        ("aeron:udp?alias=x", True, ErrorCode.INVALID_CHANNEL, "must specify endpoint, control, tags"),
        (
            "aeron:udp?endpoint=localhost:0",
            True,
            ErrorCode.GENERIC_ERROR,
            r"^endpoint has port=0 for publication: channel=aeron:udp\?endpoint=localhost:0: must be a port from 1 to "
            "65535$",
        ),
        (
            "aeron:udp?endpoint=localhost:1|control=localhost:0",
            False,
            ErrorCode.GENERIC_ERROR,
            "^control has port=0 for subscription: channel=aeron:udp.*: must be a port from 1 to 65535$",
        ),
        ("aeron:udp?endpoint=nowhere:1", True, ErrorCode.UNKNOWN_HOST, "unresolved endpoint"),
        ("aeron:udp?endpoint=224.0.1.2:1", True, ErrorCode.GENERIC_ERROR, "data address must be odd"),
        (
            "aeron:udp?control-mode=dynamic|endpoint=localhost:1",
            True,
            ErrorCode.INVALID_CHANNEL,
            "explicit control expected",
        ),
        (
            "aeron:udp?endpoint=localhost:1|interface=203.0.113.9",
            True,
            ErrorCode.GENERIC_ERROR,
            "could not find matching interface",
        ),
        (
            "aeron:udp?endpoint=localhost:1|interface=::1",
            True,
            ErrorCode.GENERIC_ERROR,
            "interface=::1",
        ),
        (
            "aeron:udp?endpoint=localhost:1|interface={nope}",
            True,
            ErrorCode.GENERIC_ERROR,
            "unknown interface nope: must be an interface that is up and has an address: .*lo",
        ),
        ("aeron:udp?endpoint=localhost:1|ats=true", True, ErrorCode.GENERIC_ERROR, "ATS is not enabled"),
    ],
)
def test_a_wrong_channel_is_refused_with_the_code_of_the_reference(uri, is_publication, code, message):
    with pytest.raises(ChannelUriError, match=message) as caught:
        derive(uri, is_publication=is_publication)

    assert caught.value.code is code


def test_a_subscription_may_leave_the_port_to_the_operating_system():
    assert derive("aeron:udp?endpoint=localhost:0", is_publication=False).remote.port == 0

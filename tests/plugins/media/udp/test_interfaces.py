import socket

import pytest
from aeron_media._native.interfaces import Interface
from aeron_media.udp.interfaces import find_interface, is_wildcard, wildcard

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri


def interface(name, host, prefix_length, **flags):
    given = {"is_up": True, "is_loopback": False, "is_multicast": True} | flags
    return Interface(name, SocketAddress.of(host, 0), prefix_length, **given)


MACHINE = [
    interface("lo", "127.0.0.1", 8, is_loopback=True, is_multicast=False),
    interface("down0", "10.9.0.1", 16, is_up=False),
    interface("eth0", "10.1.2.3", 8),
    interface("eth1", "10.1.2.4", 24),
    interface("tun0", "10.1.2.5", 32, is_multicast=False),
    interface("eth0", "fd00::3", 64),
]


def find(text, family=socket.AF_INET):
    uri = ChannelUri.parse(f"aeron:udp?endpoint=a:1|interface={text}")
    return str(find_interface(uri, family, lambda text, _: SocketAddress.of(*parse_address(text)), MACHINE))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1", "127.0.0.1:0"),
        ("10.1.2.3:77", "10.1.2.3:77"),
        ("10.0.0.0/8", "10.1.2.4:0"),  # of those that match, the one with the longest mask
        ("0.0.0.0/0", "10.1.2.4:0"),  # loopback only where nothing else matches
        ("{eth0}", "10.1.2.3:0"),
        ("{eth1}:9", "10.1.2.4:9"),
    ],
)
def test_an_interface_is_chosen_as_the_reference_does(text, found):
    assert find(text) == found


def test_a_named_interface_is_looked_up_in_the_family_of_the_endpoint():
    assert find("{eth0}:5", socket.AF_INET6) == "[fd00::3]:5"


@pytest.mark.parametrize(
    ("text", "family", "message"),
    [
        ("10.9.0.1", socket.AF_INET, "could not find matching interface"),
        ("10.1.2.5", socket.AF_INET, "could not find matching interface"),
        ("[fd00::]/64", socket.AF_INET, "could not find matching interface"),
        ("{eth1}", socket.AF_INET6, "no INET6 addresses found on interface eth1"),
        (
            "{down0}",
            socket.AF_INET,
            "unknown interface down0: must be an interface that is up and has an address: "
            "eth0, eth1, lo, tun0",
        ),
    ],
)
def test_an_interface_that_does_not_fit_is_refused(text, family, message):
    with pytest.raises(ChannelUriError, match=message):
        find(text, family)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_wildcard_is_known_by_its_zeros(family):
    assert is_wildcard(wildcard(family, 5))
    assert not is_wildcard(SocketAddress.of("::1", 5))

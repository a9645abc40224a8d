import socket

from aeron_media._native.interfaces import list_interfaces


def test_loopback_is_listed_with_its_mask():
    (loopback,) = [
        interface
        for interface in list_interfaces()
        if interface.name == "lo" and interface.address.family == socket.AF_INET
    ]

    assert str(loopback.address) == "127.0.0.1:0"
    assert (loopback.prefix_length, loopback.is_up, loopback.is_loopback) == (8, True, True)


def test_every_interface_is_one_that_the_system_names():
    names = {name for _, name in socket.if_nameindex()}

    assert {interface.name for interface in list_interfaces()} <= names


def test_masks_are_no_longer_than_their_addresses():
    for interface in list_interfaces():
        assert 0 <= interface.prefix_length <= 8 * len(interface.address.packed)

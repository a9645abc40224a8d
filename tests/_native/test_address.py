import re
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native.address import SocketAddress

ip4 = st.ip_addresses(v=4).map(str)
ip6 = st.ip_addresses(v=6).map(str)


@given(st.one_of(ip4, ip6), st.integers(0, 65535))
def test_an_address_keeps_host_and_port(host, port):
    address = SocketAddress.of(host, port)

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    assert (address.family, address.port) == (family, port)
    assert address.packed == socket.inet_pton(family, host)
    assert SocketAddress.of(address.host, port) == address
    assert hash(SocketAddress.of(address.host, port)) == hash(address)


@pytest.mark.parametrize(
    ("host", "port", "text", "as_tuple"),
    [
        ("127.0.0.1", 20121, "127.0.0.1:20121", ("127.0.0.1", 20121)),
        ("::1", 20121, "[::1]:20121", ("::1", 20121, 0, 0)),
    ],
)
def test_an_address_is_formatted_as_in_a_channel_uri(host, port, text, as_tuple):
    address = SocketAddress.of(host, port)

    assert (str(address), repr(address)) == (text, f"SocketAddress({text})")
    assert address.as_tuple() == as_tuple


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("127.0.0.1", 1), ("127.0.0.1", 2)),
        (("127.0.0.1", 1), ("127.0.0.2", 1)),
        (("0.0.0.0", 1), ("::", 1)),
        (("fe80::1", 1, 1), ("fe80::1", 1, 2)),
    ],
)
def test_addresses_that_differ_in_any_part_are_not_equal(one, other):
    assert SocketAddress.of(*one) != SocketAddress.of(*other)


def test_a_scope_is_given_by_number_or_by_the_name_of_an_interface():
    assert SocketAddress.of("fe80::1%7", 1).scope_id == 7
    assert SocketAddress.of("fe80::1%lo", 1).scope_id == socket.if_nametoindex("lo")
    assert SocketAddress.of("fe80::1", 1, 7) == SocketAddress.of("fe80::1%7", 1)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "224.\udca7.30.39",
        "::\udca7",
        "fe80::1%none-such",
        "fe80::1%\udca7",
        "fe80::1%\u00b2",
        "fe80::1%2147483648",
        "fe80::1%" + "9" * 5000,
    ],
)
def test_text_that_is_no_numeric_address_with_a_known_scope_is_refused(host):
    with pytest.raises(OSError):  # noqa: PT011 - some texts are those of the operating system
        SocketAddress.of(host, 1)


def test_a_copy_is_independent_of_the_original():
    address = SocketAddress.of("127.0.0.1", 1)
    copy = address.copy()

    assert copy == address
    assert copy is not address


def test_with_port_keeps_the_host():
    assert SocketAddress.of("fe80::1%7", 1).with_port(2) == SocketAddress.of("fe80::1%7", 2)


def test_an_unset_address_is_none():
    nothing = SocketAddress()

    assert (str(nothing), nothing.host, nothing.port, nothing.packed) == ("none", "", 0, b"")
    assert nothing.family == socket.AF_UNSPEC
    assert nothing == SocketAddress()


@pytest.mark.parametrize("host", ["localhost", "", "1.2.3", "1.2.3.4.5", "::g"])
def test_a_name_is_not_resolved(host):
    with pytest.raises(OSError, match=re.escape(f"{host!r}: must be a numeric address")):
        SocketAddress.of(host, 1)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range_is_rejected(port):
    with pytest.raises(ValueError, match=f"port={port}: must be from 0 to 65535"):
        SocketAddress.of("127.0.0.1", port)


@pytest.mark.parametrize(
    ("path", "text"),
    [(b"/tmp/a socket", "/tmp/a socket"), (b"\0abstract", "@abstract"), (b"\0a\0b", "@a\0b")],
)
def test_an_address_of_a_unix_socket_keeps_its_path(path, text):
    address = SocketAddress.unix(path)

    assert (address.family, address.packed, address.port) == (socket.AF_UNIX, path, 0)
    assert (str(address), address.as_tuple()) == (text, path)
    assert address == SocketAddress.unix(path)
    assert address != SocketAddress.unix(path + b"x")


@pytest.mark.parametrize("length", [0, 108])
def test_a_path_that_is_too_short_or_too_long_for_a_unix_socket_is_rejected(length):
    with pytest.raises(ValueError, match=f"path of {length} bytes: must be from 1 to 107"):
        SocketAddress.unix(b"x" * length)

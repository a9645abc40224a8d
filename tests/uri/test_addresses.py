import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.errors import ConfigurationError
from aeron_core.uri.addresses import HostPort, InterfaceSpec, parse_address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:20121", "localhost", 20121),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("my-host.example_1:65535", "my-host.example_1", 65535),
        ("[::1]:40456", "::1", 40456),
        ("[::]:0", "::", 0),
        ("[fe80::1%eth0]:4000", "fe80::1%eth0", 4000),
        ("[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1),
        ("224.20.30.39:00080", "224.20.30.39", 80),
    ],
)
def test_address_is_split_into_host_and_port(text, host, port):
    assert parse_address(text) == (host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "localhost:",
        ":4000",
        "localhost:65536",
        "localhost:123456",
        "localhost:-1",
        "localhost:4x",
        "::1:4000",
        "[::1]",
        "[::1]:",
        "[::1:4000",
        "::1]:4000",
        "[]:1",
        "[eth]:1",
        "a b:1",
        "localhost:1 ",
        "a:b:1",
    ],
)
def test_an_address_without_host_or_port_is_rejected(text):
    with pytest.raises(ConfigurationError, match="must be host:port or"):
        parse_address(text)


def test_ipv6_literals_are_recognized_by_their_colons():
    assert parse_address("[::1]:1").is_ipv6
    assert not parse_address("localhost:1").is_ipv6


@given(
    st.one_of(st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True), st.ip_addresses().map(str)),
    st.integers(0, 65535),
)
def test_written_address_is_read_back(host, port):
    assert parse_address(str(HostPort(host, port))) == HostPort(host, port)


@pytest.mark.parametrize(
    ("text", "interface"),
    [
        ("localhost", InterfaceSpec("localhost", 0, 32)),
        ("192.168.1.0/24", InterfaceSpec("192.168.1.0", 0, 24)),
        ("192.168.1.1:4000/8", InterfaceSpec("192.168.1.1", 4000, 8)),
        ("0.0.0.0/0", InterfaceSpec("0.0.0.0", 0, 0)),
        ("127.0.0.1:4000", InterfaceSpec("127.0.0.1", 4000, 32)),
        ("[::1]", InterfaceSpec("::1", 0, 128)),
        ("[::1]:0/64", InterfaceSpec("::1", 0, 64)),
        ("[fe80::1%lo]:7/128", InterfaceSpec("fe80::1%lo", 7, 128)),
        ("{eth0}", InterfaceSpec(prefix_length=0, name="eth0")),
        ("{eth0:1}:4000", InterfaceSpec(port=4000, prefix_length=0, name="eth0:1")),
    ],
)
def test_interface_is_an_address_with_a_prefix_or_a_name(text, interface):
    assert InterfaceSpec.parse(text) == interface
    assert InterfaceSpec.parse(str(interface)) == interface


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/24",
        "localhost/33",
        "localhost/",
        "[::1]/129",
        "localhost:65536/8",
        "localhost:",
        "{}",
        "{eth0",
        "{eth0}/24",
        "{eth0}:70000",
        "::1/64",
        "localhost/x",
    ],
)
def test_an_interface_of_no_valid_form_is_rejected(text):
    with pytest.raises(ConfigurationError, match="must be address"):
        InterfaceSpec.parse(text)


def test_named_interfaces_are_recognized():
    assert InterfaceSpec.parse("{eth0}").is_named
    assert not InterfaceSpec.parse("localhost").is_named
    assert InterfaceSpec.parse("[::]/0").is_ipv6


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("localhost:99999", "port out of range: '99999': "),
        ("[::1]:65536", "port out of range: '65536': "),
        ("localhost:" + "9" * 5000, "port out of range: '9999"),
        ("localhost", "port invalid: '' in localhost: "),
        ("localhost:4x", "port invalid: '4x' in localhost:4x: "),
        ("localhost:-1", "port out of range: '-1': "),
        ("localhost:", "port invalid: localhost:: "),
        ("[::1:4000", "host address invalid: [::1:4000: "),
    ],
)
def test_the_error_for_an_address_starts_with_the_text_of_the_reference(text, start):
    with pytest.raises(ConfigurationError) as caught:
        parse_address(text)

    assert str(caught.value).startswith(start)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("localhost:65536/8", "port out of range: '65536': "),
        ("localhost/33", "prefixlen out of range: 33: "),
        ("::1/64", "could not parse interface='::1/64': "),
        ("localhost/33", "prefixlen out of range: 33: could not parse interface='localhost/33': "),
        ("localhost/-1", "prefixlen out of range: -1: could not parse interface='localhost/-1': "),
        ("localhost/x", "prefixlen invalid: x: could not parse interface='localhost/x': "),
        ("localhost:", "port invalid: localhost:: could not parse interface='localhost:': "),
        ("localhost:x", "port invalid: 'x' in localhost:x: could not parse interface='localhost:x': "),
        ("{lo", "name length -1 out of bounds: could not parse interface='{lo': "),
        ("{}", "name length 0 out of bounds: "),
        ("{sixteen-letters-}", "name length 16 out of bounds: "),
        ("{lo}/8", "unexpected character after name closing brace: "),
        ("{lo}:", "port length 0 out of bounds: "),
        ("{lo}:123456", "port length 6 out of bounds: "),
        ("{lo}:x", "port invalid: 'x': "),
    ],
)
def test_the_error_for_an_interface_starts_with_the_text_of_the_reference(text, start):
    with pytest.raises(ConfigurationError) as caught:
        InterfaceSpec.parse(text)

    assert str(caught.value).startswith(start)

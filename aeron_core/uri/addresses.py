"""Addresses as text: `host:port` of endpoints and controls, and the interface syntax.

Not here: name resolution and matching of the machine's interfaces; nothing in this module uses the network.

Source: aeron_parse_util.c (aeron_address_split, aeron_interface_split), aeron_netutil.c.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen

ADDRESS_ALLOWED: Final = "must be host:port or [ipv6]:port with a port from 0 to 65535"
INTERFACE_ALLOWED: Final = (
    "must be address[:port][/prefix], [ipv6][:port][/prefix] or {name}[:port] with a port from 0 to 65535, "
    "and a prefix from 0 to 32 bits (128 for ipv6)"
)

IPV4_PREFIX_LENGTH: Final = 32
IPV6_PREFIX_LENGTH: Final = 128
MAX_PORT: Final = 65535

_HOST: Final = r"(?:\[(?P<v6>[0-9A-Fa-f:.]+(?:%[^\]\s%]+)?)\]|(?P<host>[^\[\]{}:/%\s]+))"
_PORT: Final = r":(?P<port>[0-9]+)"
_ADDRESS: Final = re.compile(_HOST + _PORT)
_INTERFACE: Final = re.compile(
    rf"(?:\{{(?P<name>[^{{}}\s]+)\}}|{_HOST})(?:{_PORT})?(?:/(?P<prefix>[0-9]{{1,3}}))?"
)
_HOST_START: Final = re.compile(_HOST)
# Digits of 65535. Longer texts are refused before int(), which takes quadratic time, converts them.
_MAX_PORT_DIGITS: Final = 5
_NEGATIVE: Final = re.compile(r"-[0-9]+")
#: Bytes of an interface's name, with the NUL at its end. Source: net/if.h.
IF_NAMESIZE: Final = 16


class HostPort(NamedTuple):
    """A host (a name, or a literal without brackets) and a port; `str()` adds the brackets.

    A scope stays in the host, as in `fe80::1%eth0`: the operating system's resolver expects it there.
    """

    host: str
    port: int

    @property
    def is_ipv6(self) -> bool:
        """Whether the host is an IPv6 literal; a name may still resolve to an IPv6 address."""
        return ":" in self.host

    def __str__(self) -> str:
        return f"{_bracketed(self.host)}:{self.port}"


@frozen(slots=True)
class InterfaceSpec:
    """Selects a local interface: by an address and the number of its bits that must match, or by name."""

    host: str = ""  # a literal without brackets or a host name, empty for a named interface
    port: int = 0
    prefix_length: int = IPV4_PREFIX_LENGTH  # leading bits that must match, 0 for named interfaces
    name: str = ""  # the operating system's name of the interface, as in `{eth0}`

    @classmethod
    def parse(cls, text: str) -> InterfaceSpec:
        """Return the interface that `text` describes; without a prefix, the whole address must match.

        Raises ConfigurationError if the syntax, the port or the prefix is wrong.
        """
        allowed = f"could not parse interface='{text}': {INTERFACE_ALLOWED}"
        fault = _named_fault_of(text) if text.startswith("{") else ""
        match = _INTERFACE.fullmatch(text)
        if match is None or fault:
            raise ConfigurationError((fault or _interface_fault_of(text)) + allowed)
        port, prefix = _port_of(match["port"] or "0", allowed), match["prefix"]
        if match["name"] is not None:
            return cls(port=port, prefix_length=0, name=match["name"])

        bits = IPV6_PREFIX_LENGTH if match["v6"] is not None else IPV4_PREFIX_LENGTH
        prefix_length = bits if prefix is None else int(prefix)
        if prefix_length > bits:
            raise ConfigurationError(f"prefixlen out of range: {prefix}: {allowed}")
        return cls(host=match["v6"] or match["host"], port=port, prefix_length=prefix_length)

    @property
    def is_named(self) -> bool:
        """Whether the interface is selected by the operating system's name."""
        return bool(self.name)

    @property
    def is_ipv6(self) -> bool:
        """Whether the host is an IPv6 literal."""
        return ":" in self.host

    def __str__(self) -> str:
        if self.is_named:
            return f"{{{self.name}}}:{self.port}" if self.port else f"{{{self.name}}}"
        port = f":{self.port}" if self.port else ""
        return f"{_bracketed(self.host)}{port}/{self.prefix_length}"


def parse_address(text: str) -> HostPort:
    """Return host and port of `host:port` or `[ipv6%scope]:port`; raise ConfigurationError for other text."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{_fault_of(text)}: {ADDRESS_ALLOWED}")
    return HostPort(match["v6"] or match["host"], _port_of(match["port"], ADDRESS_ALLOWED))


def _port_of(text: str, allowed: str) -> int:
    if len(text) > _MAX_PORT_DIGITS or int(text) > MAX_PORT:
        raise ConfigurationError(f"port out of range: '{text}': {allowed}")
    return int(text)


def _fault_of(text: str) -> str:
    host = _HOST_START.match(text)
    rest = text[host.end() :] if host else text
    if host is not None and rest == "":
        return f"port invalid: '' in {text}"
    if host is not None and rest.startswith(":") and rest.count(":") == 1:
        port = rest[1:]
        if _NEGATIVE.fullmatch(port):
            return f"port out of range: '{port}'"
        return f"port invalid: '{port}' in {text}" if port else f"port invalid: {text}"
    return f"host address invalid: {text}"


def _named_fault_of(text: str) -> str:
    """Return what is wrong with `{name}:port`, with a separator, or an empty text."""
    name, _, rest = text[1:].partition("}")
    # As in the reference, the length is -1 without a closing brace.
    length = len(name) if "}" in text else -1
    if not 0 < length < IF_NAMESIZE:
        return f"name length {length} out of bounds: "
    if rest and not rest.startswith(":"):
        return "unexpected character after name closing brace: "
    if rest and not 0 < len(rest) - 1 <= _MAX_PORT_DIGITS:
        return f"port length {len(rest) - 1} out of bounds: "
    return "" if rest[1:].isdigit() or not rest else f"port invalid: '{rest[1:]}': "


def _interface_fault_of(text: str) -> str:
    """Return what is wrong with the port or prefix of `address:port/prefix`, with a separator, or an empty text."""
    address, slash, prefix = text.partition("/")
    if _NEGATIVE.fullmatch(prefix):
        return f"prefixlen out of range: {prefix}: "
    if prefix and not prefix.isdigit():
        return f"prefixlen invalid: {prefix}: "
    host = _HOST_START.match(address)
    if slash or host is None or not address[host.end() :].startswith(":"):
        return ""
    return f"{_fault_of(text)}: "


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host

"""Checks of ports: those of the given channels, else those of examples, and the sockets that have them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aeron_core.cli.doctor.findings import Examination, Finding, Health, unknown
from aeron_core.cli.doctor.machine import Machine
from aeron_core.cli.text_table import counted
from aeron_core.errors import ConfigurationError
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri

#: Ports of the examples here, of `ping` and `pong`, and of the samples of the reference.
_DEFAULT_PORTS: Final = (20121, 20123, 20124, 40123)
_UDP_FILES: Final = ("/proc/net/udp", "/proc/net/udp6")
_TCP_FILES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
#: State of a listening TCP socket. Source: include/net/tcp_states.h.
_LISTEN: Final = "0A"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A port that a subscription or publication binds."""

    port: int
    is_udp: bool
    is_shared: bool = False  # several sockets may bind it: multicast

    def __str__(self) -> str:
        return f"{'UDP' if self.is_udp else 'TCP'} port {self.port}"


def check_ports(examined: Examination) -> Iterator[Finding]:
    """Yield a finding for each port: in use is a problem for a given channel, and advice for the default ports."""
    channels = examined.channels
    if channels:
        wanted = list(dict.fromkeys(port for uri in channels for port in _ports_of(uri)))
    else:
        wanted = [_Wanted(port, is_udp=True) for port in _DEFAULT_PORTS]
    for one in wanted:
        bound = _bound(examined.machine, one)
        if bound is None:
            yield unknown(str(one), "the sockets of this machine cannot be read", "free")
        elif not bound:
            yield Finding(str(one), "free", "free")
        elif one.is_shared:
            yield Finding(
                str(one), counted(len(bound), "socket"), "any: sockets share the port of a multicast group"
            )
        else:
            owners = ", ".join(sorted({_owner(examined.machine, inode) for inode in bound}))
            yield Finding(
                str(one),
                f"in use by {owners}",
                "free for a subscription of this machine",
                Health.PROBLEM if channels else Health.ADVICE,
                "stop that process, or use another port in endpoint= or control=",
            )


def _ports_of(uri: ChannelUri) -> Iterator[_Wanted]:
    """Yield the ports that a channel binds if its address is one of this machine; port 0 is any port."""
    is_dynamic = uri.get("control-mode") in {"dynamic", "response"}
    for key in ("control", "endpoint"):
        text = uri.get(key)
        if text is None or (key == "endpoint" and is_dynamic):
            continue
        try:
            address = parse_address(text)
        except ConfigurationError:
            continue  # a host without a port, or a path
        if address.port:
            yield _Wanted(address.port, uri.is_udp, uri.is_udp and _is_multicast(address.host))


def _is_multicast(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_multicast
    except ValueError:
        return False  # a name


def _bound(machine: Machine, wanted: _Wanted) -> list[str] | None:
    """Return the inodes of the sockets that are bound to a port; None if no file with sockets can be read.

    Source: proc_net(5), tcp and udp: local address:port in hexadecimal, state, and the inode as the tenth field.
    """
    names = _UDP_FILES if wanted.is_udp else _TCP_FILES
    if all(machine.text(name) is None for name in names):
        return None
    ending = f":{wanted.port:04X}"
    return [
        fields[9]
        for name in names
        for fields in machine.fields(name)[1:]
        if len(fields) > 9 and fields[1].endswith(ending) and (wanted.is_udp or fields[3] == _LISTEN)
    ]


def _owner(machine: Machine, inode: str) -> str:
    """Return the process that has a socket, as far as this user may see its descriptors."""
    for pid in filter(str.isdecimal, machine.names("/proc")):
        for descriptor in machine.names(f"/proc/{pid}/fd"):
            if machine.link(f"/proc/{pid}/fd/{descriptor}") == f"socket:[{inode}]":
                return f"process {pid} ({machine.text(f'/proc/{pid}/comm') or 'unknown'})"
    return "a process that this user may not inspect"

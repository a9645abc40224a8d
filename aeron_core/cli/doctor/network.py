"""Checks of the network: socket buffers, UDP offload, interfaces and the route of multicast."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final

from aeron_core.cli.doctor.findings import Examination, Finding, Health, judged, unknown
from aeron_core.cli.doctor.machine import Machine
from aeron_core.settings.network import Offload
from aeron_core.uri.values import format_size

#: Length of a socket buffer that channels may ask for. Source: the best practices of the reference, 2 MiB.
_WANTED_LENGTH: Final = 2 * 1024 * 1024
_BUFFERS: Final = (
    ("net.core.rmem_max", socket.SO_RCVBUF, "socket_so_rcvbuf_length", "so-rcvbuf"),
    ("net.core.wmem_max", socket.SO_SNDBUF, "socket_so_sndbuf_length", "so-sndbuf"),
)
#: Flags of an interface. Source: include/uapi/linux/if.h.
_IFF_UP: Final = 0x1
_IFF_LOOPBACK: Final = 0x8
_IFF_MULTICAST: Final = 0x1000
#: An address of multicast, 224.0.0.1, and the route to all others, as /proc/net/route has them.
_MULTICAST: Final = 224
_ROUTE_UP: Final = 0x1
#: Interfaces that a line shows. Invented.
_SHOWN: Final = 4


def check_socket_buffers(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the longest socket buffers that channels and settings can get."""
    for name, option, setting, key in _BUFFERS:
        asked = getattr(examined.settings, setting)
        needed = max(asked, _WANTED_LENGTH)
        by_settings = f"{format_size(asked)} by the settings" if asked else "the settings ask for none"
        wanted = f"{format_size(needed)} for {key}= of channels; {by_settings}"
        limit = examined.machine.number(f"/proc/sys/{name.replace('.', '/')}")
        # In a container the limit may not be visible.
        given = examined.machine.socket_buffer_length(option, needed) if limit is None else limit
        if given is None:
            yield unknown(name, "neither the limit nor a socket's buffer can be read", wanted)
            continue
        yield judged(
            name,
            str(given) if limit is not None else f"{given}, by a socket",
            wanted,
            f"sysctl -w {name}={needed}; with less, bursts are dropped: loss and retransmits",
            is_good=given >= needed,
        )


def check_offload(examined: Examination) -> Iterator[Finding]:
    """Yield findings about UDP offload: real sockets are probed, as the medium does."""
    machine, settings = examined.machine, examined.settings
    for name, setting, probe in (
        ("UDP segmentation (GSO)", settings.udp_gso, machine.has_gso),
        ("UDP coalescing (GRO)", settings.udp_gro, machine.has_gro),
    ):
        has_offload = probe()
        variable = f"AERON_CORE_UDP_{name[-4:-1]}"
        if has_offload is None:
            yield unknown(name, "no UDP socket can be opened", "supported")
        elif setting is Offload.OFF:
            yield Finding(
                name, f"{_supported(has_offload)}, but off", "on", Health.ADVICE, f"{variable}=auto"
            )
        else:
            yield judged(
                name,
                _supported(has_offload),
                "supported: several times the throughput",
                "use a kernel from 5.0, and a container runtime that shares it",
                is_good=has_offload,
            )


def _supported(is_supported: bool) -> str:
    return "supported" if is_supported else "not supported"


def check_interfaces(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the interfaces that are up, and the route of multicast."""
    interfaces = list(_interfaces(examined.machine))
    wanted = "an interface with multicast, for multicast channels"
    change = "ip link set dev INTERFACE up multicast on"
    if not interfaces:
        yield unknown("interfaces", "none in /sys/class/net is up", wanted)
    else:
        names = [f"{name}{' (multicast)' if flags & _IFF_MULTICAST else ''}" for name, flags in interfaces]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        is_good = any(flags & _IFF_MULTICAST for _, flags in interfaces)
        yield judged("interfaces", ", ".join(names[:_SHOWN]) + more, wanted, change, is_good=is_good)
    routes = list(_multicast_routes(examined.machine))
    if examined.machine.text("/proc/net/route") is None:
        yield unknown("route of multicast", "no /proc/net/route", "one, or interface= in each channel")
        return
    yield judged(
        "route of multicast",
        min(routes)[1] if routes else "none",
        "one, or interface= in each channel",
        "ip route add 224.0.0.0/4 dev INTERFACE; or write interface= into channels",
        is_good=bool(routes),
    )


def _interfaces(machine: Machine) -> Iterator[tuple[str, int]]:
    """Yield the names and flags of the interfaces that are up."""
    for name in machine.names("/sys/class/net"):
        text = machine.text(f"/sys/class/net/{name}/flags") or ""
        flags = int(text, 16) if text.removeprefix("0x").isalnum() and _is_hexadecimal(text) else 0
        if flags & _IFF_UP:
            yield name, flags


def _multicast_routes(machine: Machine) -> Iterator[tuple[int, str]]:
    """Yield the routes of multicast: a number that is lower for a more specific one, and its interface.

    Source: proc_net(5), route: addresses and masks in hexadecimal, in the byte order of the machine.
    """
    for fields in machine.fields("/proc/net/route")[1:]:
        if len(fields) < 8 or not all(map(_is_hexadecimal, (fields[1], fields[3], fields[7]))):
            continue
        destination, flags, mask = (int(fields[number], 16) for number in (1, 3, 7))
        # The first byte of the address is the lowest of the number.
        if flags & _ROUTE_UP and _MULTICAST & (mask & 0xFF) == destination & 0xFF and mask >> 8 == 0:
            kind = "default route" if mask == 0 else "route"
            yield -mask, f"{fields[0]} ({kind})"


def _is_hexadecimal(text: str) -> bool:
    try:
        int(text, 16)
    except ValueError:
        return False
    return True

"""Settings: sockets, batches of datagrams, and their security."""

from enum import Enum
from typing import Annotated, Final

from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.variables import (
    Choice,
    Duration,
    Integer,
    PortRange,
    Ports,
    Profiles,
    SecurityProfile,
    Size,
    Switch,
    Text,
)
from aeron_core.uri.values import INT32_MAX

KIB: Final = 1024
MAX_BATCH: Final = 16  # aeron_driver_context.h


class Offload(Enum):
    """Segmentation and coalescing of datagrams by the operating system: never with OFF, otherwise if it supports it."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class NetworkSettings(SettingsFields):
    """Sockets of the driver, and batches of datagrams."""

    socket_so_rcvbuf_length: Annotated[int, Size("AERON_SOCKET_SO_RCVBUF", 0, INT32_MAX)] = setting(
        128 * KIB, description="SO_RCVBUF, 0 for the operating system's default."
    )
    socket_so_sndbuf_length: Annotated[int, Size("AERON_SOCKET_SO_SNDBUF", 0, INT32_MAX)] = setting(
        0, description="SO_SNDBUF, 0 for the operating system's default."
    )
    socket_multicast_ttl: Annotated[int, Integer("AERON_SOCKET_MULTICAST_TTL", 0, 255, is_unsigned=True)] = (
        setting(0, description="Hops of multicast, 0 for the operating system's default.")
    )
    rcv_initial_window_length: Annotated[int, Size("AERON_RCV_INITIAL_WINDOW_LENGTH", 256, INT32_MAX)] = (
        setting(128 * KIB, description="Initial receiver window; at most socket_so_rcvbuf_length.")
    )
    send_to_status_poll_ratio: Annotated[
        int, Integer("AERON_SEND_TO_STATUS_POLL_RATIO", 1, 255, is_unsigned=True)
    ] = setting(6, description="Send cycles of the sender for each poll for status messages.")
    receiver_io_vector_capacity: Annotated[
        int, Integer("AERON_RECEIVER_IO_VECTOR_CAPACITY", 1, MAX_BATCH, is_long=True)
    ] = setting(4, description="Maximum datagrams per receive call of the receiver.")
    sender_io_vector_capacity: Annotated[
        int, Integer("AERON_SENDER_IO_VECTOR_CAPACITY", 1, MAX_BATCH, is_long=True)
    ] = setting(4, description="Maximum datagrams per receive call on the sender's sockets.")
    network_publication_max_messages_per_send: Annotated[
        int, Integer("AERON_NETWORK_PUBLICATION_MAX_MESSAGES_PER_SEND", 1, MAX_BATCH, is_long=True)
    ] = setting(4, description="Maximum datagrams that one publication sends in a duty cycle.")
    driver_connect: Annotated[bool, Switch("AERON_DRIVER_CONNECT")] = setting(
        True, description="Connect the sockets of unicast senders."
    )
    sender_wildcard_port_range: Annotated[
        PortRange, Ports("AERON_SENDER_WILDCARD_PORT_RANGE", strict=True)
    ] = setting(PortRange(0, 0), description="Ports for senders that ask for port 0.")
    receiver_wildcard_port_range: Annotated[
        PortRange, Ports("AERON_RECEIVER_WILDCARD_PORT_RANGE", strict=True)
    ] = setting(PortRange(0, 0), description="Ports for receivers that ask for port 0.")
    one_way_latency_interval_ns: Annotated[int, Duration("AERON_CORE_ONE_WAY_LATENCY_INTERVAL")] = setting(
        0,
        description="Interval of one-way latency measurements, which receivers publish as counters; "
        "0 for never.",
    )
    udp_gso: Annotated[Offload, Choice("AERON_CORE_UDP_GSO", Offload)] = setting(
        Offload.AUTO, description="Send runs of datagrams of equal length in one system call (UDP_SEGMENT)."
    )
    udp_gro: Annotated[Offload, Choice("AERON_CORE_UDP_GRO", Offload)] = setting(
        Offload.AUTO, description="Receive runs of datagrams of equal length in one system call (UDP_GRO)."
    )


class SecuritySettings(SettingsFields):
    """Security of channels."""

    security_profiles: Annotated[
        tuple[SecurityProfile, ...], Profiles("AERON_SECURITY_PROFILES", strict=True)
    ] = setting(
        (),
        description="Profiles of channels with security=NAME: name,option=value and the next one after |; in TOML a "
        "table [security.NAME] for each.",
    )
    security_required: Annotated[bool, Switch("AERON_SECURITY_REQUIRED", strict=True)] = setting(
        False, description="Refuse channels of UDP without security=."
    )
    resolver_security: Annotated[str | None, Text("AERON_SECURITY_RESOLVER", optional=True)] = setting(
        None, description="Security profile of what this driver and others send each other to exchange names."
    )

    def security_profile(self, name: str) -> SecurityProfile | None:
        """Return the profile with a name, None if there is none."""
        return next((each for each in self.security_profiles if each.name == name), None)

"""RES: drivers exchange host names and addresses (gossip).

Plain Python, unlike the other frames: they are rare, and read and written on the conductor. Invalid bytes from a peer
raise ProtocolError. Its text goes into the distinct error log, so it contains nothing that the peer chose.
Invariant: no entry exceeds its packet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.frozen import frozen
from aeron_core.protocol.frames.header import FrameHeader, put_header


@frozen(slots=True)
class _Layout:
    """The differences between the address families; offsets are from the start of an entry."""

    res_type: int
    address_length: int
    name_length_offset: int
    name_offset: int


# The entries of both families differ in type and address: name length and name follow it, 12 bytes later for IPv6.
_LAYOUTS = (
    _Layout(
        wire.RES_TYPE_NAME_TO_IP4_MD,
        wire.RES_IP4_ADDRESS_LENGTH,
        wire.RES_IP4_NAME_LENGTH_OFFSET,
        wire.RES_IP4_NAME_OFFSET,
    ),
    _Layout(
        wire.RES_TYPE_NAME_TO_IP6_MD,
        wire.RES_IP6_ADDRESS_LENGTH,
        wire.RES_IP6_NAME_LENGTH_OFFSET,
        wire.RES_IP6_NAME_OFFSET,
    ),
)
_BY_TYPE = {layout.res_type: layout for layout in _LAYOUTS}
_BY_ADDRESS_LENGTH = {layout.address_length: layout for layout in _LAYOUTS}


@frozen(slots=True)
class ResolutionEntry:
    """One name and the UDP address of its driver."""

    name: str
    address: bytes
    """4 or 16 bytes in network byte order; all zero stands for the source address of the packet."""
    udp_port: int
    age_ms: int = 0
    """Time since the last packet from the named driver."""
    flags: int = 0

    @property
    def is_self(self) -> bool:
        """Whether the entry describes the sender of the packet."""
        return bool(self.flags & wire.RES_FLAG_SELF)

    @property
    def encoded_length(self) -> int:
        """Length of the entry in bytes, padding included; raises ValueError unless the address has 4 or 16 bytes."""
        return _aligned(self._layout().name_offset + len(self._encoded_name()))

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the entry and its padding at `offset` and return the length of both in bytes.

        Raises ValueError unless the address has 4 or 16 bytes.
        """
        layout = self._layout()
        name = self._encoded_name()
        length = _aligned(layout.name_offset + len(name))
        buffer.put_u8(offset + wire.RES_TYPE_OFFSET, layout.res_type)
        buffer.put_u8(offset + wire.RES_FLAGS_OFFSET, self.flags)
        # Little-endian, as drivers of the reference store their own byte order; only the address is in network order.
        buffer.put_u16(offset + wire.RES_UDP_PORT_OFFSET, self.udp_port)
        buffer.put_i32(offset + wire.RES_AGE_MS_OFFSET, self.age_ms)
        buffer.put_bytes(offset + wire.RES_ADDRESS_OFFSET, self.address)
        buffer.put_i16(offset + layout.name_length_offset, len(name))
        end = offset + layout.name_offset + buffer.put_bytes(offset + layout.name_offset, name)
        # Store zeros up to the next multiple of 8: the buffer may still hold bytes of an earlier packet.
        buffer.set_memory(end, offset + length - end, 0)
        return length

    def _layout(self) -> _Layout:
        layout = _BY_ADDRESS_LENGTH.get(len(self.address))
        if layout is None:
            raise ValueError(
                f"address of {len(self.address)} bytes for {self.name!r}: must have 4 bytes (IPv4) or 16 (IPv6)"
            )
        return layout

    def _encoded_name(self) -> bytes:
        # A name from another driver may have any bytes: it is forwarded as it was received.
        return self.name.encode("utf-8", "surrogateescape")


@frozen(slots=True)
class ResolutionFrame:
    """A whole frame; it always fills its packet."""

    entries: tuple[ResolutionEntry, ...]

    @classmethod
    def decode(cls, buffer: AtomicBuffer, offset: int, length: int) -> Self:
        """Return the frame in the packet of `length` bytes at `offset`.

        Raises ProtocolError if the header or an entry is wrong.
        """
        return cls(tuple(decode_entries(buffer, offset, length)))

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset` and return its length in bytes.

        Raises ValueError unless all addresses have 4 or 16 bytes.
        """
        end = offset + wire.RES_ENTRIES_OFFSET
        for entry in self.entries:
            end += entry.encode(buffer, end)
        return put_header(buffer, offset, end - offset, 0, wire.TYPE_RES)


def decode_entries(buffer: AtomicBuffer, offset: int, length: int) -> Iterator[ResolutionEntry]:
    """Yield the entries of the packet of `length` bytes at `offset`.

    Raises ProtocolError for a wrong header, and at a wrong entry after yielding the entries before it: later drivers
    may add types of entries after those known today.
    """
    # Unlike `validate`, which requires RES_MIN_LENGTH, accept a frame without entries.
    header = FrameHeader()
    if header.decode(buffer, offset, length) != wire.FRAME_ACCEPTED:
        raise ProtocolError(
            f"packet shorter than the header of a frame: must have at least {wire.FRAME_HEADER_LENGTH} bytes"
        )
    if header.version != wire.FRAME_VERSION or header.frame_type != wire.TYPE_RES:
        raise ProtocolError(
            f"not a resolution frame: must have version={wire.FRAME_VERSION} and frame_type={wire.TYPE_RES}; the "
            "driver that sent it may have resolver_security, which all must have then"
        )
    position = wire.RES_ENTRIES_OFFSET
    # As in the reference, read up to the end of the packet: the frame length in the header is not used.
    while position < length:
        entry, entry_length = _decode_entry(buffer, offset + position, length - position)
        yield entry
        position += entry_length


def _decode_entry(buffer: AtomicBuffer, offset: int, remaining: int) -> tuple[ResolutionEntry, int]:
    res_type = buffer.get_u8(offset + wire.RES_TYPE_OFFSET)
    layout = _BY_TYPE.get(res_type)
    if layout is None:
        raise ProtocolError(
            f"resolution entry of an unknown type: must be one of {', '.join(map(str, sorted(_BY_TYPE)))}; "
            f"this entry and later ones of the packet are ignored"
        )
    if remaining < layout.name_offset:
        raise ProtocolError(
            f"resolution entry that its packet cuts off: must have at least {wire.RES_IP4_NAME_OFFSET} bytes for IPv4, "
            f"{wire.RES_IP6_NAME_OFFSET} for IPv6; check the version of the driver that sent it"
        )
    # Signed in the reference as well: a negative length is refused below.
    name_length = buffer.get_i16(offset + layout.name_length_offset)
    entry_length = _aligned(layout.name_offset + name_length)
    if name_length < 0 or entry_length > remaining:
        raise ProtocolError(
            "resolution entry with an impossible name length: must be at least 0, and the name must end in the packet; "
            "check the version of the driver that sent it"
        )
    entry = ResolutionEntry(
        name=buffer.get_bytes(offset + layout.name_offset, name_length).decode("utf-8", "surrogateescape"),
        address=buffer.get_bytes(offset + wire.RES_ADDRESS_OFFSET, layout.address_length),
        udp_port=buffer.get_u16(offset + wire.RES_UDP_PORT_OFFSET),
        age_ms=buffer.get_i32(offset + wire.RES_AGE_MS_OFFSET),
        flags=buffer.get_u8(offset + wire.RES_FLAGS_OFFSET),
    )
    return entry, entry_length


def _aligned(length: int) -> int:
    return (length + wire.RES_ENTRY_ALIGNMENT - 1) & -wire.RES_ENTRY_ALIGNMENT

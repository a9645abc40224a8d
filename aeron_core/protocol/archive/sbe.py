"""Layout of messages in Simple Binary Encoding (SBE): a header, a block of fixed fields, then variable fields.

    @frozen(slots=True)
    class StopRecordingRequest(_SessionRequest):
        TEMPLATE_ID: ClassVar[int] = 5
        stream_id: I32
        channel: Ascii

    header   block length uint16 · template id uint16 · schema id uint16 · version uint16
    block    fixed fields, which follow one another without gaps, little-endian
    then     for each variable field its length, uint32, and that many bytes

The header describes the message that its sender knows: a sender of an older version has a shorter block and fewer
fields, one of a newer version a longer block. Fields that the sender does not know get their null value; what the
receiver does not know is skipped. Not here: which messages exist (requests, responses).
Invariant: a field is read only after its length was compared with the rest of the message.

Source: https://github.com/aeron-io/simple-binary-encoding/wiki, aeron-archive-codecs.xml.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import index
from typing import Annotated, ClassVar, Final, Self, cast, get_type_hints

from aeron_core.errors import ProtocolError
from aeron_core.frozen import frozen

#: Schema of the messages of Aeron Archive, and the version whose fields are encoded.
SCHEMA_ID: Final = 101
SCHEMA_VERSION: Final = 14
HEADER_LENGTH: Final = 8
#: Values of fixed fields that an older sender does not know.
NULL_I32: Final = -(2**31)
NULL_I64: Final = -(2**63)

_HEADER: Final = struct.Struct("<HHHH")
_LENGTH: Final = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class FixedField:
    """A field of the block: the code of `struct`, the value of a sender that is too old, and its first version."""

    code: str
    null: int
    since: int = 0
    kind: Callable[[int], object] | None = None  # of the attribute; raises ValueError for an unknown number

    def of(self, number: int) -> object:
        """Return the attribute for the number in the block; raise ValueError if it is not allowed."""
        return number if self.kind is None else self.kind(number)


@dataclass(frozen=True, slots=True)
class VariableField:
    """A field after the block, and the first version that has it; absent ones are empty."""

    is_text: bool
    since: int = 0


I32 = Annotated[int, FixedField("i", NULL_I32)]
I64 = Annotated[int, FixedField("q", NULL_I64)]
#: A protocol version: major, minor and patch, a byte each above the lowest; 0 if it is unknown.
Version = Annotated[int, FixedField("i", 0)]
#: ASCII; other bytes are kept as surrogates, as in file names.
Ascii = Annotated[str, VariableField(is_text=True)]
Blob = Annotated[bytes, VariableField(is_text=False)]


def _boolean(number: int) -> bool:
    if number not in (0, 1):
        raise ValueError
    return number == 1


Bool = Annotated[bool, FixedField("i", 0, kind=_boolean)]


@frozen(slots=True)
class SbeMessage:
    """Base of all messages: immutable values that can be encoded and decoded."""

    TEMPLATE_ID: ClassVar[int]

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the message in `data`, from its header on.

        Raises ProtocolError if the header is of another message, or a field is incomplete or invalid.
        """
        block_length, template_id, version = header_of(data)
        if template_id != cls.TEMPLATE_ID:
            raise ProtocolError(f"template {template_id}: must be {cls.TEMPLATE_ID}, {cls.__name__}")
        return cast(Callable[..., Self], cls)(*_layout(cls).values(data, block_length, version))

    def encode(self, version: int = SCHEMA_VERSION) -> bytes:
        """Return header, block and variable fields; `version` is written to the header, all fields are encoded.

        Raises ValueError for an integer that its field cannot hold and for text that is not ASCII.
        """
        layout = _layout(type(self))
        try:
            block = layout.block.pack(*[index(getattr(self, name)) for name, _ in layout.fixed])
        except struct.error as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        header = _HEADER.pack(len(block), self.TEMPLATE_ID, SCHEMA_ID, version)
        tail = [_variable(name, getattr(self, name)) for name, _ in layout.variable]
        return b"".join([header, block, *tail])


class _MessageLayout:
    """Fields of a message class, and the offsets of the fixed ones in the block."""

    def __init__(self, message: type[SbeMessage]) -> None:
        hints = get_type_hints(message, include_extras=True)
        kinds = [(field.name, hints[field.name].__metadata__[0]) for field in fields(message)]
        self._name = message.__name__
        self.fixed = [(name, kind) for name, kind in kinds if isinstance(kind, FixedField)]
        self.variable = [(name, kind) for name, kind in kinds if isinstance(kind, VariableField)]
        self.block = struct.Struct("<" + "".join(kind.code for _, kind in self.fixed))
        self._newest = max((kind.since for _, kind in self.fixed), default=0)

    def values(self, data: bytes | memoryview, block_length: int, version: int) -> list[object]:
        """Return the attributes in the order of the fields: fixed ones first."""
        return self._fixed(data, block_length, version) + self._variable(data, block_length, version)

    def _fixed(self, data: bytes | memoryview, block_length: int, version: int) -> list[object]:
        if HEADER_LENGTH + block_length > len(data):
            raise self._error("block", HEADER_LENGTH, block_length, len(data) - HEADER_LENGTH)
        known = self.fixed
        if block_length < self.block.size or version < self._newest:
            known = self._fields_of(block_length, version)
        numbers = struct.unpack_from("<" + "".join(kind.code for _, kind in known), data, HEADER_LENGTH)
        values: list[object] = []
        for (name, kind), number in zip(known, numbers, strict=True):
            try:
                values.append(kind.of(number))
            except ValueError:
                raise ProtocolError(f"{self._name}: {name}={number} is not a known value") from None
        return values + [kind.null for _, kind in self.fixed[len(known) :]]

    def _fields_of(self, block_length: int, version: int) -> list[tuple[str, FixedField]]:
        """Return the fixed fields that a sender of `version` wrote to its block."""
        known: list[tuple[str, FixedField]] = []
        end = 0
        for name, kind in self.fixed:
            end += struct.calcsize(kind.code)
            if kind.since > version:
                break
            if end > block_length:
                if kind.since == 0:
                    needed = struct.calcsize(kind.code)
                    remaining = block_length - (end - needed)
                    raise self._error(name, HEADER_LENGTH + end - needed, needed, remaining)
                break
            known.append((name, kind))
        return known

    def _variable(self, data: bytes | memoryview, block_length: int, version: int) -> list[object]:
        values: list[object] = []
        position = HEADER_LENGTH + block_length
        for name, kind in self.variable:
            content = b""
            if kind.since <= version:
                content_begin = position + _LENGTH.size
                if content_begin > len(data):
                    raise self._error(name, position, _LENGTH.size, len(data) - position)
                (length,) = _LENGTH.unpack_from(data, position)
                if content_begin + length > len(data):
                    raise self._error(name, position, _LENGTH.size + length, len(data) - position)
                position = content_begin + length
                content = bytes(data[content_begin:position])
            values.append(content.decode("ascii", "surrogateescape") if kind.is_text else content)
        return values

    def _error(self, name: str, offset: int, needed: int, remaining: int) -> ProtocolError:
        return ProtocolError(
            f"{self._name}: {name} at byte {offset} needs {needed} bytes, {max(remaining, 0)} remain"
        )


def header_of(data: bytes | memoryview) -> tuple[int, int, int]:
    """Return block length, template id and version; raise ProtocolError for fewer bytes or another schema."""
    if len(data) < HEADER_LENGTH:
        raise ProtocolError(f"{len(data)} bytes: must be at least {HEADER_LENGTH}, the header of a message")
    block_length, template_id, schema_id, version = _HEADER.unpack_from(data)
    if schema_id != SCHEMA_ID:
        raise ProtocolError(
            f"schema {schema_id}: must be {SCHEMA_ID}; use the channel and stream id of an Aeron Archive"
        )
    return block_length, template_id, version


def by_template(*messages: type[SbeMessage]) -> Mapping[int, type[SbeMessage]]:
    """Return the classes by their template id."""
    return {message.TEMPLATE_ID: message for message in messages}


def decode_by_template(
    kind: str, messages: Mapping[int, type[SbeMessage]], data: bytes | memoryview
) -> SbeMessage:
    """Return the message in `data`; raise ProtocolError if it is not in `messages`, incomplete or invalid.

    `kind`, such as "request", is for the error.
    """
    template_id = header_of(data)[1]
    message = messages.get(template_id)
    if message is None:
        known = ", ".join(map(str, sorted(messages)))
        raise ProtocolError(f"template {template_id} is not a {kind}: must be one of {known}")
    return message.decode(data)


_LAYOUTS: Final[dict[type[SbeMessage], _MessageLayout]] = {}


def _layout(message: type[SbeMessage]) -> _MessageLayout:
    layout = _LAYOUTS.get(message)
    if layout is None:
        # Once per class: resolving the hints takes far longer than encoding a message.
        layout = _LAYOUTS[message] = _MessageLayout(message)
    return layout


def _variable(name: str, value: str | bytes) -> bytes:
    if isinstance(value, str):
        try:
            value = value.encode("ascii", "surrogateescape")
        except UnicodeEncodeError:
            raise ValueError(f"{name}={value!r}: must contain ASCII only") from None
    return _LENGTH.pack(len(value)) + value

"""Layout of commands and responses: a message is a list of fields, encoded in their order.

    @frozen(slots=True)
    class AddPublication(DriverCommand):
        TYPE_ID: ClassVar[int] = wire.COMMAND_ADD_PUBLICATION
        stream_id: I32
        channel: Text

Fields follow one another without gaps, those of base classes first. Not here: the header of the record that carries a
message (`aeron_core.concurrent`).
Invariant: a field is decoded only after its length was compared with the rest of the message. Bytes after the last
field are ignored, because clients pad their messages differently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, cast, get_type_hints

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ErrorCode, ProtocolError
from aeron_core.frozen import frozen

_T = TypeVar("_T")
_LENGTH_OF_LENGTH = 4
_LENGTH_OF_I64 = 8


class Kind(ABC, Generic[_T]):
    """The encoding of one type of field."""

    @abstractmethod
    def read(self, buffer: AtomicBuffer, offset: int, remaining: int) -> tuple[_T, int]:
        """Return the value at `offset` and its length with padding, in bytes.

        `remaining`: bytes of the message from `offset` on. Raises ProtocolError if the value is incomplete or its
        length is negative.
        """

    @abstractmethod
    def packed(self, value: _T) -> bytes:
        """Return the bytes of the value, little-endian and with its padding."""


class _Integer(Kind[int]):
    def __init__(self, length: int, get: Callable[[AtomicBuffer, int], int], *, signed: bool = True) -> None:
        self._length = length
        self._get = get
        self._signed = signed

    def read(self, buffer: AtomicBuffer, offset: int, remaining: int) -> tuple[int, int]:
        if remaining < self._length:
            raise _too_short(self._length, remaining)
        return self._get(buffer, offset), self._length

    def packed(self, value: int) -> bytes:
        return value.to_bytes(self._length, "little", signed=self._signed)


class _OptionalI64(Kind[int | None]):
    """An i64 that is the last field of a message, and that older clients omit: None then."""

    def read(self, buffer: AtomicBuffer, offset: int, remaining: int) -> tuple[int | None, int]:
        if remaining == 0:
            return None, 0
        if remaining < _LENGTH_OF_I64:
            raise _too_short(_LENGTH_OF_I64, remaining)
        return buffer.get_i64(offset), _LENGTH_OF_I64

    def packed(self, value: int | None) -> bytes:
        return b"" if value is None else value.to_bytes(_LENGTH_OF_I64, "little", signed=True)


class _FixedBytes(Kind[bytes]):
    def __init__(self, length: int) -> None:
        self._length = length

    def read(self, buffer: AtomicBuffer, offset: int, remaining: int) -> tuple[bytes, int]:
        if remaining < self._length:
            raise _too_short(self._length, remaining)
        return buffer.get_bytes(offset, self._length), self._length

    def packed(self, value: bytes) -> bytes:
        if len(value) != self._length:
            raise ValueError(f"field of {len(value)} bytes: must have exactly {self._length} bytes")
        return value


class _Blob(Kind[bytes]):
    """An i32 length, that many bytes, and zeros up to the alignment."""

    def __init__(self, alignment: int = 1) -> None:
        self._alignment = alignment

    def read(self, buffer: AtomicBuffer, offset: int, remaining: int) -> tuple[bytes, int]:
        if remaining < _LENGTH_OF_LENGTH:
            raise _too_short(_LENGTH_OF_LENGTH, remaining)
        length = buffer.get_i32(offset)
        if length < 0:
            raise ProtocolError(
                f"has a length of {length} bytes: must be from 0 to {remaining - _LENGTH_OF_LENGTH}, which remain"
            )
        if length > remaining - _LENGTH_OF_LENGTH:
            raise _too_short(_LENGTH_OF_LENGTH + length, remaining)
        content = buffer.get_bytes(offset + _LENGTH_OF_LENGTH, length)
        # -n % a is the distance from n to the next multiple of a.
        # The sum may exceed `remaining`: a message may end without the padding of its last field.
        return content, _LENGTH_OF_LENGTH + length + -length % self._alignment

    def packed(self, value: bytes) -> bytes:
        length = len(value)
        return length.to_bytes(_LENGTH_OF_LENGTH, "little") + value + bytes(-length % self._alignment)


class _Text(Kind[str]):
    """UTF-8; other bytes are kept as surrogates, as in file names."""

    def __init__(self, blob: _Blob) -> None:
        self._blob = blob

    def read(self, buffer: AtomicBuffer, offset: int, remaining: int) -> tuple[str, int]:
        content, length = self._blob.read(buffer, offset, remaining)
        return content.decode("utf-8", "surrogateescape"), length

    def packed(self, value: str) -> bytes:
        return self._blob.packed(value.encode("utf-8", "surrogateescape"))


# Padded kinds precede another field, which begins with an int32 and must be aligned to 4 bytes.
I16 = Annotated[int, _Integer(2, AtomicBuffer.get_i16)]
U16 = Annotated[int, _Integer(2, AtomicBuffer.get_u16, signed=False)]
I32 = Annotated[int, _Integer(4, AtomicBuffer.get_i32)]
I64 = Annotated[int, _Integer(8, AtomicBuffer.get_i64)]
OptionalI64 = Annotated[int | None, _OptionalI64()]
Bytes16 = Annotated[bytes, _FixedBytes(16)]
Blob = Annotated[bytes, _Blob()]
PaddedBlob = Annotated[bytes, _Blob(alignment=4)]
Text = Annotated[str, _Text(_Blob())]
PaddedText = Annotated[str, _Text(_Blob(alignment=4))]


@frozen(slots=True)
class ControlMessage:
    """Base of all commands and responses: immutable values that can be encoded and decoded."""

    TYPE_ID: ClassVar[int]
    MINIMUM_LENGTH: ClassVar[int] = 0
    """Encoding pads with zeros up to this length: some peers read a struct that is longer than the fields."""
    TAIL_LENGTH: ClassVar[int] = 0
    """Number of zeros that always follow the last field."""

    @classmethod
    def decode(cls, buffer: AtomicBuffer, offset: int, length: int) -> Self:
        """Return the message of `length` bytes at `offset`; raise ProtocolError if a field is incomplete or invalid."""
        # `position` counts from the start of the message: the record may be anywhere in its buffer.
        values: list[object] = []
        position = 0
        for name, kind in _layout(cls):
            try:
                value, used = kind.read(buffer, offset + position, length - position)
            except ProtocolError as error:
                raise ProtocolError(
                    f"{cls.__name__} of {length} bytes: field {name} at byte {position} {error}"
                ) from None
            # The dataclass takes its fields in the same order, so they are passed by position.
            values.append(value)
            position += used
        return cast(Callable[..., Self], cls)(*values)

    def encode(self) -> bytes:
        """Return the fields in their order, followed by zeros (TAIL_LENGTH, MINIMUM_LENGTH).

        Raises OverflowError for an integer that its field cannot hold, ValueError for bytes of another length.
        """
        content = b"".join([kind.packed(getattr(self, name)) for name, kind in _layout(type(self))])
        return (content + bytes(self.TAIL_LENGTH)).ljust(self.MINIMUM_LENGTH, b"\0")


_M = TypeVar("_M", bound=ControlMessage)


def decode_by_type(  # noqa: PLR0913 - the arguments of a decoder, and what it decodes
    kind: str, types: Mapping[int, type[_M]], type_id: int, buffer: AtomicBuffer, offset: int, length: int
) -> _M:
    """Return the message of `length` bytes at `offset`.

    Raises ProtocolError if the type is not in `types`, or a field is incomplete or invalid. `kind`, "command" or
    "response", is for the error.
    """
    message = types.get(type_id)
    if message is None:
        known = ", ".join(map(str, sorted(types)))
        raise ProtocolError(
            f"{kind}={type_id} unknown: must be one of {known}; use a client and a driver of compatible versions",
            ErrorCode.UNKNOWN_COMMAND_TYPE_ID,
        )
    return message.decode(buffer, offset, length)


_LAYOUTS: dict[type[ControlMessage], tuple[tuple[str, Kind[Any]], ...]] = {}


def _layout(message: type[ControlMessage]) -> tuple[tuple[str, Kind[Any]], ...]:
    layout = _LAYOUTS.get(message)
    if layout is None:
        # Once per class: resolving the hints takes far longer than encoding a message.
        hints = get_type_hints(message, include_extras=True)
        layout = tuple((field.name, hints[field.name].__metadata__[0]) for field in fields(message))
        _LAYOUTS[message] = layout
    return layout


def _too_short(needed: int, remaining: int) -> ProtocolError:
    return ProtocolError(f"needs {needed} bytes, {max(remaining, 0)} remain")

"""Decoding of Protobuf messages by Google's library, a message at a time: the price is in the documentation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aeron_core.errors import ConfigurationError
from pyspark_aeron.decoding.rows import Decoded

if TYPE_CHECKING:
    import pyarrow as pa

Reader = Callable[[Any], Any]  # reads a field of a message as a value for Arrow

# Names in `FieldDescriptor` without CPPTYPE_, and types of Spark.
_TYPES: Final = {
    "INT32": "int",
    "INT64": "bigint",
    "UINT32": "bigint",
    "UINT64": "decimal(20,0)",
    "DOUBLE": "double",
    "FLOAT": "float",
    "BOOL": "boolean",
    "ENUM": "string",
    "STRING": "string",
}


@dataclass(frozen=True, slots=True)
class ProtobufConvert:
    """Conversion of payloads to the fields of a message of a descriptor set, which is pickled with it."""

    descriptors: bytes
    message: str
    schema: pa.Schema

    def __call__(self, payloads: pa.BinaryArray) -> Decoded:
        """Return the columns; a payload that the library refuses is reported."""
        import pyarrow as pa  # noqa: PLC0415 - for executors only
        from google.protobuf.message import DecodeError  # noqa: PLC0415 - optional

        make = message_class(self.descriptors, self.message)
        readers = [_reader(field) for field in make.DESCRIPTOR.fields]
        messages: list[Any] = []
        reasons: list[str | None] = []
        for payload in payloads.to_pylist():
            try:
                messages.append(None if payload is None else make.FromString(payload))
                reasons.append(None)
            except DecodeError as error:
                messages.append(None)
                reasons.append(f"not a message {self.message}: {error}")
        try:
            columns = self._columns(readers, messages)
        except (pa.ArrowException, UnicodeDecodeError):
            # The library checks texts of proto3 only.
            for index, message in enumerate(messages):
                if (fault := self._fault_of(readers, message)) is not None:
                    messages[index] = None
                    reasons[index] = f"not a message {self.message}: {fault}"
            columns = self._columns(readers, messages)
        return Decoded(columns, pa.array(reasons, pa.string()))

    def _columns(self, readers: Sequence[Reader], messages: Sequence[Any]) -> list[pa.Array]:
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        return [
            pa.array([None if each is None else read(each) for each in messages], field.type)
            for read, field in zip(readers, self.schema, strict=True)
        ]

    def _fault_of(self, readers: Sequence[Reader], message: Any) -> str | None:
        """Return why Arrow has no values for the fields of a message, None if it has."""
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        try:
            self._columns(readers, [message])
        except (pa.ArrowException, UnicodeDecodeError) as error:
            return str(error)
        return None


@functools.lru_cache(maxsize=16)
def message_class(descriptors: bytes, message: str) -> Any:
    """Return the class of a message; raises ConfigurationError without the library or the message."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: PLC0415 - optional
        from google.protobuf.message import DecodeError  # noqa: PLC0415 - optional
    except ImportError:
        raise ConfigurationError(
            "decoder protobuf: protobuf is not installed: pip install protobuf"
        ) from None
    pool = descriptor_pool.DescriptorPool()
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
        for file in files.file:
            pool.Add(file)
        found = pool.FindMessageTypeByName(message)
    except (DecodeError, TypeError) as error:
        raise ConfigurationError(
            f"decoder protobuf: option descriptors: must be a file written by protoc --include_imports "
            f"--descriptor_set_out: {error}"
        ) from None
    except KeyError:
        known = ", ".join(
            ".".join(filter(None, (file.package, each.name)))
            for file in files.file
            for each in file.message_type
        )
        raise ConfigurationError(
            f"decoder protobuf: message {message!r}: option message must be one of {known or 'none'}"
        ) from None
    return message_factory.GetMessageClass(found)


def read_descriptors(path: str) -> bytes:
    """Return a descriptor file; raises ConfigurationError if it is not readable."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"decoder protobuf: option descriptors: {path}: must be a readable file: {error}"
        ) from None


def ddl_of(descriptor: Any, parents: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return names and Spark types of a message's fields.

    Raises ConfigurationError if it contains itself, or has a map without keys or values.
    """
    if descriptor.full_name in parents:
        raise ConfigurationError(
            f"decoder protobuf: message {descriptor.full_name} contains itself, and Spark has no type for it: decode "
            "it in a decoder of your own"
        )
    return [(field.name, _type(field, (*parents, descriptor.full_name))) for field in descriptor.fields]


def _type(field: Any, parents: tuple[str, ...]) -> str:
    if _is_map(field):
        try:
            key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        except KeyError:
            raise ConfigurationError(
                f"decoder protobuf: map {field.full_name}: must have a key and a value: write the descriptors with "
                "protoc"
            ) from None
        return f"map<{_element(key, parents)}, {_element(value, parents)}>"
    element = _element(field, parents)
    return f"array<{element}>" if field.is_repeated else element


def _element(field: Any, parents: tuple[str, ...]) -> str:
    if field.message_type is not None:
        members = ddl_of(field.message_type, parents)
        return f"struct<{', '.join(f'`{name}`: {kind}' for name, kind in members)}>"
    if field.type == field.TYPE_BYTES:
        return "binary"
    return next(kind for name, kind in _TYPES.items() if field.cpp_type == getattr(field, f"CPPTYPE_{name}"))


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _reader(field: Any) -> Reader:
    """Return the function that reads a field of a message as a value for Arrow."""
    name = field.name
    if _is_map(field):
        convert = _converter(field.message_type.fields_by_name["value"])
        return lambda message: [(key, convert(value)) for key, value in getattr(message, name).items()]
    convert = _converter(field)
    if field.is_repeated:
        return lambda message: [convert(value) for value in getattr(message, name)]
    if field.has_presence:
        return lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    if field.message_type is None and field.enum_type is None and field.cpp_type != field.CPPTYPE_UINT64:
        return lambda message: getattr(message, name)
    return lambda message: convert(getattr(message, name))


def _converter(field: Any) -> Callable[[Any], Any]:
    """Return the function that converts one value of a field."""
    if field.message_type is not None:
        readers = [(each.name, _reader(each)) for each in field.message_type.fields]
        return lambda message: {name: read(message) for name, read in readers}
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, str(number))
    return lambda value: value

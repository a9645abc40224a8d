"""Layout of an SBE message: where its fixed fields are, from a message schema in XML.

Not here: groups and variable data, which follow the fixed block and have no fixed place.
Source: Simple Binary Encoding 1.0, FIX Trading Community.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from aeron_core.errors import ConfigurationError

#: Code of numpy, Spark's type, and the null value of each primitive type; NaN is written as None.
PRIMITIVES: Final[Mapping[str, tuple[str, str, int | None]]] = {
    "char": ("u1", "string", 0),
    "int8": ("i1", "tinyint", -(2**7)),
    "int16": ("i2", "smallint", -(2**15)),
    "int32": ("i4", "int", -(2**31)),
    "int64": ("i8", "bigint", -(2**63)),
    "uint8": ("u1", "smallint", 2**8 - 1),
    "uint16": ("u2", "int", 2**16 - 1),
    "uint32": ("u4", "bigint", 2**32 - 1),
    "uint64": ("u8", "decimal(20,0)", 2**64 - 1),
    "float": ("f4", "float", None),
    "double": ("f8", "double", None),
}
_HEADER: Final = ("blockLength", "templateId", "schemaId")
#: Bytes of the fixed block. Invented: a batch takes that for each row. Most headers have 16 bits for the length.
_MAX_BLOCK_LENGTH: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Value:
    """A number, text, enum or set of fixed length, or an array of numbers."""

    name: str
    primitive: str
    offset: int  # bytes from the start of the block
    count: int = 1
    is_optional: bool = False
    null: int | float | None = None
    names: tuple[tuple[int, str], ...] = ()  # of an enum, by value
    constant: str | None = None

    @property
    def end(self) -> int:
        """Offset of the first byte behind the value."""
        return self.offset + (0 if self.constant is not None else self.count * size_of(self.primitive))

    @property
    def ddl(self) -> str:
        """Type in Spark."""
        if self.names or self.primitive == "char":
            return "string"
        element = PRIMITIVES[self.primitive][1]
        return f"array<{element}>" if self.count > 1 else element


@dataclass(frozen=True, slots=True)
class Composite:
    """A struct of values."""

    name: str
    offset: int
    members: tuple[Value | Composite, ...]

    @property
    def end(self) -> int:
        """Offset of the first byte behind the last member."""
        return max((member.end for member in self.members), default=self.offset)

    @property
    def ddl(self) -> str:
        """Type in Spark."""
        return f"struct<{', '.join(f'`{member.name}`: {member.ddl}' for member in self.members)}>"


@dataclass(frozen=True, slots=True)
class Layout:
    """A message, and what identifies it."""

    name: str
    byte_order: str  # `<` or `>`, as numpy writes it
    header: tuple[Value, ...]  # blockLength, templateId, schemaId
    header_length: int
    schema_id: int
    template_id: int
    others: tuple[int, ...]  # template ids of the other messages
    fields: tuple[Value | Composite, ...]
    rest: tuple[str, ...]  # names of groups and variable data

    @property
    def ddl(self) -> str:
        """Columns in Spark."""
        return ", ".join(f"`{field.name}` {field.ddl}" for field in self.fields)


def size_of(primitive: str) -> int:
    """Return the length of a primitive type in bytes."""
    return int(PRIMITIVES[primitive][0][1:])


def read_layout(path: Path, message: str) -> Layout:
    """Return the layout of a message of a schema, "" for its only one; raises ConfigurationError if it has none."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise ConfigurationError(f"schema {path}: must be a message schema of SBE in XML: {error}") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    messages = {each.get("name", ""): each for each in root.findall("message")}
    if not message and len(messages) == 1:
        (message,) = messages
    if message not in messages:
        raise ConfigurationError(
            f"schema {path}: message {message!r}: option message must be one of {', '.join(messages) or 'none'}"
        )
    try:
        return _Schema(root).layout(messages[message], list(messages.values()))
    except (KeyError, ValueError) as error:
        raise ConfigurationError(f"schema {path}: message {message}: must be valid SBE: {error}") from None
    except RecursionError:
        raise ConfigurationError(
            f"schema {path}: message {message}: must be valid SBE: a composite contains itself"
        ) from None


class _Schema:
    """The types of a schema."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._root = root
        self._types = {each.attrib["name"]: each for types in root.findall("types") for each in types}

    def layout(self, message: ElementTree.Element, messages: list[ElementTree.Element]) -> Layout:
        header = self._composite(self._types[self._root.get("headerType", "messageHeader")], "header", 0)
        parts = {member.name: member for member in header.members if isinstance(member, Value)}
        fields, offset = [], 0
        for field in message.findall("field"):
            made = self._made(field, int(field.get("offset", offset)))
            fields.append(made)
            offset = made.end
        header_values = tuple(_integer(parts[name]) for name in _HEADER)
        template_id = int(message.attrib["id"])
        return Layout(
            name=message.attrib["name"],
            byte_order=">" if self._root.get("byteOrder") == "bigEndian" else "<",
            header=header_values,
            header_length=header.end,
            schema_id=int(self._root.attrib["id"]),
            template_id=template_id,
            others=tuple(int(each.attrib["id"]) for each in messages if each is not message),
            fields=tuple(fields),
            rest=tuple(each.attrib["name"] for each in message if each.tag in {"group", "data"}),
        )

    def _made(self, field: ElementTree.Element, offset: int) -> Value | Composite:
        """Return a field or a reference; `type` names a primitive or a type of the schema."""
        name, type_name = field.attrib["name"], field.attrib["type"]
        if type_name in PRIMITIVES and type_name not in self._types:
            return self._value(name, type_name, field, field, offset)
        return self._typed(self._types[type_name], field, name, offset)

    def _typed(
        self, declared: ElementTree.Element, used: ElementTree.Element, name: str, offset: int
    ) -> Value | Composite:
        if declared.tag == "composite":
            return self._composite(declared, name, offset)
        if declared.tag == "type":
            return self._value(name, declared.attrib["primitiveType"], declared, used, offset)
        encoding = declared.attrib["encodingType"]
        if encoding not in PRIMITIVES:
            encoding = self._types[encoding].attrib["primitiveType"]
        names: tuple[tuple[int, str], ...] = ()
        if declared.tag == "enum":
            names = tuple(
                (_enum_value(each.text or "", encoding), each.attrib["name"])
                for each in declared.findall("validValue")
            )
        constant = None
        if used.get("presence") == "constant":
            constant = used.attrib["valueRef"].rpartition(".")[2]
        null = (
            PRIMITIVES[encoding][2]
            if "nullValue" not in declared.attrib
            else int(declared.attrib["nullValue"])
        )
        is_optional = declared.tag == "enum"
        return _within_block(Value(name, encoding, offset, 1, is_optional, null, names, constant))

    def _composite(self, declared: ElementTree.Element, name: str, offset: int) -> Composite:
        members: list[Value | Composite] = []
        begin = offset
        for each in declared:
            at = begin + int(each.attrib["offset"]) if "offset" in each.attrib else offset
            is_reference = each.tag == "ref"
            made = self._made(each, at) if is_reference else self._typed(each, each, each.attrib["name"], at)
            members.append(made)
            offset = made.end
        return Composite(name, begin, tuple(members))

    def _value(
        self, name: str, primitive: str, declared: ElementTree.Element, used: ElementTree.Element, offset: int
    ) -> Value:
        presence = used.get("presence") or declared.get("presence") or "required"
        constant = None
        if presence == "constant":
            reference = used.get("valueRef") or declared.get("valueRef")
            constant = (
                reference.rpartition(".")[2] if reference else (declared.text or used.text or "").strip()
            )
            if primitive not in {"char", "float", "double"}:
                int(constant)
            elif primitive != "char":
                float(constant)
        null: int | float | None = PRIMITIVES[primitive][2]
        if "nullValue" in declared.attrib:
            text = declared.attrib["nullValue"]
            null = float(text) if primitive in {"float", "double"} else int(text)
        count = int(declared.get("length", "1"))
        is_optional = presence == "optional"
        return _within_block(Value(name, primitive, offset, count, is_optional, null, (), constant))


def _enum_value(text: str, encoding: str) -> int:
    """Return the number of a value of an enum; raises ValueError unless it is one of the encoding."""
    if encoding == "char" and len(text) != 1:
        raise ValueError(f"value {text!r} of an enum: must be one character")
    value = ord(text) if encoding == "char" else int(text)
    bits = 8 * size_of(encoding)
    least, most = (-1 << bits - 1, (1 << bits - 1) - 1) if encoding.startswith("i") else (0, (1 << bits) - 1)
    if not least <= value <= most:
        raise ValueError(f"value {text} of an enum: must be from {least} to {most}, those of {encoding}")
    return value


def _within_block(value: Value) -> Value:
    """Return the value; raises ValueError if its offset or its length is impossible."""
    if value.count < 1 or value.offset < 0 or value.end > _MAX_BLOCK_LENGTH:
        raise ValueError(
            f"{value.name}: offset {value.offset}, length {value.count}: must begin at 0 or later, have a length of at "
            f"least 1, and end at most at {_MAX_BLOCK_LENGTH} bytes"
        )
    return value


def _integer(value: Value) -> Value:
    """Return a part of the header; raises ValueError unless it is one integer in each message."""
    if value.constant is not None or value.count != 1 or value.primitive in {"char", "float", "double"}:
        raise ValueError(f"{value.name} of the header must be an integer, which messages contain")
    return value

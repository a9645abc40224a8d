"""Conversion of the text of command-line parameters to values.

typer 0.29 converts with pydantic: its import takes longer than most tools run, and its messages describe types.
Invariant: text that is wrong raises ConfigurationError that names the parameter, the value and what is allowed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from typer.models import ParameterInfo

from aeron_core.errors import ConfigurationError
from aeron_core.uri.values import shown

_INT64_MAX: Final = 2**63 - 1
#: Largest number with a fraction: 31 years as seconds. Invented; system calls that wait accept at most 292 years.
_FLOAT_MAX: Final = 1e9
#: Longest path that Linux accepts, in bytes. Source: limits.h, PATH_MAX without the final NUL.
_MAX_PATH_LENGTH: Final = 4095


def replace_conversions(params: list[Any]) -> list[Any]:
    """Replace the conversion of each parameter of a type that this module supports; return `params`."""
    for param in params:
        # `_runtime_param` is private to typer: if a later version does not have it, typer converts by itself.
        if getattr(param, "_runtime_param", False) is not None:
            continue
        annotation, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
        convert = _converter_of(kind, info)
        if convert is not None:
            param._runtime_param = _Conversion(convert)
    return params


@dataclass(frozen=True, slots=True)
class _Conversion:
    """Converts the value of one parameter, in place of typer's own `RuntimeParam`."""

    convert: Callable[[str], object]

    def coerce(self, value: object, param: Any, ctx: object) -> object:
        """Return the value of a parameter, converted if it is text; a value of another type is returned as it is.

        Without a value, returns None, or () for a list. Raises ConfigurationError for wrong text.
        """
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        if is_list and isinstance(value, list | tuple):
            return [self._one(text, param) for text in value]
        return self._one(value, param)

    def _one(self, text: object, param: Any) -> object:
        if not isinstance(text, str):
            return text
        try:
            return self.convert(text)
        except ValueError as error:
            raise ConfigurationError(f"{_name_of(param)}={shown(text)}: {error}") from None


def _name_of(param: Any) -> str:
    if param.param_type_name == "argument":
        return str(param.metavar or param.name.upper())
    return str(max(param.opts, key=len))


def _converter_of(kind: object, info: ParameterInfo) -> Callable[[str], object] | None:
    if info.parser is not None:
        return info.parser
    if not isinstance(kind, type):
        return None
    if issubclass(kind, Enum):
        return lambda text: _member_of(kind, text)
    return {
        str: _text_of,
        bool: lambda text: text == "true",  # called only for environment variables, which no option reads
        int: lambda text: _integer_of(text, info),
        float: lambda text: _number_of(text, info),
        Path: lambda text: _path_of(text, info),
    }.get(kind)


def _integer_of(text: str, info: ParameterInfo) -> int:
    low = -_INT64_MAX if info.min is None else int(info.min)
    high = _INT64_MAX if info.max is None else int(info.max)
    return integer_between(text, low, high)


def integer_between(text: str, low: int, high: int) -> int:
    """Return the integer that `text` contains; raise ValueError unless it is one from `low` to `high`."""
    # Longer text counts as out of range, although leading zeros may lengthen it: Python refuses more than 4300 digits.
    number = int(text) if len(text) <= len(str(_INT64_MAX)) + 1 and _is_integer(text) else None
    if number is None or not low <= number <= high:
        least = "-2^63 + 1" if low == -_INT64_MAX else low
        most = "2^63 - 1" if high == _INT64_MAX else high
        raise ValueError(f"must be a whole number from {least} to {most}")
    return number


def _is_integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit()


def _text_of(text: str) -> str:
    # Command-line bytes that are not UTF-8 arrive as surrogates, which cannot be encoded.
    if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise ValueError("must be UTF-8 text without NUL")
    return text


def _number_of(text: str, info: ParameterInfo) -> float:
    low = -math.inf if info.min is None else float(info.min)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= _FLOAT_MAX:  # also false for nan
        allowed = f"of at most {_FLOAT_MAX:.0f}" if info.min is None else f"from {low:g} to {_FLOAT_MAX:.0f}"
        raise ValueError(f"must be a number {allowed}")
    return number


def _member_of(kind: type[Enum], text: str) -> Enum:
    try:
        return kind(text)
    except ValueError:
        allowed = ", ".join(str(member.value) for member in kind)
        raise ValueError(f"must be one of {allowed}") from None


def _path_of(text: str, info: ParameterInfo) -> Path:
    # An empty path would stand for the current directory.
    if not text or "\0" in text:
        raise ValueError("must be a path that is not empty and has no NUL")
    if len(os.fsencode(text)) > _MAX_PATH_LENGTH:
        raise ValueError(f"must be a path with a length of at most {_MAX_PATH_LENGTH} (in bytes)")
    path = Path(text)
    if info.exists and not path.exists():
        raise ValueError("must be a path that exists")
    if not info.dir_okay and path.is_dir():
        raise ValueError("must be a file, not a directory")
    if info.exists and info.readable and not os.access(path, os.R_OK):
        raise ValueError(f"must be readable by user {os.geteuid()}")
    return path

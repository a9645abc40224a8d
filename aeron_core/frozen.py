"""Frozen dataclasses that take little time to define.

`dataclass(frozen=True)` compiles five or six functions from text for each class. A driver and a client define about
a hundred such classes, which took a third of the time of their start. Here only `__init__` is compiled, when the first
instance is created; all classes share the other methods. The functions of `dataclasses` (`fields`, `replace`, `asdict`)
work as usual.

Not for classes that plugins derive from, such as `aeron_core.spi.Channel`: `@dataclass(frozen=True)` refuses a class
derived from one with `@frozen()`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

_T = TypeVar("_T")


class _Created:
    """Default of a parameter, replaced by a value that the field's factory creates."""

    def __repr__(self) -> str:
        return "<factory>"


_CREATED = _Created()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, kw_only: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator that makes a class a frozen dataclass; the arguments mean the same as for `dataclass`.

    A field with `init=False` is not supported: the first instance raises TypeError.
    """
    shared = [name for names in (_ALWAYS, _WITH_EQ * eq, _WITH_SLOTS * slots) for name in names]

    def decorate(cls: type[_T]) -> type[_T]:
        made: Any = dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=slots)(cls)
        if "__init__" not in vars(made):
            made.__init__ = _first_init(made)
        if eq:
            made._compared_values = staticmethod(_getter_of_compared(made))
        for name in shared:
            # `__hash__` is None in a class that defines only `__eq__`; it is replaced too.
            if vars(made).get(name) is None:
                setattr(made, name, vars(_Methods)[name])
        return made  # type: ignore[no-any-return]

    return decorate


_ALWAYS = ("__repr__", "__setattr__", "__delattr__")
_WITH_EQ = ("__eq__", "__hash__")
_WITH_SLOTS = ("__getstate__", "__setstate__")


class _Methods:
    """Methods that `frozen` copies into classes, as their options require."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    _compared_values: ClassVar[Callable[[object], object]]

    def __repr__(self) -> str:
        values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{self.__class__.__qualname__}({values})"

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = self.__class__._compared_values
        return values(self) == values(other)

    def __hash__(self) -> int:
        return hash(self.__class__._compared_values(self))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(
            f"cannot assign to field {name!r}: this {type(self).__name__} is immutable, use dataclasses.replace for a "
            "changed copy"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(
            f"cannot delete field {name!r}: this {type(self).__name__} is immutable, use dataclasses.replace for a "
            "changed copy"
        )

    def __getstate__(self) -> list[object]:
        return [getattr(self, each.name) for each in fields(self)]

    def __setstate__(self, state: list[object]) -> None:
        for each, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, each.name, value)


def _first_init(cls: type) -> Callable[..., None]:
    def __init__(self: object, /, *args: object, **kwargs: object) -> None:  # noqa: N807 - the method of `cls`
        init = _compiled_init(cls)
        cls.__init__ = init  # type: ignore[misc]
        init(self, *args, **kwargs)

    return __init__


def _compiled_init(cls: Any) -> Callable[..., None]:
    """Return an `__init__` like that of `dataclass`; raise TypeError for a field with `init=False`."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_CREATED": _CREATED}
    parameters: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for each in fields(cls):
        name = each.name
        if not each.init:
            raise TypeError(
                f"field {name!r} of {cls.__qualname__}: init=False is not supported by @frozen, use @dataclass"
            )
        (keywords if each.kw_only else parameters).append(name + _default_of(each, names))
        is_created = each.default_factory is not MISSING
        value = f"_factory_{name}() if {name} is _CREATED else {name}" if is_created else name
        body.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    stars = ["*"] if keywords else []
    head = ", ".join(["self", *parameters, *stars, *keywords])
    exec("\n".join([f"def __init__({head}):", *(body or [" pass"])]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {each.name: each.type for each in fields(cls)} | {"return": None}
    return init


def _default_of(each: Field[Any], names: dict[str, Any]) -> str:
    """Return the text of a parameter's default, empty for none; add the objects that it names to `names`."""
    if each.default_factory is not MISSING:
        names[f"_factory_{each.name}"] = each.default_factory
        return "=_CREATED"
    if each.default is not MISSING:
        names[f"_default_{each.name}"] = each.default
        return f"=_default_{each.name}"
    return ""


def _getter_of_compared(cls: Any) -> Callable[[object], object]:
    """Return a function that takes an instance and returns the value, or tuple of values, for equality and hash."""
    names = [each.name for each in fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()

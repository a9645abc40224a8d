"""Detection of the methods of a strategy that need an adapter, because they are written in Python.

The methods of a compiled base class are C functions, which are not attributes in Python. An attribute with the name of
such a method was therefore written in Python, and a compiled caller would silently ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from aeron_core.errors import PluginError

#: Minimum interval between timed calls of a method in Python. Invented: a busy application holds the GIL for 5 ms
#: at a time, so that a method costs an agent at most 5 % of its time.
PYTHON_CALL_INTERVAL_NS: Final = 100_000_000


def python_methods(strategy: object, names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Return the methods of `strategy` that are written in Python and have one of `names`, by name."""
    found = {name: getattr(strategy, name, None) for name in names}
    return {name: method for name, method in found.items() if callable(method)}


def require_methods(strategy: object, kind: str, methods: Iterable[str], required: Iterable[str]) -> None:
    """Raise PluginError if `methods`, those of `strategy`, lack one of `required`; `kind`: a name for the message."""
    missing = sorted(set(required) - set(methods))
    if missing:
        cls = type(strategy)
        raise PluginError(
            f"{cls.__module__}.{cls.__qualname__} cannot be used as {kind}: it must have the methods "
            f"{', '.join(missing)}: add them to the class, or derive it from the compiled base class"
        )

"""What decides whether a strategy runs as it is or behind an adapter that takes the GIL.

The methods of a compiled base class are C functions that Python does not see. So whatever Python sees under
the name of one was written in Python, and the compiled caller would silently pass it by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from aeron_core.errors import PluginError

#: The least time between two calls by the clock of one method in Python. An invented number: a busy application
#: lets go of the GIL after 5 ms, so that a method costs an agent 5 % of its time at worst.
PYTHON_CALL_INTERVAL_NS: Final = 100_000_000


def python_methods(strategy: object, names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Return the methods of `strategy`, out of `names`, that are written in Python."""
    found = {name: getattr(strategy, name, None) for name in names}
    return {name: method for name, method in found.items() if callable(method)}


def require_methods(strategy: object, kind: str, methods: Iterable[str], required: Iterable[str]) -> None:
    """Raise PluginError where an object in plain Python lacks a method that it cannot do without."""
    missing = sorted(set(required) - set(methods))
    if missing:
        cls = type(strategy)
        raise PluginError(
            f"{cls.__module__}.{cls.__qualname__} is no {kind}: it lacks {', '.join(missing)}; it must be a "
            f"subclass of the compiled base class or have these methods"
        )

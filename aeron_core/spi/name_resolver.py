"""From names to addresses, off the message path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class NameResolverParams:
    """`options` is the text of AERON_NAME_RESOLVER_INIT_ARGS; `settings` holds the resolver's own section."""

    options: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)


class NameResolver(Protocol):
    """Both methods run on a helper thread of the conductor and may block."""

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return `host:port` for a name that stands for both, or `name` itself."""

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return a numeric address for `host`, or None when it is not known."""

"""From names to addresses, off the message path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core._native.counter import Counter
    from aeron_core.spi.media import OpenDatagrams

_S = 1_000_000_000


@dataclass(frozen=True)
class NoNames:
    """A resolver that knows no name, for where there is no other to ask."""

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return `name`."""
        return name

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return None."""
        return None


@dataclass(frozen=True)
class NameResolverParams:
    """What a resolver is made from; the defaults are those of the driver's settings.

    `options` is the text of AERON_NAME_RESOLVER_INIT_ARGS; `settings` holds the resolver's own section. `fallback` is
    the resolver to ask for names that this one does not know: in a driver that of AERON_CORE_RESOLVER_FALLBACK, by
    default the operating system's, elsewhere one that knows no name. If it is a WorkingNameResolver, as csv_table is,
    who asks it also starts it, has it work and closes it. The rest is for drivers that talk to one another.
    """

    options: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    driver_name: str = ""
    interface: str = ""
    bootstrap_neighbors: tuple[str, ...] = ()
    neighbor_timeout_ns: int = 10 * _S
    self_resolution_interval_ns: int = 1 * _S
    neighbor_resolution_interval_ns: int = 2 * _S
    bootstrap_resolution_interval_ns: int = 10 * _S
    mtu: int = 1408
    fallback: NameResolver = field(default_factory=NoNames)


@dataclass(frozen=True, kw_only=True)
class NameResolverContext:
    """What a driver lends to a resolver that works; for use on the conductor's thread.

    Without `open_datagrams` the resolver opens real sockets. `start_lookup` has a function called on a helper thread,
    where it may block. `report` puts a text into the error log, once however often it comes.
    """

    clock: Clock
    system_counters: Mapping[str, Counter]
    open_datagrams: OpenDatagrams | None
    new_counter: Callable[[int, str, bytes], Counter]
    set_label: Callable[[Counter, str], None]
    start_lookup: Callable[[Callable[[], None]], None]
    report: Callable[[str], None]


class NameResolver(Protocol):
    """Both methods run on helper threads of the conductor, perhaps on several at once, and may block."""

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return `host:port` for a name that stands for both, or `name` itself."""

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return a numeric address for `host`, or None when it is not known."""


@runtime_checkable
class WorkingNameResolver(NameResolver, Protocol):
    """A resolver that has counters, or something to do by itself; these methods run on the conductor: never block."""

    def start(self, context: NameResolverContext) -> None:
        """Begin, before the first client is let in; what it raises stops the start of the driver."""

    def do_work(self, now_ns: int) -> int:
        """Do what is due, in each duty cycle; return 0 if that was nothing."""

    def close(self) -> None:
        """End; nothing is asked any more."""

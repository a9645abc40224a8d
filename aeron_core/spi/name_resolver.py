"""Name resolution for channels, off the message path.

    class HostsResolver:
        def __init__(self, params: NameResolverParams) -> None:
            self._fallback = params.fallback
        def lookup(self, name, uri_key, is_re_lookup):
            return "10.0.0.7:40123" if name == "orders" else self._fallback.lookup(name, uri_key, is_re_lookup)
        def resolve(self, host, uri_key, is_re_resolution):
            return self._fallback.resolve(host, uri_key, is_re_resolution)

A channel value such as `endpoint=orders` is first looked up (name to `host:port`), then its host is resolved (to a
numeric address).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.spi.media import OpenDatagrams
    from aeron_core.spi.protection import DatagramProtector

_S = 1_000_000_000


@frozen()
class NoNames:
    """A resolver that resolves nothing: the default of `NameResolverParams.fallback`."""

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return `name`."""
        return name

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return None."""
        return None


@frozen()
class NameResolverParams:
    """Parameters of a name resolver; the defaults are those of the driver's settings.

    `options` is the text of AERON_NAME_RESOLVER_INIT_ARGS, or for a fallback of AERON_CORE_RESOLVER_FALLBACK_INIT_ARGS.
    `settings` are those of the plugins by section (`aeron_settings`), empty outside a driver. `fallback` is the
    resolver for names that this one does not resolve: in a driver that of AERON_CORE_RESOLVER_FALLBACK, by default the
    operating system's; elsewhere a resolver that resolves nothing. If it is a WorkingNameResolver, such as csv_table,
    the resolver that uses it also starts it, calls its `do_work` and closes it. The other fields are for resolvers that
    exchange names between drivers: `interface` and the neighbours are `host:port`, `mtu` is the maximum length of a
    datagram in bytes.
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
    datagrams_per_s: int = 1600
    mtu: int = 1408
    fallback: NameResolver = field(default_factory=NoNames)


class NameResolverReport(Protocol):
    """Adds a text to the error log; an equal text only increases the count of its entry.

    `text` must not contain anything that a peer chose: each different text takes an entry. `peer`, the address of the
    peer that caused the error, is kept beside the text and replaced when the error repeats; empty if no peer did.
    """

    def __call__(self, text: str, *, peer: str = "") -> None:
        """Report an error; call on the conductor's thread."""


@frozen(kw_only=True)
class NameResolverContext:
    """Services of the driver for a resolver that does work of its own; for use on the conductor's thread.

    Without `open_datagrams` the resolver opens real sockets. `start_lookup` calls a function on a helper thread, where
    it may block. `report` adds a text to the error log. `protector` seals what the resolver sends to other drivers, and
    opens what it receives, if the setting `resolver_security` names a profile: its `overhead` shortens packets. The
    driver closes it.
    """

    clock: Clock
    system_counters: Mapping[str, AtomicCounter]
    open_datagrams: OpenDatagrams | None
    new_counter: Callable[[int, str, bytes], AtomicCounter]
    set_label: Callable[[AtomicCounter, str], None]
    start_lookup: Callable[[Callable[[], None]], None]
    report: NameResolverReport
    protector: DatagramProtector | None = None


class NameResolver(Protocol):
    """Translates names of channels to addresses.

    Both methods run on helper threads of the conductor, several at once if several names are resolved, and
    may block.

    `uri_key` is the key of the channel URI that the name comes from, such as `endpoint`, or
    `bootstrap_neighbor` for a fallback that resolves the first peers of the resolver `driver`. `is_re_lookup`
    and `is_re_resolution` are true if the name was resolved before, and its peer may have moved.
    """

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return `host:port` for a name that stands for a host and a port, otherwise `name` itself."""

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return a numeric address for `host`, or None if it is unknown.

        May raise ChannelUriError, whose text and code the client receives.
        """


@runtime_checkable
class PromptNameResolver(NameResolver, Protocol):
    """A resolver that can resolve some hosts without a network; its `lookup` returns the name unchanged.

    A command with such a host needs no helper thread, which would cost more than the rest of the command.
    """

    def resolve_promptly(self, host: str) -> str | None:
        """Return what `resolve` would return, or None if that could block; called on the conductor's thread."""


@runtime_checkable
class WorkingNameResolver(NameResolver, Protocol):
    """A resolver with counters or work of its own; these methods run on the conductor and must not block."""

    def start(self, context: NameResolverContext) -> None:
        """Start, before the driver accepts its first client; an exception stops the start of the driver."""

    def do_work(self, now_ns: int) -> int:
        """Do the work that is due, in each duty cycle; return 0 if there was none."""

    def close(self) -> None:
        """Release resources; no other method is called afterwards."""

"""Resolution of the names in channels to addresses.

Literal addresses are resolved at once, and so are hosts that the resolver finds without a network, such as those of
the hosts file. Other names are resolved on a helper thread, which may block: meanwhile the conductor delays only the
commands of the client that sent the name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from aeron_core._native.address import SocketAddress
from aeron_core.driver import events
from aeron_core.errors import AeronError, ChannelUriError, ConfigurationError, ErrorCode
from aeron_core.spi.name_resolver import PromptNameResolver, WorkingNameResolver
from aeron_core.uri.addresses import HostPort, parse_address

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from aeron_core._native.clock import Clock
    from aeron_core.driver.agents.system_counters import SystemCounters
    from aeron_core.driver.conductor.names.lookups import StartLookup
    from aeron_core.driver.event_log import EventLog
    from aeron_core.spi.media import Channel, MediaTransport
    from aeron_core.spi.name_resolver import NameResolver, NameResolverContext
    from aeron_core.spi.protection import DatagramProtector
    from aeron_core.uri.channel_uri import ChannelUri

    #: A command that continues once its channel is resolved.
    Unfinished = tuple[Future[Channel], Callable[[Channel], None]]

_T = TypeVar("_T")


class NameNeedsHelperError(AeronError):
    """A name cannot be resolved at once: it needs a helper thread. Raised through media, caught in this module."""


def literal_address(address: HostPort) -> SocketAddress | None:
    """Return the socket address, None if the host is not a numeric IPv4 or IPv6 address."""
    try:
        return SocketAddress.of(address.host, address.port)
    except OSError:
        return None


class NameResolution:
    """Resolution of channels, on helper threads if needed. Used by the conductor only."""

    def __init__(  # noqa: PLR0913 - what names are resolved with
        self,
        resolver: NameResolver,
        start_lookup: StartLookup,
        clock: Clock,
        counters: SystemCounters,
        event_log: EventLog,
        threshold_ns: int,
    ) -> None:
        self._resolver = resolver
        self._working = resolver if isinstance(resolver, WorkingNameResolver) else None
        self._prompt = resolver if isinstance(resolver, PromptNameResolver) else None
        #: Starts work on a helper thread; raises RuntimeError if the system cannot start one.
        self.start_helper = start_lookup
        self._clock = clock
        self._counters = counters
        self._events = event_log
        self._threshold_ns = threshold_ns
        self._protector: DatagramProtector | None = None

    def start_resolver(self, context: NameResolverContext) -> None:
        """Start the resolver if it is one with a duty cycle; its exceptions are passed on."""
        self._protector, self._report = context.protector, context.report
        if self._working is not None:
            self._working.start(context)

    @property
    def is_working(self) -> bool:
        """Whether the resolver has a duty cycle."""
        return self._working is not None

    def do_work(self, now_ns: int) -> int:
        """Run one duty cycle of the resolver if it has one; return its work count, else 0. Exceptions are passed on."""
        return 0 if self._working is None else self._working.do_work(now_ns)

    def on_timer(self, now_ns: int) -> None:
        """Log a fault of the resolver's protector, and let it work; its exceptions are passed on."""
        if self._protector is not None:
            fault = self._protector.take_fault()
            if fault is not None:
                self._report(f"datagram for the name resolver: {fault.reason}", peer=fault.source)
            self._protector.on_timer(now_ns)

    def close(self) -> None:
        """Close the resolver if it is one with a duty cycle, and its protector; its exceptions are passed on."""
        if self._working is not None:
            self._working.close()
        if self._protector is not None:
            self._protector.close()

    def resolve(self, transport: MediaTransport, uri: ChannelUri, *, is_publication: bool) -> Future[Channel]:
        """Return a future of the resolved channel; it is done already if no helper thread is needed.

        A wrong URI is an exception of the future, and so is any error on a helper thread. Other errors of the medium
        are raised, and RuntimeError if no helper thread can be started.
        """
        from concurrent.futures import Future  # noqa: PLC0415 - slow to import: only channels of networks need it

        done: Future[Channel] = Future()
        try:
            # A channel with literal addresses needs no thread: its response follows in the same duty cycle.
            done.set_result(
                transport.resolve_channel(uri, self._resolve_at_once, is_publication=is_publication)
            )
        except NameNeedsHelperError:
            return self._submit(
                lambda: transport.resolve_channel(uri, self._resolve_name, is_publication=is_publication)
            )
        except ChannelUriError as error:
            # Not raised here: a wrong URI is an exception of the future, whether or not a helper thread resolves it.
            done.set_exception(error)
        return done

    def resolve_again(self, text: str, uri_key: str) -> Future[SocketAddress] | None:
        """Return a future of the current address of a name, found on a helper thread; None for a literal address.

        Raises RuntimeError if no helper thread can be started.
        """
        if _literal_of(text) is not None:
            return None
        return self._submit(lambda: self._resolve_name(text, uri_key, again=True))

    def _submit(self, work: Callable[[], _T]) -> Future[_T]:
        from concurrent.futures import Future  # noqa: PLC0415 - slow to import: only channels of networks need it

        future: Future[_T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                # Catch every exception: otherwise the future never completes, and the client blocks.
                future.set_exception(error)

        self.start_helper(run)
        return future

    def _resolve_at_once(self, text: str, uri_key: str) -> SocketAddress:
        literal = _literal_of(text)
        if literal is not None:
            return literal
        if self._prompt is None:
            raise NameNeedsHelperError
        started_ns = self._clock.nano_time()
        try:
            address = parse_address(text)
        except ValueError:
            # The text is not host:port: a helper thread looks it up as a name, or reports the error.
            raise NameNeedsHelperError from None
        # Runs on the conductor's thread, so it must not block: `resolve_promptly` uses no network.
        host = self._prompt.resolve_promptly(address.host)
        if host is None:
            raise NameNeedsHelperError
        self._events.record(events.NAME_RESOLUTION_LOOKUP, name=text, is_re_lookup=False, found=text)
        self._events.record(
            events.NAME_RESOLUTION_RESOLVE, name=address.host, is_re_resolution=False, address=host
        )
        self._measure(self._clock.nano_time() - started_ns)
        return SocketAddress.of(host, address.port)

    def _resolve_name(self, text: str, uri_key: str, *, again: bool = False) -> SocketAddress:
        started_ns = self._clock.nano_time()
        try:
            # Two steps: `lookup` maps a name to host:port, as a service directory does; `resolve` maps a
            # host to an address.
            found = self._resolver.lookup(text, uri_key, again)
            self._events.record(events.NAME_RESOLUTION_LOOKUP, name=text, is_re_lookup=again, found=found)
            address = _parsed(found, text, uri_key)
            # The result of the first step may be an address already.
            literal = literal_address(address)
            if literal is not None:
                return literal
            unresolved = f"Unresolved - {uri_key}={text}, name-and-port={found}"
            try:
                host = self._resolver.resolve(address.host, uri_key, again)
            except ChannelUriError as error:
                raise ChannelUriError(f"{error}: {unresolved}", error.code) from None
            self._events.record(
                events.NAME_RESOLUTION_RESOLVE, name=address.host, is_re_resolution=again, address=host
            )
            if host is None:
                raise ChannelUriError(
                    f"Unable to resolve host=({address.host}): unknown host {address.host!r}: must be an "
                    f"address or a name that the name resolver can resolve: {unresolved}",
                    ErrorCode.UNKNOWN_HOST,
                )
            return SocketAddress.of(host, address.port)
        finally:
            self._measure(self._clock.nano_time() - started_ns)

    def _measure(self, duration_ns: int) -> None:
        # Only counted: a slow lookup on a helper thread delays no other client than the one that waits for it.
        self._counters.name_resolver_max_time.propose_max_release(duration_ns)
        if duration_ns > self._threshold_ns:
            self._counters.name_resolver_time_threshold_exceeded.get_and_add(1)


def _literal_of(text: str) -> SocketAddress | None:
    try:
        return literal_address(parse_address(text))
    except ValueError:
        # The text is not host:port: the name resolver may resolve it.
        return None


def _parsed(found: str, text: str, uri_key: str) -> HostPort:
    try:
        return parse_address(found)
    except ConfigurationError as error:
        raise ChannelUriError(
            f"{error}: Unresolved - {uri_key}={text}, name-and-port={found}", ErrorCode.GENERIC_ERROR
        ) from None

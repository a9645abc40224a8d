"""Datagram protectors: what seals the datagrams of a channel with `security=NAME`, and opens those of its peers.

NAME is a profile of the driver's settings (`security_profiles`), which names a protector and has its options. A
protector in plain Python changes one datagram after the other, under the GIL:

    class SignedDatagrams:
        overhead = 32
        def __init__(self, params: ProtectorParams) -> None: ...
        def seal(self, datagram: bytes) -> bytes:
            return datagram + self._sign(datagram)
        def open(self, datagram: bytes, source: SocketAddress) -> bytes | None:
            content = datagram[:-32]
            return content if compare_digest(datagram[-32:], self._sign(content)) else None

A compiled one derives from `DatagramProtector`, and its datagram channels from `DatagramChannel`.

Invariant: a medium passes its sockets to a protector and knows nothing else of it; the driver does not change what a
protector refused to open into an error of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from aeron_core._native.datagrams import TransformedDatagrams
from aeron_core.errors import PluginError
from aeron_core.frozen import frozen
from aeron_core.spi.endpoints import Fault
from aeron_core.spi.stream_counter import detached_counter

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.clock import Clock
    from aeron_core._native.counter import AtomicCounter
    from aeron_core._native.datagrams import DatagramChannel


class ProtectedRole(IntEnum):
    """The side that a protector belongs to; it exchanges datagrams with the other side."""

    PUBLICATION = 0
    SUBSCRIPTION = 1
    RESOLVER = 2  # its peers are resolvers, too

    @property
    def peer(self) -> ProtectedRole:
        """The role of the peers."""
        return self if self is ProtectedRole.RESOLVER else ProtectedRole(1 - self)


@frozen(kw_only=True)
class ProtectorParams:
    """Parameters of the protector of one channel endpoint, or of a name resolver.

    `options` are those of the profile, as text. The two functions return a new counter of the endpoint. Its label is
    the given name, a colon and the channel. The second one is for refusals that applications learn of, such as that of
    a peer with another key. They may be called on the conductor while the endpoint is open, and raise StorageError if
    no counter is free.

    Both only count up. Their names are constants of the protector, without values of peers: `security-WHAT`, or
    `security-refused-REASON` for datagrams that it has not opened. So metrics show them as
    `aeron_security_events_total{name="WHAT"}` and `aeron_security_refused_datagrams_total{reason="REASON"}`.
    """

    profile: str
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    role: ProtectedRole
    clock: Clock
    new_counter: Callable[[str], AtomicCounter] = field(default=lambda name: detached_counter(0, name))
    new_refusal_counter: Callable[[str], AtomicCounter] = field(
        default=lambda name: detached_counter(0, name)
    )


class DatagramProtector:
    """Protector of one endpoint; the driver creates it before the endpoint, and calls it on the conductor.

    A channel that `protect` returns is used by one agent, the same for all channels of the protector. It drops what it
    cannot open, and changes nothing for the peer that sent it.
    """

    #: Bytes by which a protected datagram is longer than a plain one, 0 to 1024. Frames get shorter by as much.
    overhead: int = 0

    def protect(
        self, datagrams: DatagramChannel, reply_address: SocketAddress | None = None
    ) -> DatagramChannel:
        """Return a channel that seals what is sent to `datagrams`, and opens what is received from it.

        Called for each socket of the endpoint: that of a destination, or both of a multicast publication. Datagrams
        that the protector itself sends to a peer go to `reply_address`, the group of a multicast channel, if there is
        one; otherwise to the source of the datagram that causes them.
        """
        return datagrams

    def take_fault(self) -> Fault | None:
        """Return and clear the pending fault, such as a peer that is not secured; None if there is none.

        The reason must be a constant text, without values of peers: it is an entry of the error log.
        """
        return None

    def on_timer(self, now_ns: int) -> None:
        """Update counters; called at the interval of the conductor's timer."""

    def do_work(self, now_ns: int) -> int:
        """Do what a handshake needs, such as answering its datagrams; return the work count.

        Called in each duty cycle of the conductor if a class overrides it. It must not block.
        """
        return 0

    def close(self) -> None:
        """Forget keys; called after the sockets of the endpoint closed."""


class DatagramTransform(Protocol):
    """A protector in plain Python; an exception of its methods loses the datagram, and the first one is reported."""

    overhead: int

    def seal(self, datagram: bytes) -> bytes:
        """Return what is sent instead of a datagram: `overhead` bytes longer."""

    def open(self, datagram: bytes, source: SocketAddress) -> bytes | None:
        """Return the datagram that was sealed: `overhead` bytes shorter; None if it must be dropped."""


class TransformingProtector(DatagramProtector):
    """Adapter of a protector in plain Python: counts what it refuses, and takes the GIL for each batch."""

    def __init__(
        self, transform: DatagramTransform, params: ProtectorParams, report: Callable[[BaseException], None]
    ) -> None:
        self.overhead = transform.overhead
        self._transform = transform
        self._report = report
        self._refusals = params.new_refusal_counter("security-refused-unopened")

    def protect(
        self, datagrams: DatagramChannel, reply_address: SocketAddress | None = None
    ) -> DatagramChannel:
        """See `DatagramProtector.protect`."""
        return TransformedDatagrams(
            datagrams, self._transform, self.overhead, self._refusals, self._report_once
        )

    def _report_once(self, error: BaseException) -> None:
        report, self._report = self._report, _ignore
        report(error)


def _ignore(_error: BaseException) -> None:
    pass


def adapt_datagram_protector(
    made: DatagramProtector | DatagramTransform,
    params: ProtectorParams,
    report: Callable[[BaseException], None],
) -> DatagramProtector:
    """Return `made` if it is a `DatagramProtector`, otherwise an adapter, which reports its first exception.

    Raises PluginError if it is neither, or its overhead is out of range.
    """
    overhead = getattr(made, "overhead", None)
    if not isinstance(overhead, int) or not 0 <= overhead <= MAX_OVERHEAD:
        raise PluginError(
            f"{type(made).__module__}.{type(made).__qualname__} cannot be used as datagram protector: overhead="
            f"{overhead!r}: must be a number of bytes from 0 to {MAX_OVERHEAD}: correct it in the class"
        )
    if isinstance(made, DatagramProtector):
        return made
    for name in ("seal", "open"):
        if not callable(getattr(made, name, None)):
            raise PluginError(
                f"{type(made).__module__}.{type(made).__qualname__} cannot be used as datagram protector: it must "
                f"have the methods seal and open: add them to the class, or derive it from DatagramProtector"
            )
    return TransformingProtector(made, params, report)


#: Invented: more than any protocol adds, and less than the default mtu.
MAX_OVERHEAD = 1024

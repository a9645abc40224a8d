"""Connections that are encrypted on the wire, as plain streams. Not here: the thread that encrypts (`stream_relay`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aeron_core._native.address import SocketAddress
from aeron_core._native.relays import RelayedListener, RelayedStream
from aeron_core.spi.media import StreamNetwork, StreamOptions
from aeron_media.streams.relay_faults import RelayFaults
from aeron_media.streams.sockets import listening_socket
from aeron_media.streams.stream_relay import StreamRelay, begin_to_connect
from aeron_media.streams.tls_session import TlsSession

if TYPE_CHECKING:
    from aeron_core.spi.endpoints import Fault
    from aeron_media.streams.tls_contexts import TlsContexts


class TlsStreams(StreamNetwork):
    """The sockets of the operating system, with TLS; used by the conductor. An endpoint has one of its own."""

    def __init__(self, contexts: TlsContexts) -> None:
        self._contexts = contexts
        self._faults = RelayFaults()
        self._connecting: dict[tuple[int, int], StreamRelay] = {}

    def listen(self, options: StreamOptions) -> RelayedListener:
        """See `StreamNetwork.listen`; connections are taken once their handshakes are done."""
        sock = listening_socket(options)
        host, port, *rest = sock.getsockname()
        relay = StreamRelay(self._new_session, self._faults, listener=sock)
        local = SocketAddress.of(host, port, rest[1] if rest else 0)
        return RelayedListener(relay.agent_end, local, relay.close)

    def new_stream(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> RelayedStream:
        """See `StreamNetwork.new_stream`; a stream is connected once its handshake is done."""
        lengths = (sndbuf_length, rcvbuf_length)
        if lengths not in self._connecting:
            self._connecting[lengths] = StreamRelay(
                self._new_session,
                self._faults,
                connect=partial(begin_to_connect, sndbuf_length=sndbuf_length, rcvbuf_length=rcvbuf_length),
            )
        return RelayedStream(self._connecting[lengths].agent_end)

    def take_fault(self) -> Fault | None:
        """Return why TLS has failed, if it has and it was not taken yet."""
        return self._faults.take()

    def close(self) -> None:
        """Connect no more streams; threads end once those that there are have been closed."""
        for relay in self._connecting.values():
            relay.close()
        # Each knows this object: without a cycle, sockets are closed with their last stream.
        self._connecting.clear()

    def _new_session(self, peer: SocketAddress) -> TlsSession:
        return self._contexts.new_session(self._faults)

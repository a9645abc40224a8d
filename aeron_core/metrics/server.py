"""HTTP endpoint that serves metrics to Prometheus, on one thread.

It runs inside the driver's process, so any host that reaches it could otherwise use up the descriptors and the CPU of
the driver. Hence not the server of prometheus_client, which has a thread per connection and no limits.
Not here: one connection (connection), which metrics there are (samples).
Invariant: at most `MAX_CONNECTIONS` connections are open, each for at most `REQUEST_LIMIT_S`.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import selectors
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from prometheus_client import CollectorRegistry, make_wsgi_app

from aeron_core._native.connections import is_reserved_descriptor
from aeron_core.errors import ConfigurationError, StorageError
from aeron_core.metrics.access import MetricsAccess
from aeron_core.metrics.connection import METRICS_PATH, MetricsConnection
from aeron_core.uri.addresses import HostPort

# All are invented. By default Prometheus scrapes once a minute and waits 10 s for the answer.
MAX_CONNECTIONS: Final = 16
#: Seconds from the start of a connection until it is closed, whatever its state.
REQUEST_LIMIT_S: Final = 10.0
#: Seconds without accepting after files or memory ran out.
ACCEPT_PAUSE_S: Final = 1.0
#: After an answer that took t seconds to create, none is created for this many times t: the driver needs the GIL too.
REST_FACTOR: Final = 4.0
_BACKLOG: Final = 16


class MetricsServer:
    """Serves requests on its own thread, from its creation until `close` or the end of the `with` block."""

    def __init__(self, access: MetricsAccess, registry: CollectorRegistry) -> None:
        """Listen and start the thread, on which the registry collects.

        Raises StorageError if the address cannot be resolved or bound, ConfigurationError if it cannot be a host name.
        """
        self._app = make_wsgi_app(registry)
        address, self._token = access.address, access.token
        try:
            self._listener = _listening_socket(address)
        except OSError as error:
            raise StorageError(
                error.errno,
                f"cannot serve metrics at {address}: {error.strerror}; choose another address with --metrics",
            ) from error
        except UnicodeError:
            raise ConfigurationError(
                f"--metrics={address}: must be an address or a host name, with labels from 1 to 63 characters between "
                "its dots"
            ) from None
        # On other addresses, any host that reaches this one may read the metrics anyway.
        is_local = ipaddress.ip_address(self._listener.getsockname()[0].partition("%")[0]).is_loopback
        self._host = address.host if is_local else None
        # `close` writes to the first socket of the pair, which wakes the thread that waits for the second.
        self._waker, self._wake = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        # Connections by descriptor, the oldest first.
        self._connections: dict[int, MetricsConnection] = {}
        self._accepts_from = 0.0
        self._answers_from = 0.0
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="aeron-metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """URL of the metrics, with the port that was chosen for port 0."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{METRICS_PATH}"

    def close(self) -> None:
        """Close all connections and the listening socket, and wait for the thread; call once."""
        self._is_closing = True
        self._waker.send(b"\0")
        self._thread.join()
        for each in (self._listener, self._waker, self._wake):
            each.close()
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # The methods below run on the thread of the server.

    def _run(self) -> None:
        while not self._is_closing:
            self._turn()
        for connection in list(self._connections.values()):
            self._drop(connection)

    def _turn(self) -> None:
        ready = self._selector.select(self._timeout(time.monotonic()))
        now = time.monotonic()
        for key, _ in ready:
            if key.fileobj is self._listener:
                self._accept(now)
            # An accepted connection may have replaced the one that the event is for.
            elif isinstance(key.data, MetricsConnection) and self._connections.get(key.fd) is key.data:
                self._watch(key.data, key.data.work())
        self._answer_one(now)
        for connection in [each for each in self._connections.values() if each.deadline <= now]:
            self._drop(connection)
        if self._accepts_from and now >= self._accepts_from:
            self._accepts_from = 0.0
            self._selector.register(self._listener, selectors.EVENT_READ)

    def _timeout(self, now: float) -> float | None:
        times = [each.deadline for each in self._connections.values()]
        if self._accepts_from:
            times.append(self._accepts_from)
        if any(each.request is not None for each in self._connections.values()):
            times.append(self._answers_from)
        return max(0.0, min(times) - now) if times else None

    def _accept(self, now: float) -> None:
        try:
            sock, _ = self._listener.accept()
            if is_reserved_descriptor(sock.fileno()):
                sock.close()
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        except (BlockingIOError, ConnectionError):
            return
        except OSError:
            # Probably too many open files. The listener stays readable: without a pause this thread would spin.
            self._accepts_from = now + ACCEPT_PAUSE_S
            self._selector.unregister(self._listener)
            return
        if len(self._connections) >= MAX_CONNECTIONS:
            # A scraper sends its request at once, so the oldest connection is probably an idle one.
            self._drop(next(iter(self._connections.values())))
        connection = MetricsConnection(sock, now + REQUEST_LIMIT_S, self._token, self._host)
        self._connections[sock.fileno()] = connection
        self._selector.register(sock, selectors.EVENT_READ, connection)

    def _watch(self, connection: MetricsConnection, events: int | None) -> None:
        """Register a connection for `events`, for none if they are 0; drop the connection if they are None."""
        if events is None:
            self._drop(connection)
            return
        with suppress(KeyError):
            self._selector.unregister(connection.socket)
        if events:
            self._selector.register(connection.socket, events, connection)

    def _answer_one(self, now: float) -> None:
        connection = next((each for each in self._connections.values() if each.request is not None), None)
        if connection is None or now < self._answers_from:
            return
        started = time.monotonic()
        self._watch(connection, connection.answer(self._app))
        ended = time.monotonic()
        self._answers_from = ended + (ended - started) * REST_FACTOR

    def _drop(self, connection: MetricsConnection) -> None:
        del self._connections[connection.socket.fileno()]
        with suppress(KeyError):
            self._selector.unregister(connection.socket)
        connection.socket.close()


def _listening_socket(address: HostPort) -> socket.socket:
    family, kind, protocol, _, name = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(name)
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock

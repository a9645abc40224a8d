"""Serves the counters of a driver to Prometheus over HTTP."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from prometheus_client import start_http_server

from aeron_core.addresses import HostPort
from aeron_core.cli.metrics import Records, registry_of
from aeron_core.errors import StorageError


class MetricsServer:
    """Answers on threads of its own within the `with` block."""

    def __init__(self, address: HostPort, records: Records) -> None:
        """Listen; raises StorageError where the address cannot be had."""
        try:
            self._server, self._thread = start_http_server(address.port, address.host, registry_of(records))
        except OSError as error:
            raise StorageError(
                error.errno,
                f"metrics cannot be served at {address.host}:{address.port}: {error.strerror}; "
                "choose another with --metrics",
            ) from error

    @property
    def url(self) -> str:
        """Where to ask, with the port that was found where 0 was asked for."""
        host, port = self._server.server_address[:2]
        name = host.decode() if isinstance(host, bytes) else str(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/metrics"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

"""HTTP endpoint that serves the counters of a driver to Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from prometheus_client import make_wsgi_app, start_http_server

from aeron_core.cli.driver.metrics import Records, registry_of
from aeron_core.errors import StorageError
from aeron_core.uri.addresses import HostPort

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


METRICS_PATH: Final = "/metrics"


class MetricsServer:
    """Serves the counters on threads of its own, from its creation until it is closed."""

    def __init__(self, address: HostPort, records: Records) -> None:
        """Listen; raise StorageError if the address cannot be bound."""
        registry = registry_of(records)
        try:
            self._server, self._thread = start_http_server(address.port, address.host, registry)
        except OSError as error:
            raise StorageError(
                error.errno,
                f"cannot serve metrics at {address.host}:{address.port}: {error.strerror}; "
                "choose another address with --metrics",
            ) from error
        self._server.set_app(_only_at(METRICS_PATH, make_wsgi_app(registry)))

    @property
    def url(self) -> str:
        """URL of the metrics, with the port that was chosen for port 0."""
        host, port = self._server.server_address[:2]
        name = host.decode() if isinstance(host, bytes) else str(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}{METRICS_PATH}"

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


def _only_at(path: str, app: WSGIApplication) -> WSGIApplication:
    """Return an application that serves one path; that of prometheus_client serves every path."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == path:
            return app(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"metrics are at {path}\n".encode()]

    return answer

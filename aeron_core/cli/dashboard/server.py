"""Server of the page: NiceGUI on uvicorn, behind the gate, on a thread of its own.

Not here: which requests are answered (`gate`).
Invariant: at most `MAX_CONNECTIONS` connections are open; one without a request for `REQUEST_LIMIT_S` is closed, twice
that time later at the latest.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import uvicorn
from fastapi import FastAPI
from nicegui import app as nicegui_app
from nicegui import core, ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from aeron_core.cli.dashboard.access import Access
from aeron_core.cli.dashboard.exchange import SNAPSHOTS_PATH
from aeron_core.cli.dashboard.feed import PageFeed
from aeron_core.cli.dashboard.gate import Gate
from aeron_core.cli.dashboard.page import FEED_KEY, TITLE, session_count
from aeron_core.errors import ConfigurationError, StorageError
from aeron_core.uri.addresses import HostPort

# All are invented.
MAX_CONNECTIONS: Final = 64
#: Seconds in which a connection must send its first request, and be done with each.
REQUEST_LIMIT_S: Final = 10.0
_BACKLOG: Final = 16
_MAX_REQUEST_LENGTH: Final = 16 * 1024
#: Longest message of a browser, in bytes: the selection of a driver by its path.
_MAX_MESSAGE_LENGTH: Final = 32 * 1024
#: Interval in seconds at which it is checked whether the server has started.
_START_CHECK_S: Final = 0.01
#: Seconds for which the data of a closed tab is kept.
_TAB_AGE_S: Final = 60.0


class LimitedLoop(asyncio.SelectorEventLoop):
    """An event loop with servers that end TLS handshakes if they take longer than `REQUEST_LIMIT_S`.

    uvicorn does not pass this limit on; asyncio's own is a minute.
    """

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """Create a server as the base class does."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = REQUEST_LIMIT_S
        return await super().create_server(*arguments, **options)


class LimitedProtocol(H11Protocol):
    """A connection that is refused if too many are open, and closed if no request begins within `REQUEST_LIMIT_S`.

    That holds for the first request, and again from each request to the next one. The connection of a page has another
    protocol.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept or refuse a new connection."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self.loop.call_later(REQUEST_LIMIT_S, self._close_if_silent, None)

    def _close_if_silent(self, before: RequestResponseCycle | None) -> None:
        """Close the connection if its last request is still the one `before`."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        if self.cycle is before:
            self.transport.abort()
        else:
            self.loop.call_later(REQUEST_LIMIT_S, self._close_if_silent, self.cycle)


class DashboardServer:
    """Serves the page on its own thread, from its creation until `close` or the end of the `with` block.

    One at a time in a process: NiceGUI is a singleton.
    """

    def __init__(self, access: Access, feed: PageFeed) -> None:
        """Listen, and start the thread; raise StorageError if the address cannot be resolved or bound."""
        address = access.address
        try:
            self._socket = _listening_socket(address)
        except OSError as error:
            raise StorageError(
                error.errno or errno.EADDRNOTAVAIL,
                f"cannot listen on {address}: {error.strerror}; choose another address with --listen",
            ) from error
        except UnicodeError:
            raise ConfigurationError(
                f"--listen={address}: must be an address or a host name, with labels from 1 to 63 characters between "
                "its dots"
            ) from None
        self._access = access
        self._feed = feed
        gate = Gate(self._serve_page, access, self.port, session_count)
        self._server = uvicorn.Server(_config(gate, access.tls))
        self._app = _application()
        self._thread = threading.Thread(target=self._run, name="aeron-dashboard", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port, also the one that was chosen for port 0."""
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """URL of the page."""
        scheme = "http" if self._access.tls is None else "https"
        return f"{scheme}://{HostPort(self._access.address.host, self.port)}/"

    @property
    def is_running(self) -> bool:
        """Whether the thread runs; False after a fault of it."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Close all connections, and wait for the thread; call once."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

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
        with asyncio.Runner(loop_factory=LimitedLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        reading = asyncio.create_task(self._read())
        # A page that stands still without a reason would be worse than none.
        reading.add_done_callback(lambda _: setattr(self._server, "should_exit", True))
        try:
            await self._server.serve([self._socket])
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def _read(self) -> None:
        # NiceGUI looks at all objects of the interpreter when it starts. Meanwhile `tuple` fails in other threads with
        # a SystemError, because it finds a reference to its unfinished result (CPython's issue 59313).
        while not self._server.started:
            await asyncio.sleep(_START_CHECK_S)
        await self._feed.run()

    async def _serve_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == SNAPSHOTS_PATH:
            data = await asyncio.to_thread(self._feed.export)
            answer = Response(data, media_type="application/json", headers={"Cache-Control": "no-store"})
            await answer(scope, receive, send)
        else:
            scope[FEED_KEY] = self._feed
            await self._app(scope, receive, send)


def _application() -> FastAPI:
    """Return the application with the page, without the pages of FastAPI that document it."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    nicegui_app.config.socket_io_js_transports = ["websocket"]
    nicegui_app.storage.max_tab_storage_age = _TAB_AGE_S
    # Those of NiceGUI create a page, and a session, for each request that fails.
    nicegui_app.add_exception_handler(404, _not_found)
    nicegui_app.add_exception_handler(Exception, _failed)
    # A browser could otherwise write to the log.
    core.sio.on("log", _ignore)
    # No history of messages: a page that has lost its connection is loaded again.
    ui.run_with(
        app,
        title=TITLE,
        tailwind=False,
        gzip_middleware_factory=None,
        message_history_length=0,
        binding_refresh_interval=None,
        show_welcome_message=False,
    )
    return app


async def _not_found(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("not found\n", 404)


async def _failed(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("the page has failed\n", 500)


async def _ignore(_session: str, _message: object) -> None:
    pass


def _config(app: Any, tls: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="websockets-sansio",
        ws_max_size=_MAX_MESSAGE_LENGTH,
        ws_per_message_deflate=False,
        h11_max_incomplete_event_size=_MAX_REQUEST_LENGTH,
        loop="asyncio",
        # A start of NiceGUI that fails must not go unnoticed.
        lifespan="on",
        # Texts of peers would otherwise reach the log.
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
    )


def _listening_socket(address: HostPort) -> socket.socket:
    family, kind, protocol, _, name = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(name)
        sock.listen(_BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock

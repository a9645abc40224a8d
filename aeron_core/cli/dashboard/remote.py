"""Drivers of other hosts: read from their dashboards, or from their metrics for Prometheus.

Not here: the formats (`exchange`, `aeron_core.metrics.scrape`).
Invariant: at most `MAX_LENGTH` bytes of an answer are read; redirections are not followed, so that a token only
reaches the host that the user has named.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from aeron_core.cli.dashboard.documents import Json, TableColumn, TableRow, number_cell, table, text_cell
from aeron_core.cli.dashboard.exchange import SNAPSHOTS_PATH, snapshots_of
from aeron_core.cli.text_table import counted
from aeron_core.cli.top.sources import DriverStatus, ObservedDriver, status_of
from aeron_core.cli.top.tables import UNKNOWN
from aeron_core.errors import AeronError, ConfigurationError, ProtocolError
from aeron_core.metrics.scrape import ScrapedLag, is_set_back, scraped
from aeron_core.observation.limitation import size_text
from aeron_core.observation.snapshots import DriverSnapshot

# All are invented.
MAX_LENGTH: Final = 32 * 1024 * 1024
#: Seconds until a connection, and the next bytes; from a connection until the whole answer.
_TIMEOUT_S: Final = 3.0
_ANSWER_S: Final = 10.0
_QUERY_COLUMNS: Final = (
    TableColumn("query"),
    TableColumn("unread", is_number=True, help="recorded bytes that the query has not read"),
    TableColumn("age", is_number=True, help="age of the oldest message that the query has not read"),
    TableColumn("stream", is_number=True),
    TableColumn("session", is_number=True),
    TableColumn("recording", is_number=True),
    TableColumn("channel"),
    TableColumn("from"),
)


class RemoteSource:
    """Drivers and queries of one URL. One thread at a time reads; the results may be used by others."""

    def __init__(self, url: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        """Connect to nothing; raise ConfigurationError if the URL is not one of http or https."""
        self.url: Final = url
        self._parts: Final = _checked(url)
        self._token: Final = token
        self._tls: Final = tls
        #: Results of the last reading.
        self.drivers: tuple[ObservedDriver, ...] = ()
        self.queries: tuple[ScrapedLag, ...] = ()
        self.problem = ""
        #: Whether the last answer was metrics, which show less of a driver than a dashboard.
        self.has_metrics = False

    def read(self) -> None:
        """Read once; a host that does not answer is a problem, its drivers are not readable, its queries unknown."""
        try:
            found, queries = self._answer()
        # UnicodeError: also a host name with an empty or too long label, which is only found at its resolution.
        except (AeronError, OSError, http.client.HTTPException, UnicodeError) as error:
            self.problem = f"{self.url}: {error or type(error).__name__}"
            self.drivers = tuple(
                ObservedDriver(
                    replace(each.state, problem=self.problem), DriverStatus.UNREADABLE, home=each.home
                )
                for each in self.drivers
            )
            self.queries = ()
            return
        before = {each.state.aeron_dir: each for each in self.drivers}
        self.drivers = tuple(_observed(each, home, before.get(each.driver.aeron_dir)) for home, each in found)
        self.queries = queries
        self.problem = ""

    def _answer(self) -> tuple[list[tuple[Path | None, DriverSnapshot]], tuple[ScrapedLag, ...]]:
        """Return the drivers, with their directories on their host, and the lags of queries."""
        time_ns, monotonic_ns = time.time_ns(), time.monotonic_ns()
        kind, data = self._fetch()
        name = _name_of(self._parts)
        self.has_metrics = kind != "application/json"
        if not self.has_metrics:
            # The page identifies drivers by their directories.
            found = {each.driver.aeron_dir: each for each in snapshots_of(data)}
            return [
                (home, replace(each, driver=replace(each.driver, aeron_dir=Path(f"{name}:{home}"))))
                for home, each in found.items()
            ], ()
        if kind != "text/plain":
            raise ProtocolError(
                f"answers with {kind[:80]!r}: must be a dashboard, or metrics in the text format of Prometheus"
            )
        metrics = scraped(data.decode(), name)
        # A host with queries alone has no driver.
        has_driver = metrics.state.heartbeat_age_ms is not None or metrics.counters
        snapshot = DriverSnapshot(time_ns, monotonic_ns, metrics.state, metrics.counters)
        return [(metrics.home, snapshot)] if has_driver else [], metrics.queries

    def _fetch(self) -> tuple[str, bytes]:
        parts = self._parts
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(
                parts.hostname or "", parts.port, timeout=_TIMEOUT_S, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
        headers = {"Accept": "application/json, text/plain"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        path = SNAPSHOTS_PATH if parts.path in ("", "/") else parts.path
        try:
            connection.connect()
            with _answer_limit(connection.sock):
                connection.request("GET", f"{path}?{parts.query}" if parts.query else path, headers=headers)
                response = connection.getresponse()
                if response.status != http.HTTPStatus.OK:
                    hint = (
                        "; give its token with --from-token-file"
                        if response.status == http.HTTPStatus.UNAUTHORIZED
                        else ""
                    )
                    raise ProtocolError(f"answers with status {response.status}{hint}")
                return response.headers.get_content_type(), _body_of(response)
        finally:
            connection.close()


@contextmanager
def _answer_limit(sock: socket.socket) -> Iterator[None]:
    """End the connection after `_ANSWER_S`, and then raise ProtocolError.

    The timeout of the socket is not enough: it begins again with each byte.
    """
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        with suppress(OSError):
            # Not the method of an SSLSocket, which forgets its state while the other thread reads with it.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(_ANSWER_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not is_late.is_set():
            raise
    finally:
        timer.cancel()
    if is_late.is_set():
        raise ProtocolError(f"the answer takes longer than {_ANSWER_S:g} s")


def _body_of(response: http.client.HTTPResponse) -> bytes:
    """Return the body of an answer; raise ProtocolError if it is too long."""
    data = bytearray()
    while chunk := response.read1():
        data += chunk
        if len(data) > MAX_LENGTH:
            raise ProtocolError(f"answers with more than {counted(MAX_LENGTH, 'byte')}, which is the limit")
    return bytes(data)


def query_table(sources: Iterable[RemoteSource]) -> Json:
    """Return the table of the lags of Spark queries."""
    rows = [_query_row(source, lag) for source in sources for lag in source.queries]
    return table(
        "Spark queries", _QUERY_COLUMNS, rows, "no query; --from with the metrics of a pipeline shows its lag"
    )


def _query_row(source: RemoteSource, lag: ScrapedLag) -> TableRow:
    cells = (
        text_cell(lag.query),
        number_cell(size_text(lag.bytes), lag.bytes),
        number_cell(UNKNOWN if lag.seconds is None else f"{lag.seconds:.1f} s", lag.seconds),
        *(_number_cell(each) for each in (lag.stream_id, lag.session_id, lag.recording_id)),
        text_cell(lag.channel),
        text_cell(source.url),
    )
    return TableRow(f"{source.url} {lag.query} {lag.channel} {lag.stream_id} {lag.session_id}", cells)


def _number_cell(text: str) -> tuple[str, float | str | None, bool]:
    is_number = text.removeprefix("-").isdecimal() and len(text) <= len(str(-(1 << 63)))
    return number_cell(text, float(text) if is_number else None)


def without_repetitions(
    local: Iterable[ObservedDriver], sources: Iterable[RemoteSource]
) -> list[ObservedDriver]:
    """Return all drivers, each once: as it is read here, else from a dashboard, else from metrics."""
    found = list(local)
    known = {driver.identity for driver in found if driver.status is not DriverStatus.UNREADABLE}
    for source in sorted(sources, key=lambda each: each.has_metrics):
        for driver in source.drivers:
            is_repeated = driver.identity is not None and driver.identity in known
            if not is_repeated:
                found.append(driver)
            if driver.status is not DriverStatus.UNREADABLE:
                known.add(driver.identity)
    return found


def _observed(snapshot: DriverSnapshot, home: Path | None, before: ObservedDriver | None) -> ObservedDriver:
    snapshot_before = None if before is None else before.snapshot
    if before is not None and snapshot_before is not None and snapshot_before.is_same_driver(snapshot):
        if snapshot.monotonic_ns <= snapshot_before.monotonic_ns:
            # The other dashboard has not read its drivers since.
            return before
        # Metrics of earlier versions have no process id, and registration ids of a driver that restarted may be those
        # of before.
        is_other = snapshot.driver.pid is None and is_set_back(snapshot_before.counters, snapshot.counters)
        previous = None if is_other else snapshot_before
        return ObservedDriver(snapshot.driver, status_of(snapshot.driver), snapshot, previous, home)
    return ObservedDriver(snapshot.driver, status_of(snapshot.driver), snapshot, home=home)


def _name_of(parts: SplitResult) -> str:
    """Return the host of a URL, with the path if it is not a usual one: a proxy may have several endpoints."""
    path = parts.path.rstrip("/").removesuffix("/metrics").removesuffix(SNAPSHOTS_PATH)
    return f"{parts.netloc}{path}" + (f"?{parts.query}" if parts.query else "")


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        # Parsed at its first use.
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    is_url = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    if not is_url or not url.isprintable() or " " in url or not f"{parts.path}{parts.query}".isascii():
        raise ConfigurationError(
            f"--from={url[:200]}: must be the URL of a dashboard or of metrics, such as http://host:8900/ or "
            "http://host:9464/metrics, without user and password; other characters than ASCII, and blanks, must be "
            "percent-encoded"
        )
    return parts

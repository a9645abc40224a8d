"""Drivers of other hosts: how they are read, which are the same, and answers that cannot be used."""

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from observed import heartbeat, records_of, snapshot
from remote_drivers import RECEIVED, STOPPED, WHOLE, dashboard, metrics, serving

from aeron_core.cli.dashboard import remote
from aeron_core.cli.dashboard.remote import RemoteSource, without_repetitions
from aeron_core.cli.top.sources import DriverStatus, ObservedDriver
from aeron_core.errors import ConfigurationError
from aeron_core.observation import limitations
from aeron_core.observation.limitation import Party


def test_the_subscriber_on_another_host_that_holds_a_stream_back_is_found_by_its_dashboard():
    sender = snapshot(*records_of(**{**STOPPED, "pub_pos": 135_000}))
    with serving(dashboard(snapshot(*records_of(**RECEIVED), heartbeat()))) as (url, _):
        source = RemoteSource(url)
        source.read()

    (driver,) = source.drivers
    (limit,) = limitations(sender, None, [driver.snapshot])
    assert driver.state.aeron_dir == Path(f"{url.removeprefix('http://')}:/a/driver")
    assert limit.party is Party.SUBSCRIBER
    assert limit.client.description == "process 4711 (app)"


def test_endpoints_of_one_host_are_different_drivers():
    with serving(metrics(), metrics(), dashboard(WHOLE)) as (url, _):
        sources = [RemoteSource(f"{url}{path}") for path in ("/a/metrics", "/b/metrics", "/c/snapshots")]
        for source in sources:
            source.read()

    host = url.removeprefix("http://")
    assert [str(driver.state.aeron_dir) for source in sources for driver in source.drivers] == [
        f"{host}/a",
        f"{host}/b",
        f"{host}/c:/a/driver",
    ]


def test_a_directory_that_a_dashboard_names_twice_is_one_driver():
    with serving(dashboard(WHOLE, WHOLE)) as (url, _):
        source = RemoteSource(url)
        source.read()

    assert len(source.drivers) == 1


@pytest.mark.parametrize(
    ("identity", "count"),
    [
        (("/a/driver", "1", "5"), 1),
        (("/another", "1", "5"), 2),
        (("/a/driver", "2", "5"), 2),
        (("/a/driver", "1", "6"), 2),
        (("/a/driver", "1" * 30, "5"), 2),
        (("/a/driver", "one", "5"), 2),
        (None, 2),
    ],
)
def test_a_driver_that_is_read_here_and_by_its_metrics_is_shown_once(identity, count):
    here = ObservedDriver(WHOLE.driver, DriverStatus.ALIVE, WHOLE)
    with serving(metrics(*WHOLE.counters, identity=identity)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()

    found = without_repetitions([here], [source])

    assert len(found) == count
    assert found[0] is here


def test_a_driver_is_shown_as_another_dashboard_has_it_rather_than_by_its_metrics():
    by_metrics = metrics(*WHOLE.counters, identity=("/a/driver", "1", "5"))
    with serving(by_metrics, dashboard(WHOLE)) as (url, _):
        sources = [RemoteSource(f"{url}{path}") for path in ("/metrics", "/snapshots")]
        for source in sources:
            source.read()

    (driver,) = without_repetitions([], sources)

    assert driver.snapshot.errors == WHOLE.errors


def test_the_token_is_sent_and_redirections_are_not_followed():
    with serving((302, "text/plain", b"")) as (url, requests):
        source = RemoteSource(url, token="t" * 20)
        source.read()

    assert requests == [("/snapshots", "Bearer " + "t" * 20)]
    assert source.problem == f"{url}: answers with status 302"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((401, "text/plain", b""), "answers with status 401; give its token with --from-token-file"),
        ((200, "text/html", b""), "answers with 'text/html': must be a dashboard, or metrics"),
        ((200, "application/json", b"{}"), "no snapshots of a dashboard"),
        ((200, "text/plain", b"a b c d"), "no metrics in Prometheus's text format"),
        ((200, "text/plain", b"\xff"), "codec can't decode"),
        ((200, "text/plain", b"x" * 101), "answers with more than 100 bytes"),
    ],
)
def test_an_answer_that_cannot_be_used_is_a_problem_and_drivers_are_not_readable(answer, reason, monkeypatch):
    with serving(dashboard(WHOLE), answer) as (url, _):
        source = RemoteSource(url)
        source.read()
        assert source.problem == ""
        monkeypatch.setattr(remote, "MAX_LENGTH", 100)
        source.read()

    assert reason in source.problem
    assert [driver.status for driver in source.drivers] == [DriverStatus.UNREADABLE]


@pytest.mark.parametrize(
    ("begin", "repeated"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"\n"),
    ],
)
def test_an_answer_that_never_ends_is_a_problem(begin, repeated, monkeypatch):
    monkeypatch.setattr(remote, "_ANSWER_S", 0.1)

    def answer():
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(begin)
            for _ in range(100):
                connection.sendall(repeated)
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        source = RemoteSource(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        source.read()
        thread.join()

    assert source.problem.endswith("/: the answer takes longer than 0.1 s")


def test_a_host_that_does_not_answer_is_a_problem():
    with serving() as (url, _):
        pass
    source = RemoteSource(url)

    source.read()

    assert "Connection refused" in source.problem


@pytest.mark.parametrize("host", ["a..b", ".a", "a" * 64])
def test_a_host_name_that_cannot_be_encoded_is_a_problem(host):
    source = RemoteSource(f"http://{host}/")

    source.read()

    assert source.problem.startswith(f"http://{host}/: ")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host:8900",
        "ftp://host/",
        "http://",
        "http://h:x/",
        "http://u:p@h/",
        "http://:p@h/",
        "file:///etc/passwd",
        "http://h/\n",
        "http://h/a b",
        "http://h/é",
        "http://h/?é",
    ],
)
def test_only_urls_of_http_are_accepted(url):
    with pytest.raises(ConfigurationError, match="--from="):
        RemoteSource(url)

"""Drivers of other hosts, from their dashboards and from their metrics."""

import http.server
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from observed import STREAM_ID, heartbeat, record, records_of, snapshot

from aeron_core.cli.dashboard import exchange, remote
from aeron_core.cli.dashboard.exchange import document_of_snapshots, snapshots_of
from aeron_core.cli.dashboard.remote import RemoteSource, query_table, without_repetitions
from aeron_core.cli.top.sources import DriverStatus, ObservedDriver
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.concurrent.counters import NOT_FREE_TO_REUSE
from aeron_core.concurrent.error_log import ErrorRecord
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.errors import ConfigurationError, ProtocolError
from aeron_core.metrics.prometheus import prometheus_text
from aeron_core.metrics.samples import HEARTBEAT_AGE, INFO, Sample, counter_samples
from aeron_core.metrics.scrape import MAX_LINE_LENGTH, is_set_back, scraped
from aeron_core.observation import LogParameters, limitations
from aeron_core.observation.limits import Party

#: A publication whose receiver has not read more, because its only subscriber reads nothing.
STOPPED = {"pub_pos": 131_072, "pub_lmt": 200_000, "snd_pos": 131_072, "snd_lmt": 131_072}
RECEIVED = {"rcv_hwm": 131_072, "rcv_pos": 131_072, "sub_pos": 0}
WHOLE = replace(
    snapshot(*records_of(**STOPPED), heartbeat(), logs={3: LogParameters(65_536, 1408, None, None, True)}),
    errors=(ErrorRecord(1, 2, 3, "text\udc80"),),
    losses=(LossEntry(1, 2, 3, 4, 5, 6, "c", "s"),),
    problems=("p",),
)


@contextmanager
def serving(*answers):
    """Serve answers, each a status, a content type and a body, one after the other; yield the URL and the requests."""
    left, requests = list(answers), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers.get("Authorization")))
            status, kind, body = left.pop(0)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def dashboard(*snapshots):
    return 200, "application/json", document_of_snapshots(snapshots)


def metrics(*records, age_s=0.5, identity=None):
    samples = [Sample(HEARTBEAT_AGE, (), age_s), *counter_samples(records)]
    if identity is not None:
        samples.append(Sample(INFO, identity, 1))
    return 200, "text/plain; version=0.0.4", prometheus_text(lambda: samples).encode()


def test_a_snapshot_survives_the_exchange():
    allocated = tuple(replace(each, free_for_reuse_deadline_ms=NOT_FREE_TO_REUSE) for each in WHOLE.counters)
    whole = replace(WHOLE, counters=allocated)

    assert snapshots_of(document_of_snapshots([whole])) == [whole]


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(version=2),
        lambda found: found.pop("drivers"),
        lambda found: found.update(drivers={}),
        lambda found: found.update(drivers=[[]]),
        lambda found: found["drivers"][0].update(time_ns="1"),
        lambda found: found["drivers"][0].update(time_ns=1 << 64),
        lambda found: found["drivers"][0].update(driver="{}"),
        lambda found: found["drivers"][0].update(details="[]"),
        lambda found: found["drivers"][0]["counters"][0].pop(),
        lambda found: found["drivers"][0]["counters"][0].__setitem__(-1, "%%"),
        lambda found: found["drivers"][0]["counters"][0].__setitem__(0, True),
    ],
)
def test_a_damaged_exchange_is_refused(change):
    found = json.loads(document_of_snapshots([WHOLE]))
    change(found)

    with pytest.raises(ProtocolError, match="no snapshots of a dashboard"):
        snapshots_of(json.dumps(found).encode())


def test_more_counters_than_all_drivers_may_have_are_refused(monkeypatch):
    count = 2 * len(WHOLE.counters)
    monkeypatch.setattr(exchange, "_MAX_COUNTERS", count)
    assert len(snapshots_of(document_of_snapshots([WHOLE] * 2))) == 2

    monkeypatch.setattr(exchange, "_MAX_COUNTERS", count - 1)

    with pytest.raises(ProtocolError, match=f"{count} counters: must be at most {count - 1}"):
        snapshots_of(document_of_snapshots([WHOLE] * 2))


def test_a_directory_that_no_driver_can_have_is_refused():
    driver = replace(WHOLE.driver, aeron_dir=Path("/" + "x" * 4096))

    with pytest.raises(ProtocolError, match="a directory has 4097 characters: must have at most 4096"):
        snapshots_of(document_of_snapshots([replace(WHOLE, driver=driver)]))


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_exchange_is_refused(data):
    with pytest.raises(ProtocolError):
        snapshots_of(data)


@pytest.mark.parametrize("value", [b"{},", b"[],", b"0,"])
def test_a_document_of_very_many_values_is_refused_before_it_is_parsed(value):
    data = b'{"version":1,"drivers":[' + value * 1_500_001 + b"0]}"

    with pytest.raises(ProtocolError, match="values: must be at most 1500000"):
        snapshots_of(data)


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


def test_streams_are_read_from_the_metrics_of_a_driver():
    with serving(metrics(*records_of(**STOPPED), *records_of(**RECEIVED))) as (url, requests):
        source = RemoteSource(f"{url}/metrics")
        source.read()

    (driver,) = source.drivers
    (stream,) = driver.snapshot.streams
    assert driver.status is DriverStatus.ALIVE
    assert stream.stream_id == STREAM_ID
    assert stream.publications[3].sender_limit == 131_072
    assert stream.images[5].slowest.position == 0
    assert requests == [("/metrics", None)]


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


def test_metrics_give_rates_as_counters_do():
    first, second = (snapshot(*records_of(pub_pos=n, pub_lmt=9_000)) for n in (0, 4_000))
    with serving(metrics(*first.counters), metrics(*second.counters)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()
        source.read()

    (driver,) = source.drivers
    stream = driver.snapshot.streams[0]
    rate = driver.rates.published(stream, stream.publications[3])
    assert rate * driver.rates.seconds == pytest.approx(4_000)


def test_a_driver_that_restarted_between_two_readings_of_its_metrics_has_no_rates():
    first, second = (snapshot(*records_of(pub_pos=n, pub_lmt=9_000)) for n in (4_000, 100))
    with serving(metrics(*first.counters), metrics(*second.counters)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()
        source.read()

    (driver,) = source.drivers
    assert driver.rates is None


def test_a_system_counter_with_an_id_that_no_driver_has_is_no_sign_of_a_restart():
    first, second = (
        scraped(f'aeron_counter{{id="{-(1 << 70)}",type_id="0",label="x"}} {value}\n', "host").counters
        for value in (2, 1)
    )

    assert not is_set_back(first, second)


def test_a_limit_that_decreases_is_no_restart():
    first, second = (snapshot(*records_of(pub_pos=n, pub_lmt=9_000 - n)) for n in (0, 4_000))
    with serving(metrics(*first.counters), metrics(*second.counters)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()
        source.read()

    (driver,) = source.drivers
    assert driver.rates is not None


def test_labels_in_metrics_that_are_no_counters_are_left_out():
    owner = CounterOwner(1, 2, 3, "c")
    text = prometheus_text(lambda: counter_samples([record(types.PUBLISHER_POSITION, "x", 1, owner)]))

    for damaged in ('stream_id="x"', f'stream_id="{1 << 70}"', 'other="3"'):
        assert scraped(text.replace('stream_id="3"', damaged), "host").counters == ()
    assert scraped(text, "host").counters[0].value == 1


def test_metrics_with_a_line_that_takes_the_parser_minutes_are_refused():
    labels = ",".join(f'l{number}="x"' for number in range(MAX_LINE_LENGTH // 6))

    with pytest.raises(
        ProtocolError, match=r"a line of the metrics has [0-9]+ characters: must have at most"
    ):
        scraped(f"aeron_driver_errors{{{labels}}} 1\n", "host")


def test_a_driver_without_a_recent_heartbeat_is_dead():
    with serving(metrics(age_s=11)) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()

    assert [driver.status for driver in source.drivers] == [DriverStatus.DEAD]


def test_lags_of_queries_are_read_from_the_metrics_of_a_pipeline():
    labels = '{query="trades",channel="aeron:ipc",stream_id="5",session_id="-7",recording_id="2"}'
    text = (
        f"# TYPE aeron_query_lag_bytes gauge\naeron_query_lag_bytes{labels} 4096.0\n"
        f"# TYPE aeron_query_lag_seconds gauge\naeron_query_lag_seconds{labels} 1.25\n"
    )
    with serving((200, "text/plain", text.encode())) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()

    assert source.drivers == ()
    (row,) = query_table([source])["rows"]
    assert [cell[0] for cell in row["cells"]][:7] == [
        "trades",
        "4.1 kB",
        "1.2 s",
        "5",
        "-7",
        "2",
        "aeron:ipc",
    ]


def test_lags_of_a_host_that_no_longer_answers_are_not_shown():
    text = '# TYPE aeron_query_lag_bytes gauge\naeron_query_lag_bytes{query="trades"} 4096.0\n'
    with serving((200, "text/plain", text.encode()), (500, "text/plain", b"")) as (url, _):
        source = RemoteSource(f"{url}/metrics")
        source.read()
        assert len(source.queries) == 1
        source.read()

    assert source.queries == ()
    assert "status 500" in source.problem


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

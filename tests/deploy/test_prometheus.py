"""Prometheus with the configuration and the alerts of deploy/, scraping a driver of ours."""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

import aeron_core

DEPLOY = Path(__file__).parents[2] / "deploy" / "prometheus"
TIMEOUT_S = 120

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed"),
]


class Prometheus:
    """A server with an address; answers of its HTTP interface."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/api/v1/"

    def answer(self, path, **parameters):
        """Return the data of an answer, None while the server does not answer."""
        try:
            with urllib.request.urlopen(
                f"{self.url}{path}?{urllib.parse.urlencode(parameters)}", timeout=30
            ) as got:
                document = json.load(got)
        except (urllib.error.URLError, ConnectionError):
            return None
        assert document["status"] == "success", document
        return document["data"]

    def values(self, expression):
        """Return the labels and values of an expression."""
        data = self.answer("query", query=expression)
        return [] if data is None else [(each["metric"], float(each["value"][1])) for each in data["result"]]

    def until(self, condition):
        """Return the first result of `condition` that is true."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while not (found := condition()):
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        return found


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """A driver with a publication that is held back, its directory, and Prometheus, which scrapes it each 200 ms."""
    folder = tmp_path_factory.mktemp("prometheus")
    with ExitStack() as stack:

        def start(*command, **options):
            process = stack.enter_context(
                subprocess.Popen([str(part) for part in command], text=True, **options)
            )
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
            return process

        options = ("-Daeron.dir=" + str(folder / "driver"), "-Daeron.threading.mode=SHARED")
        options += ("-Daeron.ipc.term.buffer.length=64k", "-Daeron.counters.buffer.length=1m")
        driver = start(
            *(sys.executable, "-m", "aeron_core", "driver", *options, "--metrics", "127.0.0.1:0"),
            stderr=subprocess.PIPE,
        )
        target = re.search(r"http://([\d.:]+)", driver.stderr.readline())[1]
        configuration = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
        configuration["global"] = {"scrape_interval": "200ms", "evaluation_interval": "200ms"}
        configuration["rule_files"] = [str(DEPLOY / "alerts.yaml")]
        (job,) = configuration["scrape_configs"]
        job["static_configs"] = [{"targets": [target]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        start(
            *("prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"),
            f"--web.listen-address=127.0.0.1:{port}",
            stderr=subprocess.DEVNULL,
        )
        client = stack.enter_context(aeron_core.connect(folder / "driver"))
        subscription = client.add_subscription("aeron:ipc", 7)
        publication = client.add_publication("aeron:ipc", 7)
        publication.await_connected(timeout=60)
        while publication.offer(bytes(1000)) > 0:
            pass
        assert not subscription.is_closed
        yield publication, Prometheus(port)


def test_what_is_scraped_equals_the_position_of_the_publication(scraped):
    publication, prometheus = scraped
    position = f"aeron_publisher_position_bytes_total{{session_id='{publication.session_id}'}}"

    found = prometheus.until(lambda: prometheus.values(position))

    [(labels, value)] = found
    assert value == publication.position
    assert (labels["job"], labels["stream_id"]) == ("aeron", "7")
    assert [up for _, up in prometheus.values("up{job='aeron'}")] == [1]


def test_every_alert_is_evaluated_without_a_fault_and_that_of_back_pressure_is_pending(scraped):
    _, prometheus = scraped

    def evaluated():
        groups = (prometheus.answer("rules") or {}).get("groups", [])
        rules = [rule for group in groups for rule in group["rules"]]
        states = {rule["name"]: rule["state"] for rule in rules}
        return (
            states.get("AeronBackPressure") == "pending"
            # Each group is evaluated at a time of its own: that of this alert perhaps before the first scrape.
            and states.get("AeronDriverDown") == "inactive"
            and "unknown" not in {rule["health"] for rule in rules}
            and rules
        )

    rules = prometheus.until(evaluated)

    written = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    assert {rule["name"] for rule in rules} == {rule["alert"] for group in written for rule in group["rules"]}
    assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}
    # Alerts on what goes well would be ignored.
    assert {rule["name"] for rule in rules if rule["state"] != "inactive"} == {"AeronBackPressure"}

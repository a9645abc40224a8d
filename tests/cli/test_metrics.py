"""Counters as Prometheus metrics."""

import re
import signal
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

import aeron_core


def samples(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_system_counters_have_their_own_metric_names(aeron, dead_directory):
    found = samples(aeron("stat", "--format", "prometheus", "-d", dead_directory).out)

    assert found[("aeron_driver_errors_total",)] == 1
    assert found[("aeron_driver_control_protocol_version",)] == 65536
    assert ("aeron_driver_bytes_sent_total",) in found


def test_streams_are_labels_and_other_counters_have_their_id(aeron, tmp_path):
    settings = {
        "aeron_dir": tmp_path / "driver",
        "ipc_term_buffer_length": "64k",
        "counters_buffer_length": "1m",
    }
    with (
        aeron_core.MediaDriver.launch(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_publication('aeron:ipc?alias="quoted"', 8) as publication,
        client.add_counter(1001, label="orders") as counter,
    ):
        counter.value = 42
        found = samples(aeron("stat", "--format", "prometheus", "-d", driver.aeron_dir).out)

    labels = {
        "stream_id": "8",
        "session_id": str(publication.session_id),
        "registration_id": str(publication.registration_id),
        "channel": 'aeron:ipc?alias="quoted"',
    }
    assert ("aeron_publisher_limit_bytes", *sorted(labels.items())) in found
    other = {"id": str(counter.id), "type_id": "1001", "label": "orders"}
    assert found[("aeron_counter", *sorted(other.items()))] == 42


@pytest.mark.system
@pytest.mark.parametrize("mode", ["SHARED", "INVOKER"])
def test_a_driver_serves_its_counters_until_it_shuts_down(start, tmp_path, mode):
    process = start(
        "driver",
        f"-Daeron.dir={tmp_path / 'driver'}",
        f"-Daeron.threading.mode={mode}",
        "-Daeron.counters.buffer.length=1m",
        "--metrics",
        "127.0.0.1:0",
    )
    url = re.search(r"http://\S+", process.popen.stderr.readline())[0]

    with urllib.request.urlopen(url, timeout=30) as response:
        found = samples(response.read().decode())
    assert found[("aeron_driver_control_protocol_version",)] == 65536
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        urllib.request.urlopen(f"{url}x", timeout=30)
    assert refused.value.read() == b"metrics are at /metrics\n"

    process.popen.send_signal(signal.SIGTERM)
    outcome = process.ended()
    assert outcome.code == signal.SIGTERM
    assert "Shutting down driver..." in outcome.out


@pytest.mark.parametrize(
    ("address", "text"),
    [("nowhere", "--metrics=nowhere"), ("0.0.0.0:9464", "--metrics-token-file"), ("127.0.0.1:99999", "")],
)
def test_an_address_in_use_ends_the_driver_in_one_line(start, tmp_path, address, text):
    outcome = start("driver", f"-Daeron.dir={tmp_path / 'driver'}", "--metrics", address).ended(timeout=30)

    assert outcome.code in (1, 2)
    assert text in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "driver").exists()

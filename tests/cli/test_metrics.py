"""Counters as Prometheus metrics."""

from prometheus_client.parser import text_string_to_metric_families

import aeron_core


def samples(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_driver_counters_have_names_of_their_own(aeron, dead_directory):
    found = samples(aeron("stat", "--format", "prometheus", "-d", dead_directory).out)

    assert found[("aeron_driver_errors_total",)] == 1
    assert found[("aeron_driver_control_protocol_version",)] == 65536
    assert ("aeron_driver_bytes_sent_total",) in found


def test_streams_are_labels_and_other_counters_are_told_by_id(aeron, tmp_path):
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

"""Metrics of a driver, whatever receives them."""

import os
import shutil
import time

import pytest

import aeron_core
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import StorageError
from aeron_core.metrics.samples import INFO, METRICS, driver_samples
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.protocol.cnc import CncFile


@pytest.fixture
def files(tmp_path):
    settings = {
        "aeron_dir": tmp_path / "driver",
        "counters_buffer_length": "1m",
        "ipc_term_buffer_length": "64k",
    }
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        driver.do_work()
        yield DriverFiles.open(driver.aeron_dir)


@pytest.fixture
def dead_files(files, tmp_path):
    """A copy of the files, which no driver uses."""
    directory = tmp_path / "copy"
    directory.mkdir()
    shutil.copy(files.cnc.path, directory)
    return DriverFiles.open(directory)


def set_heartbeat(files, time_ms):
    ManyToOneRingBuffer(CncFile.open(files.cnc.path).to_driver).consumer_heartbeat_ms = time_ms


def values_of(files):
    return {sample.metric.name: sample.value for sample in driver_samples(files)}


def test_every_sample_belongs_to_a_known_metric_and_has_all_its_labels(files):
    found = list(driver_samples(files))

    assert {sample.metric for sample in found} <= set(METRICS)
    assert all(len(sample.labels) == len(sample.metric.labels) for sample in found)


def test_a_truncated_file_is_an_error_instead_of_samples(dead_files):
    assert values_of(dead_files)

    os.truncate(dead_files.cnc.path, 4096)

    with pytest.raises(StorageError, match="was truncated from"):
        values_of(dead_files)


def test_names_of_metrics_are_distinct():
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_the_heartbeat_has_an_age_in_seconds(files):
    set_heartbeat(files, int(time.time() * 1000) - 3_000)

    assert 3 <= values_of(files)["driver_heartbeat_age_seconds"] < 60


def test_a_driver_is_identified_by_its_directory_its_process_and_its_start(files):
    (info,) = (each for each in driver_samples(files) if each.metric is INFO)

    cnc = files.cnc
    assert (info.labels, info.value) == (
        (str(cnc.path.parent), str(cnc.pid), str(cnc.start_timestamp_ms)),
        1,
    )


def test_the_space_of_the_directory_is_known_while_it_exists(files, tmp_path):
    values = values_of(files)
    assert 0 < values["directory_free_bytes"] <= values["directory_size_bytes"]

    (tmp_path / "driver").rename(tmp_path / "gone")

    assert "directory_free_bytes" not in values_of(files)
    (tmp_path / "gone").rename(tmp_path / "driver")


def test_a_driver_that_has_ended_has_no_age(files):
    set_heartbeat(files, 0)

    assert "driver_heartbeat_age_seconds" not in values_of(files)
    assert "driver_bytes_sent" in values_of(files)

"""Recording of counters by `aeron-core stat --history`."""

import json
import signal
import time

import pytest

import aeron_core
from aeron_core.errors import AeronError
from aeron_core.observation import CounterHistory

pytest.importorskip("pyarrow")

SMALL = {"counters_buffer_length": "1m", "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}


def read(path):
    return list(CounterHistory(path).snapshots())


@pytest.fixture
def ipc(tmp_path):
    """A driver with one IPC publication: its directory."""
    settings = {"aeron_dir": tmp_path / "driver", **SMALL}
    with (
        aeron_core.MediaDriver.launch(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_publication("aeron:ipc", 8),
    ):
        yield driver.aeron_dir


@pytest.mark.parametrize("ending", [".arrows", ".parquet"])
def test_counters_are_recorded_for_the_duration(aeron, ipc, tmp_path, ending):
    path = tmp_path / f"history{ending}"

    outcome = aeron("stat", "--history", path, "-d", ipc, "--interval", "1ms", "--duration", "100ms")

    found = read(path)
    assert (outcome.code, outcome.out) == (0, "")
    assert f"recorded {len(found)} snapshot" in outcome.err
    assert found[0].driver.aeron_dir == ipc
    assert {"pub-pos (concurrent)", "Bytes sent"} <= {
        record.label.partition(":")[0] for record in found[0].counters
    }


def test_only_selected_counters_are_recorded_and_the_summary_is_json(aeron, ipc, tmp_path):
    path = tmp_path / "history.arrows"

    outcome = aeron("stat", "--history", path, "-d", ipc, "--once", "--json", "--type", "pub-pos")

    (found,) = read(path)
    assert [record.label.partition(":")[0] for record in found.counters] == ["pub-pos (concurrent)"]
    assert json.loads(outcome.out) == {"file": str(path), "snapshots": 1, "bytes": path.stat().st_size}


def test_a_dead_driver_is_recorded_too(aeron, dead_directory, tmp_path):
    path = tmp_path / "history.arrows"

    assert aeron("stat", "--history", path, "-d", dead_directory, "--once").code == 0

    (found,) = read(path)
    assert [error.text for error in found.errors] == ["(11) something went wrong"]
    assert [loss.total_bytes_lost for loss in found.losses] == [64]
    assert not found.driver.is_alive


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--duration", "1"], "--duration=1: only with --history"),
        (["--history", "h.csv"], "must end with .arrows or .parquet"),
        (["--history", "h.arrows", "--once", "--duration", "1"], "--once and --duration"),
        (["--history", "h.arrows", "--duration", "0"], "--duration=0.0: must be more than 0"),
        (["--history", "h.arrows", "--format", "prometheus"], "--history and --format=prometheus"),
    ],
)
def test_options_that_exclude_each_other_are_refused_in_one_line(
    aeron, dead_directory, tmp_path, monkeypatch, options, text
):
    monkeypatch.chdir(tmp_path)

    outcome = aeron("stat", "-d", dead_directory, *options)

    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert text in outcome.err
    assert list(tmp_path.glob("h.*")) == []


def test_without_a_driver_no_file_is_created(aeron, tmp_path):
    outcome = aeron("stat", "--history", tmp_path / "history.arrows", "-d", tmp_path / "nowhere")

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert not (tmp_path / "history.arrows").exists()


def has_snapshot(path):
    """Return whether a file that is being written has a whole snapshot; its schema comes first."""
    try:
        return path.exists() and len(read(path)) > 0
    except AeronError:
        return False


def recorder(start, directory, path):
    """Start a recorder in a process of its own; return it after its first snapshot."""
    process = start("stat", "--history", path, "-d", directory, "--interval", "5ms")
    deadline = time.monotonic() + 60
    while not has_snapshot(path):
        assert process.popen.poll() is None, process.popen.communicate()
        assert time.monotonic() < deadline
    return process


@pytest.mark.system
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_recording_that_is_then_complete(start, ipc, tmp_path, number):
    path = tmp_path / "history.arrows"
    process = recorder(start, ipc, path)

    process.popen.send_signal(number)

    assert process.ended().code == 0
    history = CounterHistory(path)
    assert len(list(history.snapshots())) >= 1
    assert not history.is_cut


@pytest.mark.system
def test_a_killed_recording_is_readable_up_to_its_last_snapshot(start, ipc, tmp_path):
    path = tmp_path / "history.arrows"
    process = recorder(start, ipc, path)

    process.popen.kill()
    process.ended()

    assert len(read(path)) >= 1

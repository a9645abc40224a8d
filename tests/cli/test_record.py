"""The command `record`: start, stop, kill and restart."""

import json
import re
import shutil
import signal
import socket
import threading
import time
import urllib.request
from inspect import signature

import pytest
from prometheus_client.parser import text_string_to_metric_families

import aeron_core
from aeron_core.cli.quantities import duration_ns_of
from aeron_core.cli.records.record import record
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import AeronError
from aeron_core.protocol.cnc import CncFile
from aeron_core.recording import Archive
from aeron_core.recording.writing.durability import Durability

pytestmark = pytest.mark.system

STREAM_ID = 1001
DEADLINE_S = 100


@pytest.fixture
def patient_driver(start, tmp_path):
    """A driver that keeps what a dead client had for longer than a test lasts; returns its directory."""
    directory = tmp_path / "driver"
    start(
        "driver",
        f"-Daeron.dir={directory}",
        "-Daeron.threading.mode=SHARED",
        "-Daeron.term.buffer.length=256k",
        "-Daeron.ipc.term.buffer.length=256k",
        "-Daeron.counters.buffer.length=1m",
        "-Daeron.client.liveness.timeout=120s",
        "-Daeron.publication.unblock.timeout=150s",
        "-Daeron.dir.delete.on.shutdown=true",
        is_forked=True,
    )
    until((directory / "cnc.dat").exists)
    return directory


@pytest.fixture(params=["ipc", "udp"])
def publication(request, patient_driver):
    channel = "aeron:ipc"
    if request.param == "udp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))  # a port that was free a moment ago
            channel = f"aeron:udp?endpoint=127.0.0.1:{probe.getsockname()[1]}"
    with aeron_core.connect(patient_driver) as client:
        yield client.add_exclusive_publication(channel, STREAM_ID)


@pytest.fixture
def start_driver(start, tmp_path, monkeypatch):
    """Start consecutive drivers in one directory, which is free three seconds after a kill."""
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "3000")
    directory = tmp_path / "driver"

    def call(*arguments):
        return start_one_driver(start, directory, *arguments), directory

    return call


def start_one_driver(start, directory, *arguments):
    while True:
        process = start(
            "driver",
            f"-Daeron.dir={directory}",
            "-Daeron.threading.mode=SHARED",
            "-Daeron.ipc.term.buffer.length=256k",
            "-Daeron.counters.buffer.length=1m",
            *arguments,
            is_forked=True,
        )
        if until(lambda process=process: process.popen.poll() or is_ready(process, directory)) is True:
            return process
        assert "active media driver" in process.popen.communicate()[1]
        time.sleep(0.1)


def is_ready(process, directory):
    try:
        return CncFile.open(directory / "cnc.dat", read_only=True).pid == process.popen.pid
    except AeronError:
        return False


def until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline_s
        time.sleep(0.001)
    return found


def offer(publication, messages):
    for message in messages:
        until(lambda message=message: publication.offer(message) > 0)


def numbered(begin, end):
    return [number.to_bytes(8, "little") + bytes(number % 400) for number in range(begin, end)]


def payloads(archive, recording_id=0):
    recording = archive.recording(recording_id)
    data = b"".join(piece for _, piece in recording.read(recording.start_position, recording.position))
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        if data[at + 6] == 1:
            found.append(data[at + 32 : at + length])
        at += (length + 31) // 32 * 32
    return found


def archive_at(path):
    return until(lambda: (path / "archive.json").exists() and Archive.open(path))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_recorder_restarted_at_once_loses_and_repeats_nothing(
    start, patient_driver, publication, tmp_path, number
):
    folder = tmp_path / "archive"
    arguments = ("record", publication.channel, STREAM_ID, "--to", folder, "-d", patient_driver)
    recorder = start(*arguments)
    archive = archive_at(folder)
    until(lambda: publication.is_connected)
    sent = numbered(0, 6000)
    publisher = threading.Thread(target=offer, args=(publication, sent), daemon=True)
    publisher.start()
    for position in (100_000, 500_000):
        until(lambda position=position: archive.recordings() and archive.recording(0).position > position)

        recorder.popen.send_signal(number)
        recorder.popen.wait(DEADLINE_S)
        recorder = start(*arguments)

    publisher.join(DEADLINE_S)
    until(lambda: archive.recording(0).position == publication.position)
    assert payloads(archive) == sent
    assert len(archive.recordings()) == 1


def test_a_signal_stops_the_recorder_in_order(start, running_driver, tmp_path):
    _, directory = running_driver
    recorder = start(
        "record", "aeron:ipc", 7, 8, "--to", tmp_path / "a", "-d", directory, "--json", is_forked=True
    )
    archive = archive_at(tmp_path / "a")
    with aeron_core.connect(directory) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 8)
        until(lambda: publication.is_connected)
        offer(publication, [b"one", b"two"])
        until(lambda: archive.recordings() and archive.recording(0).position == publication.position)

        recorder.popen.send_signal(signal.SIGTERM)
        outcome = recorder.ended()

    assert outcome.code == 0
    (document,) = json.loads(outcome.out)
    assert (document["stream_id"], document["stop_position"], document["recorded_bytes"]) == (8, 128, 128)
    assert payloads(archive) == [b"one", b"two"]


def test_metrics_of_a_recorder_for_other_hosts_need_a_token(start, running_driver, tmp_path):
    _, directory = running_driver

    outcome = start(
        *("record", "aeron:ipc", 8, "--to", tmp_path / "a", "-d", directory, "--metrics", "0.0.0.0:0")
    ).ended(timeout=DEADLINE_S)

    assert outcome.code == 2
    assert (
        "--metrics=0.0.0.0:0: other hosts reach this address, so --metrics-token-file must name"
        in outcome.err
    )
    assert not (tmp_path / "a").exists()


def test_a_recorder_serves_the_space_and_the_positions_of_its_archive(start, running_driver, tmp_path):
    _, directory = running_driver
    folder = tmp_path / "a"
    recorder = start(
        *("record", "aeron:ipc", 8, "--to", f"file://{folder}", "-d", directory),
        *("--metrics", "127.0.0.1:0"),
        is_forked=True,
    )
    url = re.search(r"metrics at (http\S+)", recorder.popen.stderr.readline())[1]
    with aeron_core.connect(directory) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 8)
        until(lambda: publication.is_connected)
        offer(publication, [b"one", b"two"])
        labels = {
            "archive": str(folder),
            "recording_id": "0",
            "channel": "aeron:ipc",
            "stream_id": "8",
            "session_id": str(publication.session_id),
        }

        def sample(name, **wanted):
            text = urllib.request.urlopen(url, timeout=DEADLINE_S).read().decode()
            families = text_string_to_metric_families(text)
            found = [each for family in families for each in family.samples if each.name == name]
            return next((each.value for each in found if each.labels == wanted), None)

        until(lambda: sample("aeron_recorded_position_bytes_total", **labels) == publication.position)
        free, size = (sample(f"aeron_archive_{name}_bytes", archive=str(folder)) for name in ("free", "size"))

    assert 0 < free <= size == shutil.disk_usage(folder).total


def test_a_released_stream_is_free_at_once(start, running_driver, tmp_path):
    _, directory = running_driver
    recorder = start(
        "record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, "--release", is_forked=True
    )
    with aeron_core.connect(directory) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        until(lambda: publication.is_connected)

        recorder.popen.send_signal(signal.SIGINT)
        assert recorder.ended().code == 0

        # The driver keeps the resources of a client that did not close for ten seconds.
        until(lambda: not publication.is_connected)


def test_segments_beyond_the_limit_are_deleted(start, running_driver, tmp_path):
    _, directory = running_driver
    options = ("--segment-length", "256k", "--retain-bytes", "512k", "--durability", "never")
    start("record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, *options, is_forked=True)
    archive = archive_at(tmp_path / "a")
    with aeron_core.connect(directory) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        offer(publication, [bytes(30_000)] * 60)

        until(lambda: archive.recording(0).start_position > 0)

    assert archive.recording(0).start_position % (256 * 1024) == 0


def test_a_spool_is_moved_to_the_archive_completely(start, running_driver, tmp_path):
    _, directory = running_driver
    options = ("--spool", tmp_path / "spool", "--segment-length", "256k", "--json")
    recorder = start(
        "record", "aeron:ipc", 7, "--to", tmp_path / "archive", "-d", directory, *options, is_forked=True
    )
    archive = archive_at(tmp_path / "archive")
    sent = numbered(0, 5000)
    with aeron_core.connect(directory) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        offer(publication, sent)
        until(lambda: archive.recordings() and archive.recording(0).position >= 512 * 1024)
    until(lambda: archive.recording(0).descriptor.is_end_of_stream)

    recorder.popen.send_signal(signal.SIGTERM)
    outcome = recorder.ended()

    assert outcome.code == 0
    assert json.loads(outcome.out)[0]["archive"] == str(tmp_path / "archive")
    assert payloads(archive) == sent
    assert Archive.open(tmp_path / "spool").recordings() == []


def test_a_driver_records_the_streams_of_its_settings_file(start, tmp_path):
    file = tmp_path / "driver.toml"
    file.write_text(
        f'[driver]\naeron_dir = "{tmp_path / "driver"}"\ncounters_buffer_length = "1m"\n'
        'ipc_term_buffer_length = "256k"\n'
        f'[recording]\nstreams = ["aeron:ipc 7"]\nto = "{tmp_path / "archive"}"\n'
    )
    driver = start("driver", file, is_forked=True)
    archive = archive_at(tmp_path / "archive")
    with aeron_core.connect(tmp_path / "driver") as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        offer(publication, numbered(0, 1000))
        until(archive.recordings)

        driver.popen.send_signal(signal.SIGTERM)
        outcome = driver.ended()

    assert "error" not in outcome.err
    assert payloads(archive) == numbered(0, 1000)


def test_a_publisher_continues_after_the_position_that_the_recorder_of_a_killed_driver_reached(
    start_driver, tmp_path, monkeypatch
):
    monkeypatch.setenv("AERON_RECORDING_STREAMS", "aeron:ipc 7")
    monkeypatch.setenv("AERON_RECORDING_TO", str(tmp_path / "archive"))
    begin = 0
    for round_number in range(3):
        driver, directory = start_driver()
        archive = archive_at(tmp_path / "archive")
        with aeron_core.connect(directory) as client:
            publication = client.add_exclusive_publication("aeron:ipc", 7)
            until(lambda archive=archive, count=round_number: len(archive.recordings()) > count)
            *earlier, current = archive.recordings()
            assert not any(recording.is_live for recording in earlier)
            accepted = [
                payload for recording in earlier for payload in payloads(archive, recording.recording_id)
            ]
            assert accepted == numbered(0, len(accepted))
            assert len(accepted) > begin or not earlier

            begin = len(accepted)
            offer(publication, numbered(begin, begin + 2000))
            until(lambda current=current: current.position)
            driver.popen.kill()
            driver.popen.wait(DEADLINE_S)


def test_a_timeout_before_the_first_message_fails(start, running_driver, tmp_path):
    _, directory = running_driver

    outcome = start(
        "record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, "--timeout", "0.2"
    ).ended()

    assert outcome.code == 1
    assert "no message received from aeron:ipc for 0.2 s" in outcome.err


def test_end_with_driver_reports_the_shutdown_once(start, running_driver, tmp_path):
    process, directory = running_driver
    recorder = start(
        "record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, "--end-with-driver", is_forked=True
    )
    archive_at(tmp_path / "a")

    process.popen.send_signal(signal.SIGTERM)

    outcome = recorder.ended()
    assert outcome.code == 1
    assert outcome.err.count("error: ") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_streams_of_the_next_driver_are_recorded(start, start_driver, tmp_path, number):
    driver, directory = start_driver()
    recorder = start(
        "record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, "--json", is_forked=True
    )
    archive = archive_at(tmp_path / "a")

    for recording_id, payload in enumerate((b"before", b"after")):
        with aeron_core.connect(directory) as client:
            publication = client.add_exclusive_publication("aeron:ipc", 7)
            offer(publication, [payload])
            until(lambda recording_id=recording_id: len(archive.recordings()) > recording_id)
            until(lambda recording_id=recording_id: archive.recording(recording_id).position)
            if recording_id == 0:
                driver.popen.send_signal(number)
                driver.popen.wait(DEADLINE_S)
                until(lambda: not archive.recording(0).is_live)
                driver, _ = start_driver()
    recorder.popen.send_signal(signal.SIGTERM)
    outcome = recorder.ended()

    assert outcome.code == 0
    assert [payloads(archive, recording_id) for recording_id in (0, 1)] == [[b"before"], [b"after"]]
    assert [document["recorded_bytes"] for document in json.loads(outcome.out)] == [64, 64]
    assert f"disconnected from the media driver of {directory}" in outcome.err
    assert f"a media driver runs in {directory} again" in outcome.err


def test_a_driver_killed_before_its_first_answer_is_replaced_by_the_next(start, start_driver, tmp_path):
    driver, directory = start_driver()
    ring = ManyToOneRingBuffer(CncFile.open(directory / "cnc.dat").to_driver)
    driver.popen.send_signal(signal.SIGSTOP)
    recorder = start("record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, is_forked=True)

    def has_command():
        ring.consumer_heartbeat_ms = time.time_ns() // 1_000_000  # alive, and slow to answer
        return ring.producer_position > ring.consumer_position

    until(has_command)
    driver.popen.kill()
    driver.popen.wait(DEADLINE_S)
    start_driver()
    with aeron_core.connect(directory) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        offer(publication, [b"after"])
        archive = archive_at(tmp_path / "a")
        until(lambda: archive.recordings() and archive.recording(0).position)
    recorder.popen.send_signal(signal.SIGTERM)

    assert recorder.ended().code == 0
    assert payloads(archive) == [b"after"]


def test_a_driver_that_is_slow_after_a_loss_is_recorded_when_it_answers(
    start, running_driver, slow_driver, tmp_path
):
    _, directory = running_driver
    arguments = ("record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory)
    recorder = start(*arguments, AERON_DRIVER_TIMEOUT="1000")
    archive = archive_at(tmp_path / "a")
    until((tmp_path / "a" / "recorder.json").exists)

    slow_driver(recorder)

    with aeron_core.connect(directory) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        offer(publication, [b"after"])
        until(lambda: archive.recordings() and archive.recording(0).position)
    recorder.popen.send_signal(signal.SIGTERM)
    assert recorder.ended().code == 0
    assert payloads(archive) == [b"after"]


def test_a_signal_stops_the_wait_for_the_next_driver(start, running_driver, tmp_path):
    process, directory = running_driver
    recorder = start("record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, is_forked=True)
    until((tmp_path / "a" / "recorder.json").exists)
    process.popen.send_signal(signal.SIGTERM)
    stderr = iter(recorder.popen.stderr.readline, "")
    assert any("waiting for a driver" in line for line in stderr)

    recorder.popen.send_signal(signal.SIGTERM)

    assert recorder.ended().code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--segment-length", "1x"), "--segment-length='1x': must be a whole decimal number of bytes"),
        (("--dir-mode", "640"), "--dir-mode='640': must be an octal mode with 7 for the owner"),
        (
            ("--dir-group", "no-such-group"),
            "dir_group=no-such-group: no such group: must be the name or number",
        ),
        (("--dir-mode", "0700", "--dir-group", "0"), "dir_mode=0700 gives the group dir_group=0 no access"),
        (("--segment-length", "5"), "--segment-length=5: must be a power of two from 64k to 1g"),
        (("--segment-length", "96k"), "--segment-length=96k: must be a power of two from 64k to 1g"),
        (("--segment-length", "2g"), "--segment-length=2g: must be a power of two from 64k to 1g"),
        (("--interval", "5m"), "--interval='5m': must be a whole number with a unit ns"),
        (("--retain-age", "5"), "--retain-age=5: must have a unit, such as d for days"),
        (("--timeout", "5m"), "--timeout=5m: must be a whole number with a unit ns"),
        (("--interval", "0s"), "durability interval=0 ns: must be positive"),
        (("--durability", "often"), "--durability"),
        (("--to", "s3://bucket/recordings?region=x"), "needs a spool"),
        (
            ("--spool", "s3://bucket/spool?region=x"),
            "spool s3://bucket/spool?region=x: must be a local folder",
        ),
        (("--retain-bytes", "0"), "retention max_bytes=0: must be at least 1"),
        (("--retain-age", "1w"), "--retain-age='1w': must"),
    ],
)
def test_invalid_options_are_refused(aeron, tmp_path, options, message):
    outcome = aeron("record", "aeron:ipc", 7, "--to", tmp_path / "a", *options)

    assert outcome.code == 2
    assert message in outcome.err


def test_the_default_interval_is_that_of_a_recorder():
    preset = signature(record).parameters["interval"].default

    assert duration_ns_of("--interval", preset) == Durability().interval_ns

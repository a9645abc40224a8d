"""The command `record` when its driver starts, stops, is killed or slow."""

import json
import signal
import time

import pytest
from recorded_messages import DEADLINE_S, archive_at, numbered, offer, payloads, until

import aeron_core
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.protocol.cnc import CncFile

pytestmark = pytest.mark.system


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

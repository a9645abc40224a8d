"""The command `record`: start, stop, kill and restart of the recorder."""

import json
import re
import shutil
import signal
import threading
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families
from recorded_messages import DEADLINE_S, archive_at, numbered, offer, payloads, until

import aeron_core
from aeron_core.recording import Archive

pytestmark = pytest.mark.system


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_recorder_restarted_at_once_loses_and_repeats_nothing(
    start, patient_driver, publication, tmp_path, number
):
    folder = tmp_path / "archive"
    arguments = ("record", publication.channel, publication.stream_id, "--to", folder, "-d", patient_driver)
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


def test_a_recorder_prints_what_it_has_cut_after_a_killed_one(start, patient_driver, publication, tmp_path):
    folder = tmp_path / "archive"
    arguments = ("record", publication.channel, publication.stream_id, "--to", folder, "-d", patient_driver)
    recorder = start(*arguments)
    archive = archive_at(folder)
    until(lambda: publication.is_connected)
    offer(publication, [b"one"])
    until(lambda: archive.recordings() and archive.recording(0).position == publication.position)
    recorder.popen.kill()
    recorder.popen.wait(DEADLINE_S)
    with (folder / "0" / "0-0.rec").open("ab") as file:
        file.write(bytes(40))

    recorder = start(*arguments)
    offer(publication, [b"two"])
    until(lambda: archive.recording(0).position == publication.position)
    recorder.popen.send_signal(signal.SIGTERM)
    outcome = recorder.ended()

    assert "notice: recording 0: 0-0.rec: lost 40 bytes at the end, positions 64 to 104" in outcome.err
    assert (outcome.code, payloads(archive)) == (0, [b"one", b"two"])


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

        until(lambda: archive.recordings() and archive.recording(0).start_position > 0)

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


def test_a_timeout_before_the_first_message_fails(start, running_driver, tmp_path):
    _, directory = running_driver

    outcome = start(
        "record", "aeron:ipc", 7, "--to", tmp_path / "a", "-d", directory, "--timeout", "0.2"
    ).ended()

    assert outcome.code == 1
    assert "no message received from aeron:ipc for 0.2 s" in outcome.err

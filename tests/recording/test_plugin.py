"""Drivers with a recorder."""

import stat
import time

import pytest

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.errors import ArchiveInUseError, ConfigurationError, RegistrationError
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.recording import Archive
from aeron_core.recording.driver_recorder import DriverRecorder
from aeron_core.recording.settings import RecordingSettings
from aeron_core.settings import load_section

DEADLINE_S = 30
SMALL = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "counters_buffer_length": "1m",
}


def launch(tmp_path, **recording):
    sections = {"recording": {"streams": ["aeron:ipc 7 8"], "to": str(tmp_path / "archive"), **recording}}
    return aeron_core.MediaDriver.launch_embedded(SMALL, sections=sections)


def until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    return found


def payloads(tmp_path):
    archive = Archive.open(tmp_path / "archive")
    found = {}
    for recording in archive.recordings():
        data = b"".join(data for _, data in recording.read(recording.start_position, recording.position))
        found[recording.descriptor.stream_id] = data[32 : int.from_bytes(data[:4], "little")]
    return found


@pytest.mark.system
def test_an_archive_has_the_mode_of_the_settings(tmp_path):
    with launch(tmp_path, dir_mode="0750"):
        pass

    assert [
        stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("archive", "archive/archive.json")
    ] == [
        0o750,
        0o640,
    ]


@pytest.mark.system
def test_a_driver_records_the_streams_of_its_settings(tmp_path):
    with launch(tmp_path) as driver, aeron_core.connect(driver.aeron_dir) as client:
        for stream_id in (7, 8, 9):
            publication = client.add_exclusive_publication("aeron:ipc", stream_id)
            if stream_id != 9:
                publication.await_connected(timeout=30)
                assert publication.offer(b"stream %d" % stream_id) > 0
        archive = Archive.open(tmp_path / "archive")
        until(lambda: len(archive.recordings()) == 2)

    assert payloads(tmp_path) == {7: b"stream 7", 8: b"stream 8"}
    assert not any(recording.is_live for recording in Archive.open(tmp_path / "archive").recordings())


@pytest.mark.system
def test_a_driver_without_streams_records_nothing(tmp_path):
    with launch(tmp_path, streams=[]):
        pass

    assert not (tmp_path / "archive").exists()


@pytest.mark.system
@pytest.mark.parametrize(
    ("recording", "error", "message"),
    [
        ({"to": ""}, ConfigurationError, "recording.to is not set: must be an archive"),
        ({"streams": ["aeron:ipc"]}, ConfigurationError, "'aeron:ipc': must be a channel and its stream ids"),
        (
            {"streams": [""]},
            ConfigurationError,
            "recording.streams: '': must be a channel and its stream ids",
        ),
        ({"streams": [" "]}, ConfigurationError, "' ': must be a channel and its stream ids"),
        ({"streams": ["aeron:ipc x"]}, ConfigurationError, "must be a channel and its stream ids"),
        ({"streams": ["hello 1"]}, RegistrationError, "hello"),
        ({"to": "s3://bucket/x?region=y"}, ConfigurationError, "needs a spool"),
        ({"colour": "red"}, ConfigurationError, "unknown setting 'colour'"),
        (
            {"segment_length": "65k"},
            ConfigurationError,
            "recording.segment_length=65k: must be a power of two from 64k to 1g",
        ),
    ],
)
def test_invalid_recording_settings_stop_the_start(tmp_path, recording, error, message):
    with pytest.raises(error, match=message):
        launch(tmp_path, **recording)


@pytest.mark.system
def test_an_archive_with_a_recorder_stops_the_start(tmp_path):
    with Archive.create(tmp_path / "archive").recorder_lock(), pytest.raises(ArchiveInUseError):
        launch(tmp_path)


@pytest.mark.system
def test_a_recorder_whose_client_timed_out_continues_with_a_new_client(driver, tmp_path):
    settings = RecordingSettings(streams=("aeron:ipc 7",), to=str(tmp_path / "archive"))
    errors = []
    recorder = DriverRecorder(driver.aeron_dir, settings, errors.append)
    archive = Archive.open(tmp_path / "archive")
    with aeron_core.connect(driver.aeron_dir) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        until(lambda: publication.offer(b"before") > 0)
        until(lambda: archive.recordings() and archive.recording(0).position == publication.position)

        recorder._aeron.close()
        until(lambda: publication.offer(b"after") > 0)
        until(lambda: archive.recordings()[-1].position == publication.position)

        recorder.close()
    assert errors == []


@pytest.mark.system
def test_a_recorder_whose_client_finds_the_driver_closed_records_the_rest(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("AERON_CORE_CLIENT_KEEPALIVE_INTERVAL", "1ns")
    settings = RecordingSettings(streams=("aeron:ipc 7",), to=str(tmp_path / "archive"))
    errors = []
    recorder = DriverRecorder(driver.aeron_dir, settings, errors.append)
    with aeron_core.connect(driver.aeron_dir) as client:
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        position = until(lambda: max(publication.offer(b"last"), 0))
    driver.close()

    recorder._aeron.do_work()  # checks the heartbeat
    recorder.close()

    assert errors == []
    assert Archive.open(tmp_path / "archive").recording(0).position == position


@pytest.mark.system
def test_errors_of_the_recorder_are_in_the_error_log_of_the_driver(tmp_path):
    with launch(tmp_path) as driver, aeron_core.connect(driver.aeron_dir) as client:
        (tmp_path / "archive" / "archive.json").unlink()
        publication = client.add_exclusive_publication("aeron:ipc", 7)
        publication.await_connected(timeout=30)
        log = CncFile.open(driver.aeron_dir / CNC_FILE).error_log
        (error,) = until(lambda: list(read_errors(log)))

    assert "there is no archive of recordings" in error.text


def test_an_unknown_section_raises(tmp_path):
    with pytest.raises(
        ConfigurationError, match="section 'colours': must be a section of an installed plugin: recording"
    ):
        aeron_core.MediaDriver({"aeron_dir": tmp_path / "driver", **SMALL}, sections={"colours": {}})


def test_a_section_comes_from_file_environment_and_defines(tmp_path):
    file = tmp_path / "driver.toml"
    file.write_text(
        '[driver]\nmtu_length = "8k"\n[recording]\nstreams = ["aeron:ipc 1"]\nto = "a"\nretain_bytes = "1g"\n'
    )

    loaded = load_section(
        "recording",
        RecordingSettings,
        files=[file],
        environ={"AERON_RECORDING_TO": "b", "AERON_MTU_LENGTH": "4k"},
        defines=["aeron.recording.durability=block", "aeron.mtu.length=2k"],
    )

    settings = loaded.settings
    assert (settings.streams, settings.to, settings.durability) == (("aeron:ipc 1",), "b", "block")
    assert loaded.sources["to"] == "environment AERON_RECORDING_TO"
    assert settings.made_retention().max_bytes == 1 << 30
    assert loaded.warnings == ()


def test_a_misspelt_variable_of_a_section_is_warned_of():
    loaded = load_section("recording", RecordingSettings, defines=["aeron.recording.colour=red"], environ={})

    assert loaded.warnings == (
        "aeron.recording.colour=red (-D): unknown setting: it has no effect: correct its name or remove it",
    )

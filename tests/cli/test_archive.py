"""The command `archive`: start, use, stop and refusals."""

import signal
import time

import pytest

import aeron_core
from aeron_core.archive import AeronArchive
from aeron_core.recording import Archive
from aeron_core.testing.recordings import RecordingUnderTest

pytestmark = pytest.mark.system

IPC = "aeron:ipc"
SMALL = (
    "-Daeron.threading.mode=SHARED",
    "-Daeron.ipc.term.buffer.length=64k",
    "-Daeron.counters.buffer.length=1m",
    "-Daeron.dir.delete.on.shutdown=true",
)


def recorded(directory) -> None:
    """Record a message, and leave the recording active."""
    with aeron_core.connect(directory) as aeron:
        archive = AeronArchive.connect(aeron, control_request_channel=IPC, control_response_channel=IPC)
        publication = archive.add_recorded_publication(IPC, 1001)
        publication.send(b"message", timeout=20)
        deadline_s = time.monotonic() + 20
        while (
            found := archive.find_last_matching_recording(0, "", 1001, publication.session_id)
        ) is None or (archive.max_recorded_position(found) < publication.position):
            assert time.monotonic() < deadline_s


def test_an_archive_with_a_driver_of_its_own_stops_in_order(start, tmp_path, monkeypatch):
    monkeypatch.setenv("AERON_THREADING_MODE", "SHARED")
    monkeypatch.setenv("AERON_IPC_TERM_BUFFER_LENGTH", "64k")
    monkeypatch.setenv("AERON_DIR_DELETE_ON_SHUTDOWN", "true")
    process = start(
        "archive", tmp_path / "archive", "--embedded", "--aeron-dir", tmp_path / "driver", "--sync"
    )
    recorded(tmp_path / "driver")

    process.popen.send_signal(signal.SIGTERM)
    output, errors = process.popen.communicate(timeout=20)

    assert (process.popen.returncode, output, errors) == (0, "", "")
    assert not (tmp_path / "driver").exists()
    (recording,) = Archive.open(tmp_path / "archive").recordings()
    assert recording.descriptor.stop_position == recording.position > 0


def test_an_archive_fails_when_its_driver_shuts_down(start, tmp_path):
    driver = start("driver", f"-Daeron.dir={tmp_path / 'driver'}", *SMALL, is_forked=True)
    process = start("archive", tmp_path / "archive", "--aeron-dir", tmp_path / "driver")
    recorded(tmp_path / "driver")

    driver.popen.send_signal(signal.SIGTERM)
    _, errors = process.popen.communicate(timeout=30)

    assert process.popen.returncode == 1
    assert errors.splitlines()[-1].startswith("aeron-core: error: disconnected from the media driver")
    (recording,) = Archive.open(tmp_path / "archive").recordings()
    assert recording.descriptor.stop_position == recording.position > 0


def test_a_client_cannot_fill_the_log_with_warnings(start, tmp_path, monkeypatch):
    monkeypatch.setenv("AERON_THREADING_MODE", "SHARED")
    monkeypatch.setenv("AERON_DIR_DELETE_ON_SHUTDOWN", "true")
    process = start("archive", tmp_path / "archive", "--embedded", "--aeron-dir", tmp_path / "driver")
    with aeron_core.connect(tmp_path / "driver") as aeron:
        archive = AeronArchive.connect(aeron, control_request_channel=IPC, control_response_channel=IPC)
        for _ in range(200):
            archive._session._publication.send(b"no request", timeout=20)
        assert archive.list_recordings() == []

    process.popen.send_signal(signal.SIGTERM)
    _, errors = process.popen.communicate(timeout=20)

    assert process.popen.returncode == 0
    assert len(errors.splitlines()) == 60
    assert errors.splitlines()[-1].endswith("further warnings are dropped for up to 60 s")


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--control-channel", "udp"], 2, "invalid URI scheme"),
        (
            ["--control-channel", "aeron:ipc"],
            2,
            "stream 10 of aeron:ipc is that of the local control channel",
        ),
        (["--segment-length", "100k"], 2, "--segment-length=100k: must be a power of two"),
        (["--credentials-file", "missing"], 1, "cannot read --credentials-file=missing: No such file"),
        (["--credentials-file", "empty"], 2, "--credentials-file=empty: must have a length from 1 to 4096"),
        (["--credentials-file", "shared"], 2, "--credentials-file=shared: mode 644, of user "),
        (["--users-file", "missing"], 1, "cannot read --users-file=missing: No such file"),
        (["--users-file", "shared"], 2, "--users-file=shared: mode 644, of user "),
        (["--users-file", "private"], 2, "--users-file=private: must be TOML: Expected '=' after a key"),
        (["--users-file", "empty"], 2, "--users-file=empty: must have tables [users.NAME]"),
        (["--users-file", "private", "--credentials-file", "private"], 2, "must not be given with --cred"),
        (["--archive-id", "-1"], 2, "--archive-id=-1: must be a whole number"),
        ([], 1, "no media driver is accessible"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(aeron, tmp_path, monkeypatch, options, code, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch(0o600)
    (tmp_path / "private").touch(0o600)
    (tmp_path / "private").write_text("secret")
    (tmp_path / "shared").write_text("secret")
    (tmp_path / "shared").chmod(0o644)

    outcome = aeron("archive", "folder", *options)

    assert outcome.code == code
    assert text in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_folder_of_our_own_recordings_is_refused(aeron, tmp_path, driver):
    written = RecordingUnderTest.begin(tmp_path / "ours")
    written.append(b"a")
    written.stop()

    outcome = aeron("archive", tmp_path / "ours", "--aeron-dir", driver.aeron_dir)

    assert outcome.code == 2
    assert "has recordings of aeron-core, not of Aeron Archive" in outcome.err


def test_recordings_are_converted_in_both_directions(aeron, tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "ours")
    written.append(b"a", b"bc")
    written.stop()

    first = aeron("recordings", "convert", tmp_path / "ours", tmp_path / "theirs")
    second = aeron("recordings", "convert", tmp_path / "theirs", tmp_path / "again", "--json")
    refused = aeron("recordings", "convert", tmp_path / "ours", tmp_path / "theirs")

    assert (first.code, second.code, refused.code) == (0, 0, 2)
    assert first.out.splitlines()[0].split() == ["id", "new", "id", "start", "stop"]
    assert '"converted_id": 0' in second.out
    assert aeron("recordings", "verify", tmp_path / "again").code == 0
    assert aeron("recordings", "export", tmp_path / "again", "0").out == "a\nbc\n"

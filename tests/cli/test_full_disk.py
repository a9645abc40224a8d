"""Recording to a full disk: a small filesystem, which only root can mount."""

import json
import os
import subprocess
import threading
import time

import pytest
from recorded_messages import DEADLINE_S, until

import aeron_core
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.system

STREAM_ID = 7
COUNT = 6000


@pytest.fixture
def small_disk(tmp_path):
    """A filesystem of 4 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a filesystem of a few megabytes")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"needs a filesystem of a few megabytes: {done.stderr}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def message(index):
    return index.to_bytes(8, "little") * 125


class Publisher(threading.Thread):
    """Offers messages in sequence until its client closes, and waits under back pressure."""

    def __init__(self, publication):
        super().__init__(daemon=True)
        self.publication = publication
        self.sent = 0

    def run(self):
        while self.sent < COUNT and not self.publication.is_closed:
            if self.publication.offer(message(self.sent)) > 0:
                self.sent += 1
            else:
                time.sleep(0.001)


@pytest.mark.parametrize("durability", ["block", "interval", "never"])
def test_a_full_disk_stops_the_stream_until_space_is_free(
    running_driver, start, aeron, small_disk, durability
):
    _, directory = running_driver
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(2 << 20))
    archive_folder = small_disk / "archive"
    recorder = start(
        "record", "aeron:ipc", STREAM_ID, "--to", archive_folder, "-d", directory,
        "--segment-length", "256k", "--durability", durability,
    )  # fmt: skip
    archive = until(lambda: (archive_folder / "archive.json").exists() and Archive.open(archive_folder))
    with aeron_core.connect(directory) as client:
        publisher = Publisher(client.add_exclusive_publication("aeron:ipc", STREAM_ID))
        publisher.start()

        error = recorder.popen.stderr.readline()
        assert "cannot write" in error
        assert "No space left on device" in error
        assert "are free on its filesystem: free disk space, or purge recordings" in error
        until(lambda: publisher.publication.offer(b"") < 0 and publisher.sent < COUNT)
        held = publisher.sent
        ballast.unlink()
        until(lambda: publisher.sent > held)  # which fills the disk once more
        until(recorder.popen.stderr.readline)
        subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
        publisher.join(DEADLINE_S)
        until(lambda: archive.recording(0).position == publisher.publication.position)

    recording = archive.recording(0)
    found = [found.payload for found in messages(recording, 0, recording.position) if found.payload]
    assert found == [message(index) for index in range(COUNT)]
    verified = aeron("recordings", "verify", archive_folder, "--json")
    assert (verified.code, json.loads(verified.out)[0]["faults"]) == (0, [])


def test_purging_frees_space(running_driver, start, aeron, small_disk):
    _, directory = running_driver
    archive_folder = small_disk / "archive"
    recorder = start(
        "record", "aeron:ipc", STREAM_ID, "--to", archive_folder, "-d", directory, "--segment-length", "256k"
    )
    until((archive_folder / "archive.json").exists)
    with aeron_core.connect(directory) as client:
        publisher = Publisher(client.add_exclusive_publication("aeron:ipc", STREAM_ID))
        publisher.start()
        recorder.popen.stderr.readline()
        held = publisher.sent

        assert aeron("recordings", "purge", archive_folder, "0", "--before", 2 << 20).code == 0

        until(lambda: publisher.sent > held + 100)
    assert aeron("recordings", "verify", archive_folder).code == 0

"""Checksums of frames that one archive has written and the other one, or our reader, compares."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from archive_frames import flip_bit
from archive_scenario import SEGMENT_LENGTH, ArchivePeer
from messages import expected_checksum
from served_sites import COUNT, ENVIRONMENT

pytestmark = pytest.mark.interop

ALGORITHMS = "Crc32", "Crc32c"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.compatible("archive of ours, checksums of frames", "our archive → Java archive → our archive")
def test_each_archive_compares_the_checksums_of_the_other(serve, connect, java, tmp_path, algorithm):
    kind, name = algorithm.lower(), f"io.aeron.archive.checksum.{algorithm}"
    site = serve("a", None, f"--record-checksum={kind}")
    ours = connect(site.directory)
    first = ours.record(100)
    ours.close()
    ours.handle = ours.simple = None
    site.stop()

    options = f"segment-length={SEGMENT_LENGTH}", f"checksum={name}", f"replay-checksum={name}"
    archive = java.call("archive", tmp_path / "java", site.folder, *options)
    try:
        theirs = connect(tmp_path / "java")
        assert theirs.replayed(first) == expected_checksum(COUNT)
        second = theirs.record(101)
        theirs.close()
        theirs.handle = theirs.simple = None
    finally:
        java.call("close", archive)

    again = connect(serve("again", site.folder, f"--replay-checksum={kind}").directory)
    assert again.replayed(first) == again.replayed(second) == expected_checksum(COUNT)


def verified(*arguments):
    command = [sys.executable, "-m", "aeron_core", "recordings", "verify", *map(str, arguments), "--json"]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return ended.returncode, json.loads(ended.stdout), ended.stderr


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.compatible(
    "recording of Aeron Archive, checksums compared", "Java client → Java archive → our reader"
)
def test_a_flipped_bit_in_a_recording_with_checksums_is_found(java, tmp_path, algorithm):
    peer = ArchivePeer(java, tmp_path, f"checksum=io.aeron.archive.checksum.{algorithm}")
    try:
        made = peer.record(100, 1000)
        peer.stop(made)
        live = peer.record(101, 300)
        option = f"--checksum={algorithm.lower()}"

        code, (stopped, running), errors = verified(peer.folder, option)
        assert (code, stopped["faults"], running["faults"]) == (0, [], [])
        assert stopped["check_sums"] == stopped["frames"] > 1000
        assert running["check_sums"] == running["frames"] > 300
        _, (uncompared, _), errors = verified(peer.folder)
        assert uncompared["uncompared_checksum"] == algorithm.lower()
        assert (
            f"recording {live.recording_id}: its frames have checksums, which were not compared: add {option}"
            in errors
        )

        at = flip_bit(peer.folder, f"{made.recording_id}-{SEGMENT_LENGTH}.rec", 99)
        code, (stopped, running), _ = verified(peer.folder, option)
        assert (code, [fault["position"] for fault in stopped["faults"]]) == (1, [SEGMENT_LENGTH + at])
        assert running["faults"] == []
    finally:
        peer.close()

"""Events of a logger of Python, and of a client of Beats, in recordings."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from example_programs import EXAMPLES, HOST, in_half_a_minute

LEVEL = re.compile(r"^([A-Z]+) +([\d,]+) █+$", re.M)
EVENT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} +[A-Z]+ +[\d.]+  order \d+: .+$", re.M)


@pytest.fixture(autouse=True)
def _has_a_client_of_beats():
    pytest.importorskip("logstash_async")


def test_all_events_that_were_acknowledged_are_in_the_recording(example, capsys, tmp_path):
    program = example("beats.py")

    with in_half_a_minute():
        program.main(["--to", str(tmp_path / "recordings")])

    output = capsys.readouterr().out
    assert re.search(r"^2,000 events logged and acknowledged in [\d.]+ s: they are on disk$", output, re.M)
    assert re.search(
        r"^recorded from 1 connection\(s\): 2,000 event\(s\), [\d,]+ bytes, verified$", output, re.M
    )
    counts = {level: int(count.replace(",", "")) for level, count in LEVEL.findall(output)}
    assert counts == {"INFO": 1747, "WARNING": 202, "ERROR": 51}
    assert len(EVENT.findall(output)) == 5
    archive = program.Archive.open(tmp_path / "recordings")
    numbers = [int(event["message"].split()[1].rstrip(":")) for event in program.events_of(archive)]
    assert sorted(numbers) == list(range(2000))


@pytest.mark.usefixtures("python_interrupts")
def test_an_interrupt_ends_the_recording_of_beats_with_a_summary(tmp_path):
    from pylogbeat import PyLogBeatClient  # noqa: PLC0415 - after the check that it is installed

    endpoint = f"{HOST}:20140"
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / "beats.py", "--listen", endpoint, "--to", tmp_path / "recordings"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout.readline().startswith(f"listening on {endpoint}; ")
        with PyLogBeatClient(HOST, 20140, timeout=60) as client:
            event = {"@timestamp": "2026-01-02T03:04:05.678Z", "message": "disk full"}
            client.send([event | {"log": {"level": "error"}}])
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()

    assert (process.returncode, errors) == (0, "")
    assert "recorded from 1 connection(s): 1 event(s), " in output
    assert "2026-01-02T03:04:05.678 error              disk full" in output


def test_an_address_of_another_machine_is_reported_without_a_traceback(example, tmp_path):
    program = example("beats.py")

    with pytest.raises(SystemExit, match="must be an address of this machine"):
        program.main(["--listen", "192.0.2.77:20139", "--to", str(tmp_path / "recordings")])

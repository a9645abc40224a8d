"""The example of sensors that speak nng, with the Spark session of these tests."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from example_programs import EXAMPLES, in_half_a_minute, load, with_own_addresses

PROGRESS = re.compile(r"^ *([\d,]+) readings sent +([\d,]+) in the table$", re.M)
ROW = re.compile(r"^(\w+) +([\d,]+) +([\d.]+) +([\d.]+) +([\d.]+)   ([▁-█]+)$", re.M)


@pytest.mark.system
def test_the_example_ends_in_half_a_minute_with_a_session_of_its_own(tmp_path):
    pytest.importorskip("pynng")
    path = tmp_path / "sensors.py"
    path.write_text(
        with_own_addresses((EXAMPLES / "sensors.py").read_text(encoding="utf-8")), encoding="utf-8"
    )

    with in_half_a_minute():
        done = subprocess.run(
            [sys.executable, path], stdout=subprocess.PIPE, text=True, timeout=150, check=True
        )

    assert len(PROGRESS.findall(done.stdout)) > 5
    assert [row[0] for row in ROW.findall(done.stdout)] == ["boiler", "pump", "roof"]


def test_every_reading_of_the_sensors_is_in_the_table(spark, monkeypatch, capsys):
    pytest.importorskip("pynng")
    program = load("sensors.py", monkeypatch)

    program.run(spark, 1)

    output = capsys.readouterr().out
    progress = [[int(text.replace(",", "")) for text in line] for line in PROGRESS.findall(output)]
    rows = ROW.findall(output)
    assert progress[-1][0] >= progress[-1][1] > 0
    assert [row[0] for row in rows] == list(program.SENSORS)
    # The sensors send a little more before they end.
    assert sum(int(row[1].replace(",", "")) for row in rows) >= progress[-1][0]
    for (mean, amplitude, _), (_, _, lowest, average, highest, _) in zip(
        program.SENSORS.values(), rows, strict=True
    ):
        assert mean - amplitude <= float(lowest) <= float(average) <= float(highest) <= mean + amplitude

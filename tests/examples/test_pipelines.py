"""The examples with Makefiles: each runs a pipeline from a real program to a table or back, and ends without traces."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import java_peer
import lakehouse_jars
import pytest
from example_programs import EXAMPLES, in_seconds, with_own_addresses
from party_facts import await_true

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
TOTALS = {
    "beats_to_iceberg": r"^([\d,]+) events were acknowledged, the table has ([\d,]+), ([\d,]+) of them distinct$",
    "market_bars": r"^([\d,]+) trades were published, the \d+ bars in the table count ([\d,]+)$",
}
DELAY = re.compile(r"^ *[\d,]+ +8\d\.\d\d +([\d.]+) s$", re.M)


@cache
def variables(python):
    """Return the environment variables for a Python with Spark, before the time of an example begins.

    The first call may make an archive of Java's classes.
    """
    return lakehouse_jars.quick_variables(python)


@pytest.fixture
def lakehouse():
    """Return the Python that has the Spark of the lakehouses, and the option with their jars."""
    if missing := lakehouse_jars.missing_programs():
        pytest.skip(f"needs {', '.join(missing)} to download jars (Debian: maven)")
    python = lakehouse_jars.python()
    variables(python)
    return python, f"--jars {lakehouse_jars.jars()}"


@pytest.fixture
def make(tmp_path):
    """Start the Makefile of an example, with addresses and temporary files of its own."""
    started = []

    def make(name, python, options=""):
        copy = tmp_path / "examples" / name
        shutil.copytree(EXAMPLES / name, copy)
        shutil.copy(EXAMPLES / "environment.mk", copy.parent)
        program = copy / "run.py"
        program.write_text(with_own_addresses(program.read_text(encoding="utf-8")), encoding="utf-8")
        (tmp_path / "temporary").mkdir()
        process = subprocess.Popen(
            ["make", "-C", copy, f"PYTHON={python}", f"OPTIONS={options}"],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=variables(python) | {"TMPDIR": str(tmp_path / "temporary")},
        )
        started.append(process)
        return process

    yield make
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    # An archive is in a session of its own.
    for pid in processes_with(str(tmp_path)):
        os.kill(pid, signal.SIGKILL)


def output_of(process, picture):
    """Return the output of an example that has ended and drawn its picture."""
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert f"drawn to {picture.name}" in output
    assert picture.read_bytes().startswith(b"\x89PNG")
    return output


def numbers(name, output):
    (found,) = re.findall(TOTALS[name], output, re.M)
    return [int(number.replace(",", "")) for number in found]


@pytest.mark.parametrize("name", TOTALS)
def test_a_table_has_everything_once(make, lakehouse, tmp_path, name):
    with in_seconds(90):
        output = output_of(make(name, *lakehouse), tmp_path / "examples" / name / f"{name}.png")

    sent, *stored = numbers(name, output)
    assert sent > 1000
    assert set(stored) == {sent}
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.interop
def test_bars_of_a_recording_of_aeron_archive_count_everything_once(make, lakehouse, tmp_path):
    if missing := java_peer.missing_programs():
        pytest.skip(f"needs {', '.join(missing)}")
    python, jars = lakehouse
    jar = next(path for path in java_peer.class_path().split(os.pathsep) if path.endswith(".jar"))

    process = make("market_bars", python, f"{jars} --java {jar}")

    output = output_of(process, tmp_path / "examples/market_bars/market_bars.png")
    sent, stored = numbers("market_bars", output)
    assert sent == stored > 1000


def test_a_sensor_gets_alerts_back(make, tmp_path):
    pytest.importorskip("pynng")
    variables(sys.executable)

    with in_seconds(90):
        process = make("sensor_alerts", sys.executable)
        output = output_of(process, tmp_path / "examples/sensor_alerts/sensor_alerts.png")

    assert len(DELAY.findall(output)) == 4


@pytest.mark.usefixtures("python_interrupts")
def test_an_interrupt_ends_a_pipeline_its_archive_and_its_files(make, lakehouse, tmp_path):
    process = make("market_bars", *lakehouse)
    assert any(line.startswith("the pipeline runs") for line in process.stdout)

    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)

    assert list((tmp_path / "temporary").iterdir()) == []
    await_true(lambda: not processes_with(str(tmp_path)), f"processes that use {tmp_path} end")


def processes_with(text):
    """Return the ids of processes, other than this one, with a text in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if text in command and path.parent.name != str(os.getpid()):
            found.append(int(path.parent.name))
    return found

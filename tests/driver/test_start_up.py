"""Modules that a driver and its first client import, and files that it allocates, in a process of their own."""

import json
import subprocess
import sys

import pytest

#: Packages and modules that no driver with the default settings needs for streams over IPC.
HEAVY = (
    "_hashlib",
    "aeron_core.recording.settings",
    "aeron_core.settings.model",
    "aeron_flow_control.max_flow_control",
    "aeron_media.connections",
    "aeron_media.lumberjack.transport",
    "aeron_media.sp.transport",
    "aeron_media.udp.transport",
    "aeron_resolvers.driver",
    "asyncio",
    "numpy",
    "prometheus_client",
    "pyarrow",
    "pydantic",
    "pydantic_core",
    "pyspark",
    "rich",
    "ssl",
    "tomllib",
    "wsproto",
)
#: Slack of the number of modules with CPython 3.11: for changes, and for the standard library of another Python.
SLACK = 1.05 if sys.version_info[:2] == (3, 11) else 1.2
#: What a UDP stream needs in addition.
OF_UDP = {"aeron_media.udp.transport", "aeron_flow_control.max_flow_control"}

PROGRAM = """
import sys
before = len(sys.modules)
import aeron_core

received = []
with aeron_core.MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
    subscription = aeron.add_subscription(sys.argv[1], 1001)
    while not (channel := subscription.resolved_channel()):
        pass
    publication = aeron.add_publication(channel, 1001)
    publication.await_connected(timeout=60)
    while publication.offer(b"hello") < 0:
        pass
    while not received:
        subscription.poll(lambda buffer, _: received.append(bytes(buffer)), 10)
count = len(sys.modules) - before
import json
print(json.dumps([count, [name for name in sys.argv[2:] if name in sys.modules]]))
"""


def imported_with(channel):
    """Return how many modules a process has imported when its first message has arrived, and those of HEAVY."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, channel, *HEAVY],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    count, heavy = json.loads(process.stdout)
    return count, set(heavy)


@pytest.mark.system
@pytest.mark.parametrize(
    ("channel", "needed", "measured"),
    [
        ("aeron:ipc", set(), 435),
        ("aeron:ipc?mtuu=1408", set(), 437),  # an unknown key, which is reported
        ("aeron:udp?endpoint=127.0.0.1:0|mtuu=1408", OF_UDP, 457),
    ],
)
def test_a_stream_imports_only_the_plugins_that_it_uses_and_few_modules(channel, needed, measured):
    count, heavy = imported_with(channel)

    assert heavy == needed
    assert count <= measured * SLACK


ALLOCATION = """
import sys
from pathlib import Path
import aeron_core

with aeron_core.MediaDriver.launch({"aeron_dir": sys.argv[1]}):
    for name in ("cnc.dat", "loss-report.dat"):
        status = (Path(sys.argv[1]) / name).stat()
        print(name, status.st_blocks * 512 >= status.st_size > 1_000_000)
"""


@pytest.mark.system
def test_a_driver_allocates_all_of_the_files_that_it_writes_without_a_check(tmp_path):
    # In processes of tests, conftest.py has drivers allocate cnc.dat when they write it.
    process = subprocess.run(
        [sys.executable, "-c", ALLOCATION, str(tmp_path / "driver")],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert process.stdout.splitlines() == ["cnc.dat True", "loss-report.dat True"]
